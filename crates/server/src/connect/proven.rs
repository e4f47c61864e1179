//! The result of a proof: the certificate that is proven, or why none is.

use std::fmt;

use ring::digest::{SHA256, digest};

/// Bytes of SHA-256.
pub(super) const DIGEST_BYTES: usize = 32;

/// SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fingerprint([u8; DIGEST_BYTES]);

/// Why a server's certificate is not proven.
#[derive(Debug)]
pub(super) enum Unproven {
    /// The server does not let the account in.
    Denied { errno: u16, message: String },
    /// No proof, or not the right one, in words.
    Because(String),
}

impl Fingerprint {
    /// The fingerprint of a certificate as it is sent.
    pub(super) fn of(der: &[u8]) -> Fingerprint {
        Fingerprint(sha256(&[der]))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<[u8; DIGEST_BYTES]> for Fingerprint {
    fn from(bytes: [u8; DIGEST_BYTES]) -> Fingerprint {
        Fingerprint(bytes)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unproven::Denied { message, .. } => f.write_str(message),
            Unproven::Because(why) => f.write_str(why),
        }
    }
}

pub(super) fn because(why: impl Into<String>) -> Unproven {
    Unproven::Because(why.into())
}

/// SHA-256 of all parts, one behind the other.
pub(super) fn sha256(parts: &[&[u8]]) -> [u8; DIGEST_BYTES] {
    let mut hash = [0; DIGEST_BYTES];
    hash.copy_from_slice(digest(&SHA256, &parts.concat()).as_ref());
    hash
}
