//! Encryption of a connection: what was asked for, and what went wrong in the user's words.
//!
//! | asked for | means |
//! | --- | --- |
//! | nothing | encrypted if the server offers it; verified, or proven, where a password goes to another host |
//! | `--ssl`, `--ssl-cert` | the same, or no connection |
//! | `--ssl-ca`, `--ssl-verify-server-cert` | encrypted, and certificate and host name verified |
//! | `--ssl-ca --skip-ssl-verify-server-cert` | encrypted, not verified |
//! | `--skip-ssl` | in clear |
//! | `--ssl-mode` | MySQL's names for the same; VERIFY_CA leaves out the host name |
//!
//! An attacker in between can ask for the password itself, by caching_sha2_password, whatever plugin the
//! account has, or guess it at leisure from the reply of an older plugin. So a password, or a reply made of
//! it, goes to another host over a verified connection only, unless somebody says that it need not be; the
//! password itself not even then (`withheld`). A certificate that nobody signed is accepted, as by the
//! clients of MariaDB 11.4 and newer, if the server proves by the password's hash that it is its own
//! (`proof`), unless verification was asked for by name.
//!
//! Verification ends before the account's name or anything of its password is sent. The public
//! authorities that are built in are trusted beside the one that `--ssl-ca` names. A unix socket
//! is not encrypted: its bytes stay in the machine.

use std::error::Error as _;
use std::path::{Path, PathBuf};

use face::OptionName;
use face::option::{
    SKIP_SSL, SKIP_SSL_VERIFY_SERVER_CERT, SSL_CA, SSL_CERT, SSL_KEY, SSL_MODE,
    SSL_VERIFY_SERVER_CERT,
};
use mysql::{ClientIdentity, SslOpts};
use rustls::CertificateError;

use crate::error::{Error, Result};

/// The condition on a connection's encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Never: `--skip-ssl`, `--ssl-mode=DISABLED`.
    Off,
    /// Where the server offers it: `--ssl-mode=PREFERRED`.
    IfOffered,
    /// Or no connection: `--ssl`.
    Required,
}

/// The condition on the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Nothing: `--skip-ssl-verify-server-cert`.
    Nothing,
    /// Signed by a trusted authority, and not expired: `--ssl-mode=VERIFY_CA`.
    Chain,
    /// Also made out to the host we connect to: `--ssl-verify-server-cert`.
    HostName,
}

/// Options of encryption, as the client names them. A field left None is not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// `--ssl`, `--skip-ssl`, `--ssl-mode`; default: required when another of these is given,
    /// else if offered.
    pub encryption: Option<Encryption>,
    /// `--ssl-ca`: certificates of the authority, PEM or DER.
    pub ca: Option<PathBuf>,
    /// `--ssl-cert`: our certificate and those between it and its authority, PEM.
    pub cert: Option<PathBuf>,
    /// `--ssl-key`: its key, PEM, not encrypted.
    pub key: Option<PathBuf>,
    /// `--ssl-verify-server-cert`, `--ssl-mode`; default: all, when `ca` is given or a password goes
    /// to another host, else nothing.
    pub verify: Option<Verify>,
}

/// The trust in a server's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It is on this host, or there is no password that it could take.
    Known,
    /// Another host, and a password.
    Stranger,
}

/// The driver's settings.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) options: SslOpts,
    /// A server without encryption is refused.
    pub(crate) is_required: bool,
    /// The server's certificate has to be right.
    pub(crate) is_verified: bool,
}

impl TlsOptions {
    /// These options with every one that `over` sets replaced.
    pub(crate) fn overridden_by(self, over: TlsOptions) -> TlsOptions {
        TlsOptions {
            encryption: over.encryption.or(self.encryption),
            ca: over.ca.or(self.ca),
            cert: over.cert.or(self.cert),
            key: over.key.or(self.key),
            verify: over.verify.or(self.verify),
        }
    }

    /// Takes MySQL's `--ssl-mode`, in any case of letters.
    pub fn set_mode(&mut self, mode: &str) -> Result<()> {
        let (encryption, verify) = match mode.to_ascii_uppercase().as_str() {
            "DISABLED" => (Encryption::Off, Verify::Nothing),
            "PREFERRED" => (Encryption::IfOffered, Verify::Nothing),
            "REQUIRED" => (Encryption::Required, Verify::Nothing),
            "VERIFY_CA" => (Encryption::Required, Verify::Chain),
            "VERIFY_IDENTITY" => (Encryption::Required, Verify::HostName),
            _ => {
                return Err(Error::Option(format!(
                    "ssl-mode {mode:?} is unknown; DISABLED, PREFERRED, REQUIRED, VERIFY_CA or \
                     VERIFY_IDENTITY is expected"
                )));
            }
        };
        (self.encryption, self.verify) = (Some(encryption), Some(verify));
        Ok(())
    }

    /// The condition on the server's certificate.
    pub(crate) fn verification(&self) -> Verify {
        let default = if self.ca.is_some() { Verify::HostName } else { Verify::Nothing };
        self.verify.unwrap_or(default)
    }

    /// The same for one server: with nothing said, a stranger has to show who he is.
    fn verified(&self, trust: Trust) -> Verify {
        match (self.verify, trust) {
            (None, Trust::Stranger) => Verify::HostName,
            _ => self.verification(),
        }
    }

    fn encryption(&self) -> Encryption {
        let verifies = self.verification() != Verify::Nothing;
        match self.encryption {
            // A server that is to be verified has to be one that can be.
            None | Some(Encryption::IfOffered) if verifies => Encryption::Required,
            None if self.ca.is_some() || self.cert.is_some() => Encryption::Required,
            None => Encryption::IfOffered,
            Some(asked) => asked,
        }
    }

    /// For the driver; None for a connection in clear.
    ///
    /// Errors: options that exclude each other, files that cannot be read or hold nothing of use.
    pub(crate) fn resolve(&self, trust: Trust) -> Result<Option<Tls>> {
        let encryption = self.encryption();
        if encryption == Encryption::Off {
            let asked = self.verify.is_some_and(|verify| verify != Verify::Nothing);
            return if asked { Err(off_and_verified()) } else { Ok(None) };
        }
        if let Some(ca) = &self.ca {
            read(ca, SSL_CA, "certificate")?;
        }
        let identity = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                read(cert, SSL_CERT, "certificate")?;
                if read(key, SSL_KEY, "private key")?.contains("ENCRYPTED") {
                    let message = format!(
                        "{SSL_KEY} names {}, which is encrypted: use an unencrypted key (openssl \
                         pkey -in FILE -out NEW)",
                        key.display()
                    );
                    return Err(Error::Option(message));
                }
                Some(ClientIdentity::new(cert.clone(), key.clone()))
            }
            (None, None) => None,
            _ => {
                return Err(Error::Option(format!(
                    "{SSL_CERT} and {SSL_KEY} must be used together"
                )));
            }
        };
        let verify = self.verified(trust);
        Ok(Some(Tls {
            options: SslOpts::default()
                .with_client_identity(identity)
                .with_root_cert_path(self.ca.clone())
                .with_danger_accept_invalid_certs(verify == Verify::Nothing)
                .with_danger_skip_domain_validation(verify != Verify::HostName),
            is_required: encryption == Encryption::Required,
            is_verified: verify != Verify::Nothing,
        }))
    }

    /// True if a certificate that nobody signed may be proven by the account's password instead: if
    /// no verification was set.
    pub(crate) fn takes_a_proof(&self, trust: Trust) -> bool {
        self.verify.is_none() && self.ca.is_none() && trust == Trust::Stranger
    }

    /// The fault of a certificate, why it was not proven either, and advice.
    pub(crate) fn with_advice(
        &self,
        words: String,
        unproven: Option<&str>,
        trust: Trust,
    ) -> String {
        if !self.takes_a_proof(trust) || !words.contains("certificate") {
            return words;
        }
        let unproven = match unproven {
            Some(why) => format!(
                ", and the server did not prove its identity with the account's password: {why}"
            ),
            None => String::new(),
        };
        format!(
            "{words}{unproven}; a password is sent to another host only over a verified \
             connection: use {} with the certificate of the server's authority (or with the \
             server's self-signed certificate), or accept any server with \
             {SKIP_SSL_VERIFY_SERVER_CERT}",
            SSL_CA.with("FILE")
        )
    }

    /// Why a connection that was to be encrypted did not come about; None for other failures.
    pub(crate) fn failure(&self, error: &mysql::Error, host: &str) -> Option<String> {
        if let mysql::Error::DriverError(mysql::DriverError::TlsNotSupported) = error {
            return Some(format!(
                "the server offers no encryption (TLS), but encryption was requested; {SKIP_SSL} \
                 connects without encryption, but then others can read and change everything on \
                 the way"
            ));
        }
        let (fault, text) = fault_of(error)?;
        Some(self.words(fault, &text, host))
    }

    fn words(&self, error: Option<&rustls::Error>, text: &str, host: &str) -> String {
        let whom = match &self.ca {
            Some(ca) => format!("the authority in {} or a public one", ca.display()),
            None => format!("a public authority ({} names another authority)", SSL_CA.with("FILE")),
        };
        let Some(rustls::Error::InvalidCertificate(fault)) = error else {
            return format!("the encrypted connection (TLS) failed: {text}");
        };
        match fault {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                format!("the server's certificate is not signed by {whom}")
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired: it needs a new one".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the server's certificate is not valid yet: check the clock of this machine"
                    .to_owned()
            }
            CertificateError::NotValidForName => {
                format!("the server's certificate is not for {host}")
            }
            CertificateError::NotValidForNameContext { presented, .. } => {
                let names = match presented.len() {
                    0 => "no name at all".to_owned(),
                    _ => {
                        presented.iter().map(|name| plain_name(name)).collect::<Vec<_>>().join(", ")
                    }
                };
                format!(
                    "the server's certificate is for {names}, not for {host}: connect with one of \
                     these names, or skip the check of the name with {}",
                    SSL_MODE.with("VERIFY_CA")
                )
            }
            other if is_an_authority(other) => format!(
                "the server's certificate is the self-signed certificate of an authority, not \
                 signed by {whom}"
            ),
            other => format!("the server's certificate is not accepted: {other}"),
        }
    }
}

/// True if the fault of a certificate is that nobody known has signed it.
pub(crate) fn is_unsigned(error: &mysql::Error) -> bool {
    match fault_of(error) {
        Some((Some(rustls::Error::InvalidCertificate(fault)), _)) => {
            *fault == CertificateError::UnknownIssuer || is_an_authority(fault)
        }
        _ => false,
    }
}

/// True if the certificate is that of an authority, which is none for a server.
fn is_an_authority(fault: &CertificateError) -> bool {
    fault.to_string().contains("CaUsedAsEndEntity")
}

/// The TLS error of a failure, and its text; None of others.
fn fault_of(error: &mysql::Error) -> Option<(Option<&rustls::Error>, String)> {
    if let mysql::Error::TlsError(e) = error {
        return Some((rustls_error(e), e.to_string()));
    }
    let io = match error {
        mysql::Error::IoError(e) => Some(e),
        mysql::Error::CodecError(e) => e.source()?.downcast_ref::<std::io::Error>(),
        _ => None,
    }?;
    let inner = io.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some((Some(inner), inner.to_string()))
}

fn rustls_error(error: &mysql::error::tls::TlsError) -> Option<&rustls::Error> {
    match error {
        mysql::error::tls::TlsError::Tls(e) => Some(e),
        _ => None,
    }
}

/// `db1` of rustls's `DnsName("db1")`, `10.0.0.1` of its `IpAddress(10.0.0.1)`.
fn plain_name(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inner.trim_matches('"')
}

fn off_and_verified() -> Error {
    Error::Option(format!(
        "an unencrypted connection ({SKIP_SSL}) has no certificate to verify \
         ({SSL_VERIFY_SERVER_CERT}): remove one of these options"
    ))
}

/// The text of a file that `option` names, if it can hold a `what`: PEM, or DER, which is not text.
fn read(path: &Path, option: OptionName, what: &str) -> Result<String> {
    let bytes = std::fs::read(path)
        .map_err(|e| Error::Option(format!("{option} names {}: {e}", path.display())))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // A DER file is a SEQUENCE.
    let is_der = bytes.first() == Some(&0x30);
    let has = |word: &str| text.contains("-----BEGIN ") && text.contains(word);
    if is_der || has(&format!("{}-----", what.to_ascii_uppercase())) {
        return Ok(text);
    }
    Err(Error::Option(format!("{option} names {}, which contains no {what}", path.display())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn tls(encryption: Option<Encryption>, verify: Option<Verify>, ca: bool) -> TlsOptions {
        let ca = ca.then(|| PathBuf::from("/ca.pem"));
        TlsOptions { encryption, verify, ca, ..TlsOptions::default() }
    }

    #[test]
    fn what_is_asked_for_decides_what_is_required() {
        use Encryption::{IfOffered, Off, Required};
        let cases = [
            (tls(None, None, false), IfOffered, Verify::Nothing),
            (tls(Some(Required), None, false), Required, Verify::Nothing),
            (tls(None, None, true), Required, Verify::HostName),
            (tls(None, Some(Verify::Nothing), true), Required, Verify::Nothing),
            (tls(None, Some(Verify::HostName), false), Required, Verify::HostName),
            (tls(Some(IfOffered), Some(Verify::HostName), false), Required, Verify::HostName),
            (tls(Some(IfOffered), Some(Verify::Nothing), true), IfOffered, Verify::Nothing),
            (tls(Some(Off), None, true), Off, Verify::HostName),
        ];
        for (options, encryption, verify) in cases {
            assert_eq!(options.encryption(), encryption, "{options:?}");
            assert_eq!(options.verification(), verify, "{options:?}");
        }
    }

    #[test]
    fn a_stranger_is_verified_unless_somebody_says_otherwise() {
        let verified = |options: TlsOptions, trust| {
            let tls = options.resolve(trust).unwrap().unwrap();
            (!tls.options.accept_invalid_certs(), tls.is_required)
        };
        assert_eq!(verified(tls(None, None, false), Trust::Known), (false, false));
        // A server without encryption gets no password in clear, and may be loaded into as before.
        assert_eq!(verified(tls(None, None, false), Trust::Stranger), (true, false));
        let required = tls(Some(Encryption::Required), None, false);
        assert_eq!(verified(required, Trust::Stranger), (true, true));
        let skipped = tls(None, Some(Verify::Nothing), false);
        assert_eq!(verified(skipped, Trust::Stranger), (false, false));
    }

    #[test]
    fn clear_and_verified_exclude_each_other() {
        let both = tls(Some(Encryption::Off), Some(Verify::HostName), false);
        assert!(both.resolve(Trust::Known).unwrap_err().to_string().contains("--skip-ssl"));
        assert!(tls(Some(Encryption::Off), None, true).resolve(Trust::Stranger).unwrap().is_none());
    }

    #[test]
    fn modes_of_mysql() {
        let mut options = TlsOptions::default();
        options.set_mode("verify_ca").unwrap();
        assert_eq!(options.verify, Some(Verify::Chain));
        options.set_mode("DISABLED").unwrap();
        assert!(options.resolve(Trust::Known).unwrap().is_none());
        assert!(options.set_mode("maybe").unwrap_err().to_string().contains("VERIFY_IDENTITY"));
    }

    #[test]
    fn files_without_what_they_should_hold_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let refused = |options: TlsOptions, parts: &[&str]| {
            let text = options.resolve(Trust::Known).unwrap_err().to_string();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        let ca = Some(dir.path().join("none"));
        refused(TlsOptions { ca, ..TlsOptions::default() }, &["--ssl-ca", "none", "No such"]);
        let ca = at("ca", "hello");
        refused(TlsOptions { ca, ..TlsOptions::default() }, &["contains no certificate"]);
        let cert = at("cert", "-----BEGIN CERTIFICATE-----");
        let alone = TlsOptions { cert: cert.clone(), ..TlsOptions::default() };
        refused(alone, &["must be used together"]);
        let key = at("key", "-----BEGIN ENCRYPTED PRIVATE KEY-----");
        refused(TlsOptions { cert, key, ..TlsOptions::default() }, &["key", "encrypted"]);
    }
}
