//! A certificate that a server has proved to be its own, and no other.
//!
//! ```text
//! .. Certificate --leaf--> is it the proven one? CertificateVerify --signature--> has it the key?
//! ```
//!
//! The driver verifies a certificate by an authority, or takes any: then it does not even look whether the server has the key of what it
//! shows, and anybody can show another's certificate. It has no way to be told one certificate. But the handshake is hashed, message by
//! message, by the cipher suite's own hash, so a hash that looks at what passes sees the certificate and the signature as rustls reads
//! them, and knows what is signed. Until both were right nothing that follows the handshake leaves (`withheld`).

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::SignatureScheme;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;

use super::proven::Fingerprint;

/// Messages of a handshake (RFC 8446, section 4): a type, a length of three bytes, and the rest.
const CERTIFICATE: u8 = 11;
const CERTIFICATE_VERIFY: u8 = 15;
const MESSAGE_HEADER_BYTES: usize = 4;
/// The bytes before the handshake's hash in the text that a server signs (section 4.4.3).
const SIGNED_CONTEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";
/// Those of TLS 1.3 that the provider knows.
const SCHEMES: [SignatureScheme; 6] = [
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ED25519,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
];

thread_local! {
    /// The certificates that a handshake on this thread has to show.
    static PIN: RefCell<Option<Arc<Pin>>> = const { RefCell::new(None) };
}

/// Certificates one of which one connection has to show, with its key.
pub(super) struct Pin {
    proven: Vec<Fingerprint>,
    is_shown: AtomicBool,
    is_other: AtomicBool,
}

impl Pin {
    pub(super) fn new(proven: Vec<Fingerprint>) -> Arc<Pin> {
        let (is_shown, is_other) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Pin { proven, is_shown, is_other })
    }

    /// Has the handshakes that `work` begins on this thread looked at.
    pub(super) fn watch<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        PIN.set(Some(Arc::clone(self)));
        let outcome = work();
        PIN.set(None);
        outcome
    }

    /// True if the server has shown one of the certificates and that it has its key.
    pub(super) fn is_shown(&self) -> bool {
        self.is_shown.load(Ordering::Acquire) && !self.is_other()
    }

    /// True if it has shown another one, or has not the key.
    pub(super) fn is_other(&self) -> bool {
        self.is_other.load(Ordering::Acquire)
    }

    /// Takes the server for another one: whatever it shows in an older version of TLS is not looked at.
    pub(super) fn refuse(&self) {
        self.is_other.store(true, Ordering::Release);
    }

    /// The pinned certificate in a Certificate message.
    fn own_leaf(&self, message: &[u8]) -> Option<CertificateDer<'static>> {
        let leaf = leaf(message)?;
        self.proven.contains(&Fingerprint::of(leaf)).then(|| CertificateDer::from(leaf.to_vec()))
    }
}

/// The same hash, which looks at what a pinned handshake gives it. Made once for each cipher suite of
/// a process, so what it leaks stays small.
pub(super) fn watched(
    inner: &'static dyn Hash,
    algorithms: WebPkiSupportedAlgorithms,
) -> &'static dyn Hash {
    Box::leak(Box::new(WatchedHash { inner, algorithms }))
}

struct WatchedHash {
    inner: &'static dyn Hash,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Hash for WatchedHash {
    fn start(&self) -> Box<dyn Context> {
        let inner = self.inner.start();
        match PIN.with_borrow(Clone::clone) {
            Some(pin) => {
                let (algorithms, step) = (self.algorithms, Step::Before);
                Box::new(Transcript { inner, pin, algorithms, step })
            }
            None => inner,
        }
    }

    fn hash(&self, data: &[u8]) -> Output {
        self.inner.hash(data)
    }

    fn output_len(&self) -> usize {
        self.inner.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.inner.algorithm()
    }

    fn fips(&self) -> bool {
        self.inner.fips()
    }
}

/// How far a handshake has come.
enum Step {
    /// No certificate yet.
    Before,
    /// One of ours; its key has to follow.
    Certificate(CertificateDer<'static>),
    /// Later messages are no part of the server's proof of its identity.
    Over,
}

/// The hash of one handshake.
struct Transcript {
    inner: Box<dyn Context>,
    pin: Arc<Pin>,
    algorithms: WebPkiSupportedAlgorithms,
    step: Step,
}

impl Transcript {
    /// Looks at a message before it is hashed. The first certificate is the server's: ours, if one is
    /// asked for, comes behind all of its messages.
    fn look(&mut self, message: &[u8]) {
        let kind = message.first();
        match &self.step {
            Step::Before if kind == Some(&CERTIFICATE) => {
                self.step = match self.pin.own_leaf(message) {
                    Some(leaf) => Step::Certificate(leaf),
                    None => self.refuse(),
                };
            }
            Step::Certificate(leaf) => {
                let hash = self.inner.fork_finish();
                let is_signed = kind == Some(&CERTIFICATE_VERIFY)
                    && is_signed(message, leaf, hash.as_ref(), &self.algorithms);
                if is_signed {
                    self.pin.is_shown.store(true, Ordering::Release);
                    self.step = Step::Over;
                } else {
                    self.step = self.refuse();
                }
            }
            _ => {}
        }
    }

    fn refuse(&self) -> Step {
        self.pin.refuse();
        Step::Over
    }
}

impl Context for Transcript {
    fn fork_finish(&self) -> Output {
        self.inner.fork_finish()
    }

    /// A fork is not looked at: it hashes what was not sent yet.
    fn fork(&self) -> Box<dyn Context> {
        self.inner.fork()
    }

    fn finish(self: Box<Self>) -> Output {
        self.inner.finish()
    }

    fn update(&mut self, data: &[u8]) {
        self.look(data);
        self.inner.update(data);
    }
}

/// The content of a message, if its length is what it says.
fn content(message: &[u8]) -> Option<&[u8]> {
    let (header, content) = message.split_at_checked(MESSAGE_HEADER_BYTES)?;
    (number(&header[1..]) == content.len()).then_some(content)
}

/// The first certificate of a Certificate of TLS 1.3: the server's own.
fn leaf(message: &[u8]) -> Option<&[u8]> {
    let (context, rest) = content(message)?.split_first()?;
    let rest = rest.get(usize::from(*context)..)?;
    let (list_bytes, list) = rest.split_at_checked(3)?;
    if number(list_bytes) != list.len() {
        return None;
    }
    let (leaf_bytes, list) = list.split_at_checked(3)?;
    list.get(..number(leaf_bytes))
}

/// True if a CertificateVerify is a signature by the certificate's key over this handshake.
fn is_signed(
    message: &[u8],
    leaf: &CertificateDer<'_>,
    hash: &[u8],
    algorithms: &WebPkiSupportedAlgorithms,
) -> bool {
    let verified = || {
        let (scheme, rest) = content(message)?.split_at_checked(2)?;
        let (signature_bytes, signature) = rest.split_at_checked(2)?;
        let scheme = SignatureScheme::from(u16::from_be_bytes([scheme[0], scheme[1]]));
        if number(signature_bytes) != signature.len() || !SCHEMES.contains(&scheme) {
            return None;
        }
        let (_, candidates) = algorithms.mapping.iter().find(|(known, _)| *known == scheme)?;
        // In TLS 1.3 a scheme names the curve too: the first is the one.
        let algorithm = candidates.first()?;
        let certificate = ParsedCertificate::try_from(leaf).ok()?;
        let spki = certificate.subject_public_key_info();
        let (kind, key) = key_parts(spki.as_ref())?;
        let signed = [&[0x20; 64], SIGNED_CONTEXT, hash].concat();
        let is_its_kind = algorithm.public_key_alg_id().as_ref() == kind;
        (is_its_kind && algorithm.verify_signature(key, &signed, signature).is_ok()).then_some(())
    };
    verified().is_some()
}

/// Algorithm and key of a SubjectPublicKeyInfo: a SEQUENCE of a SEQUENCE and a BIT STRING.
fn key_parts(spki: &[u8]) -> Option<(&[u8], &[u8])> {
    const SEQUENCE: u8 = 0x30;
    const BIT_STRING: u8 = 0x03;
    let (inner, rest) = element(spki, SEQUENCE)?;
    let (kind, inner) = element(inner, SEQUENCE)?;
    let (bits, end) = element(inner, BIT_STRING)?;
    let (unused, key) = bits.split_first()?;
    (rest.is_empty() && end.is_empty() && *unused == 0).then_some((kind, key))
}

/// The content of a DER element, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(2)?;
    let (size, rest) = match head[1] {
        short @ 0..=0x7f => (usize::from(short), rest),
        long @ (0x81 | 0x82) => {
            let (size, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (number(size), rest)
        }
        _ => return None,
    };
    (head[0] == tag).then(|| rest.split_at_checked(size))?
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, content: &[u8]) -> Vec<u8> {
        let size = u32::try_from(content.len()).unwrap_or(0).to_be_bytes();
        [&[kind], &size[1..], content].concat()
    }

    #[test]
    fn the_leaf_is_the_first_certificate_and_nothing_cut_short() {
        let list = b"\0\0\x03abc\0\0\0\0\x01d\0\0";
        let whole = message(CERTIFICATE, &[b"\0\0\0\x0e", &list[..]].concat());
        assert_eq!(leaf(&whole), Some(&b"abc"[..]));
        for cut in 0..whole.len() {
            assert_eq!(leaf(&whole[..cut]), None, "{cut}");
        }
        assert_eq!(leaf(&message(CERTIFICATE, b"\0\0\0\0")), None);
        assert_eq!(leaf(&message(CERTIFICATE, b"\0\0\0\x03\0\0\x09")), None);
        assert_eq!(leaf(&message(CERTIFICATE, b"\x05\0\0\0")), None);
    }

    #[test]
    fn a_key_is_read_whole_or_not_at_all() {
        let spki = b"\x30\x0a\x30\x03\x06\x01\x2a\x03\x03\0kk";
        assert_eq!(key_parts(spki), Some((&b"\x06\x01\x2a"[..], &b"kk"[..])));
        for cut in 0..spki.len() {
            assert_eq!(key_parts(&spki[..cut]), None, "{cut}");
        }
        assert_eq!(key_parts(b"\x30\x0a\x30\x03\x06\x01\x2a\x03\x03\x01kk"), None);
        assert_eq!(key_parts(b"\x30\x0a\x30\x03\x06\x01\x2a\x03\x03\0kk\0"), None);
        assert_eq!(key_parts(b"\x30\x80\x30\x03\x06\x01\x2a\x03\x03\0kk"), None);
    }
}
