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

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use mysql::OptsBuilder;
use rustls::crypto::cipher::{
    AeadKey, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter, OutboundChunks,
    OutboundOpaqueMessage, OutboundPlainMessage, Tls12AeadAlgorithm, Tls13AeadAlgorithm,
    UnsupportedOperationError,
};
use rustls::{
    CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, SupportedCipherSuite,
    Tls12CipherSuite, Tls13CipherSuite,
};
use secrecy::{ExposeSecret, SecretString};

/// Bytes before a packet's own: its length, and its number.
const HEADER_BYTES: usize = 4;

thread_local! {
    /// What a log-in on this thread withholds.
    static WITHHELD: RefCell<Option<Arc<Withheld>>> = const { RefCell::new(None) };
}

/// A password, as long as the log-in lasts.
pub(crate) struct Withheld {
    password: SecretString,
    /// The log-in is over: what is sent from now on is rows.
    is_over: AtomicBool,
    was_asked: AtomicBool,
}

impl Withheld {
    pub(crate) fn new(password: SecretString) -> Arc<Withheld> {
        let (is_over, was_asked) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Withheld { password, is_over, was_asked })
    }

    /// Connects on this thread, and withholds the password from the other side.
    ///
    /// Whatever comes of it, a connection over which the password was asked for is not one.
    pub(crate) fn connect(self: &Arc<Self>, options: OptsBuilder) -> mysql::Result<mysql::Conn> {
        if !is_installed() {
            return Err(denied("the ciphers of this process let nobody see what they encrypt"));
        }
        WITHHELD.set(Some(Arc::clone(self)));
        let connected = mysql::Conn::new(options);
        WITHHELD.set(None);
        if self.was_asked() {
            return Err(denied("the server asked for the password itself"));
        }
        self.is_over.store(true, Ordering::Release);
        connected
    }

    /// Whether the other side wanted the password itself.
    pub(crate) fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Acquire)
    }

    /// Whether these bytes, which begin a packet, are not to be sent.
    fn stops(&self, bytes: &[u8]) -> bool {
        if self.is_over.load(Ordering::Acquire) {
            return false;
        }
        // What follows a packet that was stopped belongs to it, if it belongs to anything.
        let stops = self.was_asked() || self.is_password(bytes);
        if stops {
            self.was_asked.store(true, Ordering::Release);
        }
        stops
    }

    /// Whether a packet, or the beginning of one, is the password and a zero byte.
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

/// Has the driver use these ciphers; false where the process has others already.
fn is_installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let mut provider = rustls::crypto::ring::default_provider();
        for suite in &mut provider.cipher_suites {
            *suite = withholding(*suite);
        }
        provider.install_default().is_ok()
    })
}

/// The same suite, whose records are looked at. Made once in a process, so what it leaks stays small.
fn withholding(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            let aead_alg = Box::leak(Box::new(Withholding(suite.aead_alg)));
            let common = common(&suite.common);
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
        self.0.decrypter(key, iv)
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
        self.0.decrypter(key, iv)
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

/// What encrypts a connection of this thread's: looked at where its log-in withholds something.
fn looked_at(inner: Box<dyn MessageEncrypter>) -> Box<dyn MessageEncrypter> {
    match WITHHELD.with_borrow(Clone::clone) {
        Some(withheld) => Box::new(LookedAt { inner, withheld }),
        None => inner,
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
            // An error here would be a panic of rustls's: the record goes out without content.
            let payload = OutboundChunks::new_empty();
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
        let withheld = || Withheld::new(SecretString::from("sword"));
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
    fn rows_that_are_the_password_are_sent() {
        let withheld = Withheld::new(SecretString::from("sword"));
        withheld.is_over.store(true, Ordering::Release);
        assert!(!withheld.stops(&packet(b"sword\0")) && !withheld.was_asked());
    }
}
