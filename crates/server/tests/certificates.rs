//! Certificates for tests, made on the spot.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

/// Certificate and key of one side, as files.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// An authority that signs certificates into a folder.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    dir: PathBuf,
    /// Its own certificate.
    pub(crate) ca: PathBuf,
}

impl Authority {
    pub(crate) fn new(dir: &Path, name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let ca = dir.join(format!("{name}.pem"));
        fs::write(&ca, issuer.pem()).unwrap();
        Authority { issuer, dir: dir.to_owned(), ca }
    }

    /// A certificate that is made out to `names`, host names or addresses.
    pub(crate) fn sign(&self, file: &str, names: &[&str]) -> Identity {
        self.finish(file, params(names))
    }

    /// One that has expired.
    pub(crate) fn sign_expired(&self, file: &str, names: &[&str]) -> Identity {
        let mut params = params(names);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        self.finish(file, params)
    }

    fn finish(&self, file: &str, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        write(&self.dir, file, &cert.pem(), &key)
    }
}

/// A certificate that only its own key signed.
pub(crate) fn self_signed(dir: &Path, file: &str, names: &[&str]) -> Identity {
    let key = KeyPair::generate().unwrap();
    let cert = params(names).self_signed(&key).unwrap();
    write(dir, file, &cert.pem(), &key)
}

/// One of an authority, as `openssl req -x509` makes it, which a server then uses itself.
pub(crate) fn self_signed_authority(dir: &Path, file: &str) -> Identity {
    let key = KeyPair::generate().unwrap();
    let mut params = params(&["a-server"]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    write(dir, file, &params.self_signed(&key).unwrap().pem(), &key)
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, "a server");
    params
}

fn write(dir: &Path, file: &str, cert: &str, key: &KeyPair) -> Identity {
    let at = |end: &str| dir.join(format!("{file}.{end}"));
    let identity = Identity { cert: at("crt"), key: at("key") };
    fs::write(&identity.cert, cert).unwrap();
    fs::write(&identity.key, key.serialize_pem()).unwrap();
    identity
}
