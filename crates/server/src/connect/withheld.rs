//! A password that is withheld from whoever answers, where nobody has verified who that is.
//!
//! ```text
//! driver --packets--> Withholding --records--> cipher --> server
//! ```
//!
//! By caching_sha2_password a server may ask for the password itself, and the driver sends it over
//! any encrypted connection: it has no option against that and calls nobody between question and
//! answer. So the answer is stopped where every byte of it passes: before it is encrypted. The
//! ciphers are rustls's own; those that a log-in on this thread asks for look at each packet first.
//! Every other connection gets them as they are.
//!
//! Where a server has proved its certificate (`proof`), the same stops everything until the connection
//! has shown that certificate (`pin`).

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use mysql::OptsBuilder;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
    MessageEncrypter, OutboundChunks, OutboundOpaqueMessage, OutboundPlainMessage,
    Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::{
    CertificateError, CipherSuiteCommon, ConnectionTrafficSecrets, ContentType,
    SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
};
use secrecy::{ExposeSecret, SecretString};

use super::pin::{self, Pin};

/// Bytes before a packet's own: its length, and its number.
const HEADER_BYTES: usize = 4;
/// A packet in place of the account, too short to be one: at which a server hangs up.
const NO_ACCOUNT: &[u8] = &[1, 0, 0, 2, 0];

thread_local! {
    /// The secret that a log-in on this thread withholds.
    static WITHHELD: RefCell<Option<Arc<Withheld>>> = const { RefCell::new(None) };
}

/// A password, as long as the log-in lasts.
pub(crate) struct Withheld {
    password: SecretString,
    /// The certificates that the server has to show before anything is sent.
    pin: Option<Arc<Pin>>,
    /// The log-in is over: what is sent from now on is rows.
    is_over: AtomicBool,
    /// Something was to be sent to a server that has shown another certificate.
    was_ended: AtomicBool,
    was_asked: Arc<AtomicBool>,
}

impl Withheld {
    /// The password; `was_asked` will tell whether the other side wanted it.
    pub(super) fn new(password: SecretString, was_asked: Arc<AtomicBool>) -> Withheld {
        let (is_over, was_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        Withheld { password, pin: None, is_over, was_ended, was_asked }
    }

    /// Also everything else, until the server has shown what it has to.
    pub(super) fn pinned(
        password: SecretString,
        pin: Arc<Pin>,
        was_asked: Arc<AtomicBool>,
    ) -> Withheld {
        Withheld { pin: Some(pin), ..Withheld::new(password, was_asked) }
    }

    /// Connects on this thread, and withholds the password from the other side.
    ///
    /// Whatever comes of it, a connection over which the password was asked for is not one, nor is one
    /// that has not shown what it had to.
    pub(crate) fn connect(self: &Arc<Self>, options: OptsBuilder) -> mysql::Result<mysql::Conn> {
        if !is_installed() {
            return Err(denied("the ciphers of this process cannot be inspected"));
        }
        WITHHELD.set(Some(Arc::clone(self)));
        let connected = match &self.pin {
            Some(pin) => pin.watch(|| mysql::Conn::new(options)),
            None => mysql::Conn::new(options),
        };
        WITHHELD.set(None);
        if self.is_other() {
            return Err(denied("the server showed a different certificate than the proven one"));
        }
        if self.was_asked() {
            return Err(denied("the server asked for the password itself"));
        }
        if connected.is_ok() && !self.is_free() {
            return Err(denied("the server showed no certificate with TLS 1.3"));
        }
        self.is_over.store(true, Ordering::Release);
        connected
    }

    /// True if the other side wanted the password itself.
    fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Acquire)
    }

    /// True if the other side has shown another certificate than it had to, or not its key.
    pub(super) fn is_other(&self) -> bool {
        self.pin.as_ref().is_some_and(|pin| pin.is_other())
    }

    /// True if the other side has shown the certificate that it had to, if any.
    fn is_free(&self) -> bool {
        self.pin.as_ref().is_none_or(|pin| pin.is_shown())
    }

    /// True if these bytes, which begin a packet, must not be sent.
    fn stops(&self, bytes: &[u8]) -> bool {
        if self.is_over.load(Ordering::Acquire) {
            return false;
        }
        if !self.is_free() {
            return true;
        }
        // What follows a packet that was stopped belongs to it, if it belongs to anything.
        let stops = self.was_asked() || self.is_password(bytes);
        if stops {
            self.was_asked.store(true, Ordering::Release);
        }
        stops
    }

    /// True if a packet, or the beginning of one, is the password and a zero byte.
    fn is_password(&self, bytes: &[u8]) -> bool {
        let Some((header, body)) = bytes.split_at_checked(HEADER_BYTES) else { return false };
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let password = self.password.expose_secret().as_bytes();
        length == password.len() + 1
            && body.len() <= length
            && body.iter().zip(password.iter().chain(&[0])).all(|(seen, own)| seen == own)
    }
}

fn denied(why: &str) -> mysql::Error {
    std::io::Error::new(std::io::ErrorKind::PermissionDenied, why).into()
}

/// Has the driver use these ciphers; false where the process has others already, so this comes before
/// its first encrypted connection.
pub(super) fn is_installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let mut provider = rustls::crypto::ring::default_provider();
        for suite in &mut provider.cipher_suites {
            *suite = withholding(*suite, provider.signature_verification_algorithms);
        }
        provider.install_default().is_ok()
    })
}

/// The same suite, whose records are looked at. Made once in a process, so what it leaks stays small.
fn withholding(
    suite: SupportedCipherSuite,
    algorithms: WebPkiSupportedAlgorithms,
) -> SupportedCipherSuite {
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            let aead_alg = Box::leak(Box::new(Withholding(suite.aead_alg)));
            let hash_provider = pin::watched(suite.common.hash_provider, algorithms);
            let common = CipherSuiteCommon { hash_provider, ..common(&suite.common) };
            let own = Tls13CipherSuite { common, aead_alg, ..*suite };
            SupportedCipherSuite::Tls13(Box::leak(Box::new(own)))
        }
        SupportedCipherSuite::Tls12(suite) => {
            let aead_alg = Box::leak(Box::new(Withholding(suite.aead_alg)));
            let common = common(&suite.common);
            let own = Tls12CipherSuite { common, aead_alg, ..*suite };
            SupportedCipherSuite::Tls12(Box::leak(Box::new(own)))
        }
    }
}

fn common(common: &CipherSuiteCommon) -> CipherSuiteCommon {
    CipherSuiteCommon {
        suite: common.suite,
        hash_provider: common.hash_provider,
        confidentiality_limit: common.confidentiality_limit,
    }
}

/// A cipher whose records are looked at.
struct Withholding<A: 'static>(A);

impl Tls13AeadAlgorithm for Withholding<&'static dyn Tls13AeadAlgorithm> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        looked_at(self.0.encrypter(key, iv))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        ended_by_another(self.0.decrypter(key, iv))
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv)
    }
}

impl Tls12AeadAlgorithm for Withholding<&'static dyn Tls12AeadAlgorithm> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        looked_at(self.0.encrypter(key, iv, extra))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        if let Some(pin) = WITHHELD.with_borrow(|withheld| withheld.as_ref()?.pin.clone()) {
            pin.refuse();
        }
        ended_by_another(self.0.decrypter(key, iv))
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        self.0.key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv, explicit)
    }
}

/// The encrypter of this thread's connection, inspected if its log-in withholds a secret.
fn looked_at(inner: Box<dyn MessageEncrypter>) -> Box<dyn MessageEncrypter> {
    match WITHHELD.with_borrow(Clone::clone) {
        Some(withheld) => Box::new(LookedAt { inner, withheld }),
        None => inner,
    }
}

/// The decrypter of this thread's connection. It fails behind a secret that was withheld from a
/// server with another certificate than it had to show. Before, the driver would wait for the
/// handshake's rest.
fn ended_by_another(inner: Box<dyn MessageDecrypter>) -> Box<dyn MessageDecrypter> {
    match WITHHELD.with_borrow(Clone::clone) {
        Some(withheld) if withheld.pin.is_some() => Box::new(Ending { inner, withheld }),
        _ => inner,
    }
}

struct Ending {
    inner: Box<dyn MessageDecrypter>,
    withheld: Arc<Withheld>,
}

impl MessageDecrypter for Ending {
    fn decrypt<'a>(
        &mut self,
        message: InboundOpaqueMessage<'a>,
        number: u64,
    ) -> Result<InboundPlainMessage<'a>, rustls::Error> {
        if self.withheld.was_ended.load(Ordering::Acquire) {
            let fault = CertificateError::ApplicationVerificationFailure;
            return Err(rustls::Error::InvalidCertificate(fault));
        }
        self.inner.decrypt(message, number)
    }
}

struct LookedAt {
    inner: Box<dyn MessageEncrypter>,
    withheld: Arc<Withheld>,
}

impl MessageEncrypter for LookedAt {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        number: u64,
    ) -> Result<OutboundOpaqueMessage, rustls::Error> {
        let is_data = message.typ == ContentType::ApplicationData;
        if is_data && self.withheld.stops(&message.payload.to_vec()) {
            // An error here would be a panic of rustls's: the record goes out without its content.
            let is_first =
                !self.withheld.is_free() && !self.withheld.was_ended.swap(true, Ordering::AcqRel);
            let content = if is_first { NO_ACCOUNT } else { &[] };
            let payload = OutboundChunks::Single(content);
            return self.inner.encrypt(OutboundPlainMessage { payload, ..message }, number);
        }
        self.inner.encrypt(message, number)
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.inner.encrypted_payload_len(payload_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(body: &[u8]) -> Vec<u8> {
        let [low, middle, high, _] = u32::try_from(body.len()).unwrap_or(0).to_le_bytes();
        [&[low, middle, high, 3], body].concat()
    }

    #[test]
    fn the_password_is_stopped_and_nothing_else() {
        let withheld = || Withheld::new(SecretString::from("sword"), Arc::default());
        for body in [&b""[..], b"sword", b"swore\0", b"a\0sword\0", b"\0\0\0\0\0\0"] {
            assert!(!withheld().stops(&packet(body)), "{body:?}");
        }
        assert!(!withheld().stops(b"\x06\0"));
        let asked = withheld();
        assert!(asked.stops(&packet(b"sword\0")) && asked.was_asked());
        assert!(asked.stops(&packet(b"whatever comes then")));
        // A packet may come in pieces: nothing of it has gone when its first one is seen.
        let asked = withheld();
        assert!(asked.stops(&packet(b"sword\0")[..6]) && asked.stops(b"ord\0"));
    }

    #[test]
    fn nothing_is_sent_before_a_server_has_shown_what_it_has_to() {
        let withheld = Withheld::pinned("sword".into(), Pin::new(Vec::new()), Arc::default());
        assert!(withheld.stops(&packet(b"a-user")) && !withheld.was_asked());
    }

    #[test]
    fn rows_that_are_the_password_are_sent() {
        let withheld = Withheld::new(SecretString::from("sword"), Arc::default());
        withheld.is_over.store(true, Ordering::Release);
        assert!(!withheld.stops(&packet(b"sword\0")) && !withheld.was_asked());
    }
}
