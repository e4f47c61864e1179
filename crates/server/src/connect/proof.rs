//! A server's proof, made by the account's password, that a certificate is its own.
//!
//! ```text
//! greeting -> TLS, any certificate -> token of the password -> OK, and in it:
//! SHA-256(SHA-1(SHA-1(password)), the log-in's random bytes, SHA-256(certificate))
//! ```
//!
//! That is what MariaDB 11.4 and newer send, and what their clients ask of a certificate that nobody signed (Connector/C,
//! `plugins/auth/my_auth.c`, `run_plugin_auth`). The server has the password's hash and a stranger does not; whoever passes the log-in on
//! to it shows a certificate of his own, and gets the proof of another.
//!
//! The driver shows neither the greeting's random bytes nor the certificate, so this is a log-in of its own, which ends with the proof;
//! the driver's connections then have to show the certificate that was proven (`pin`). The token goes to a stranger, as it does from the
//! mariadb client: SECURITY.md says what he can do with it, and how to have it otherwise. Nothing else of the password goes: an account
//! of another plugin, or a server that asks for more, ends the log-in.

use std::time::Duration;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use secrecy::ExposeSecret;

use crate::options::ConnectOptions;
use crate::version::{Flavor, Version};

use super::greeting::{Greeting, NATIVE, SCRAMBLE_BYTES, client_answer, encryption_request};
use super::proven::{DIGEST_BYTES, Fingerprint, Unproven, because, sha256};
use super::stranger::Stranger;

/// MariaDB since when its servers prove their certificates.
const PROVES_SINCE: (u16, u16, u16) = (11, 4, 0);
/// Longest time for all of it, whatever `--connect-timeout` says: who has the token guesses at a weak password, and has so long for it.
const TIME_MAX: Duration = Duration::from_secs(10);
/// The command that ends a connection.
const QUIT: u8 = 1;
/// First byte of an OK packet's info that holds a proof.
const PROOF: u8 = 1;

/// Logs in to have the server prove its certificate; what it was.
///
/// The caller knows that the connection is not to a socket, and that there is a password.
pub(super) fn prove(options: &ConnectOptions) -> Result<Fingerprint, Unproven> {
    let time_max = options.connect_time_max().min(TIME_MAX);
    let mut plain = Stranger::reach(options, time_max)?;
    let greeting = Greeting::parse(&plain.read_packet()?.1).map_err(because)?;
    check_version(&greeting)?;
    plain.send_packet(1, &encryption_request())?;
    // What he shows is known before anything of the account is sent.
    let (mut talk, shown) = plain.encrypt(options)?;
    let hash = PasswordHash::new(options);
    let mut scramble = greeting.scramble;
    talk.send_packet(2, &client_answer(&options.user_name(), &hash.token(&scramble)))?;
    let (number, mut bytes) = talk.read_packet()?;
    if let Some(other) = switched(&bytes)? {
        scramble = other;
        talk.send_packet(number.wrapping_add(1), &hash.token(&scramble))?;
        bytes = talk.read_packet()?.1;
    }
    let seen = proof_in(&bytes)?;
    // He has nothing more to tell: that the connection ends is no error.
    let _ = talk.send_packet(0, &[QUIT]);
    match is_same(&seen, &hash.proof(&scramble, shown)) {
        true => Ok(shown),
        false => Err(because(
            "its proof belongs to a different certificate or password, so an attacker may be in \
             between",
        )),
    }
}

/// The hash of a password that a MariaDB server stores.
struct PasswordHash {
    once: [u8; SCRAMBLE_BYTES],
    twice: [u8; SCRAMBLE_BYTES],
}

impl PasswordHash {
    fn new(options: &ConnectOptions) -> PasswordHash {
        let password = options.password.as_ref().map_or("", ExposeSecret::expose_secret);
        let once = sha1(&[password.as_bytes()]);
        PasswordHash { once, twice: sha1(&[&once]) }
    }

    /// The bytes that the plugin mysql_native_password sends.
    fn token(&self, scramble: &[u8; SCRAMBLE_BYTES]) -> [u8; SCRAMBLE_BYTES] {
        let mut token = sha1(&[scramble, &self.twice]);
        token.iter_mut().zip(self.once).for_each(|(byte, own)| *byte ^= own);
        token
    }

    fn proof(&self, scramble: &[u8; SCRAMBLE_BYTES], shown: Fingerprint) -> [u8; DIGEST_BYTES] {
        sha256(&[&self.twice, scramble, shown.bytes()])
    }
}

fn sha1(parts: &[&[u8]]) -> [u8; SCRAMBLE_BYTES] {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    parts.iter().for_each(|part| context.update(part));
    let mut hash = [0; SCRAMBLE_BYTES];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

/// Compares in the same time whatever differs.
fn is_same(left: &[u8; DIGEST_BYTES], right: &[u8; DIGEST_BYTES]) -> bool {
    left.iter().zip(right).fold(0, |differs, (left, right)| differs | (left ^ right)) == 0
}

fn check_version(greeting: &Greeting) -> Result<(), Unproven> {
    match Version::parse(&greeting.version) {
        Some(version) if version.flavor == Flavor::MariaDb && version.number >= PROVES_SINCE => {
            Ok(())
        }
        _ => {
            let seen = greeting.version.escape_debug().take(80).collect::<String>();
            Err(because(format!("only MariaDB 11.4 and newer can, but its version is {seen}")))
        }
    }
}

/// The random bytes of another log-in by the same plugin, if the server wants one.
fn switched(bytes: &[u8]) -> Result<Option<[u8; SCRAMBLE_BYTES]>, Unproven> {
    let Some((0xfe, rest)) = bytes.split_first().map(|(first, rest)| (*first, rest)) else {
        return Ok(None);
    };
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (plugin, data) = rest.split_at(end);
    let scramble = data.get(1..=SCRAMBLE_BYTES).and_then(|bytes| bytes.try_into().ok());
    match scramble {
        Some(scramble) if plugin == NATIVE.as_bytes() => Ok(Some(scramble)),
        _ => {
            let plugin = plugin.escape_ascii().to_string();
            let plugin = if plugin.is_empty() { "an old one" } else { &plugin };
            Err(because(format!(
                "the account's plugin is {plugin}, but only {NATIVE} gives a proof"
            )))
        }
    }
}

/// The proof in the packet that ends a log-in.
fn proof_in(bytes: &[u8]) -> Result<[u8; DIGEST_BYTES], Unproven> {
    match bytes {
        [0, rest @ ..] => info(rest)
            .and_then(|info| info.strip_prefix(&[PROOF]))
            .and_then(digits)
            .ok_or_else(|| because("its answer to the log-in contains no proof")),
        [0xff, low, high, rest @ ..] => {
            let text = String::from_utf8_lossy(rest);
            // A state of five characters comes before the text.
            let message = match text.strip_prefix('#') {
                Some(text) => text.chars().skip(5).collect(),
                None => text.into_owned(),
            };
            Err(Unproven::Denied { errno: u16::from_le_bytes([*low, *high]), message })
        }
        _ => Err(because("its answer to the log-in is neither OK nor an error")),
    }
}

/// The info of an OK packet behind its first byte: two numbers, status and warnings come before.
fn info(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = after_number(after_number(bytes)?)?.get(4..)?;
    let (size, info) = bytes.split_first()?;
    info.get(..usize::from(*size)).filter(|_| *size < 0xfb)
}

/// The bytes after a number of the protocol's: of one byte, or of so many as that tells.
fn after_number(bytes: &[u8]) -> Option<&[u8]> {
    let size = match bytes.first()? {
        0..=0xfa => 1,
        0xfc => 3,
        0xfd => 4,
        0xfe => 9,
        _ => return None,
    };
    bytes.get(size..)
}

/// 64 digits as the bytes that they are.
fn digits(text: &[u8]) -> Option<[u8; DIGEST_BYTES]> {
    if text.len() != 2 * DIGEST_BYTES {
        return None;
    }
    let mut bytes = [0; DIGEST_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high << 4 | low).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The proof that a MariaDB 11.8.6 has sent for this password, certificate and log-in.
    #[test]
    fn the_proof_is_the_one_that_a_server_makes() {
        const PROOF_SEEN: &[u8; 64] =
            b"04FA178A20E74D7F6C912F0C4D67ECC4EA7431F2CD4B17406A237128F7DF68A5";
        let password = Some("secret word".into());
        let hash = PasswordHash::new(&ConnectOptions { password, ..Default::default() });
        let shown = Fingerprint::from(
            digits(b"ADC8FE76C5C1581E7D2F0ABD196919C2A46D16419B29FC5884CA830F6DAE9918").unwrap(),
        );
        assert_eq!(hash.proof(b"E8+l`zhwAy`Vl>1v\"Cjk", shown), digits(PROOF_SEEN).unwrap());
        assert_ne!(hash.proof(b"00000000000000000000", shown), digits(PROOF_SEEN).unwrap());
    }

    #[test]
    fn only_an_ok_with_a_whole_proof_holds_one() {
        let ok = |info: &[u8]| {
            let size = [u8::try_from(info.len()).unwrap()];
            [&[0, 0, 0, 2, 0, 0, 0], &size[..], info].concat()
        };
        let digits = [b'A'; 64];
        let whole = ok(&[&[PROOF], &digits[..]].concat());
        assert_eq!(proof_in(&whole).unwrap(), [0xaa; DIGEST_BYTES]);
        // What tells of the session may follow.
        assert!(proof_in(&[&whole[..], b"\x02\0\0"].concat()).is_ok());
        for cut in 0..whole.len() {
            assert!(proof_in(&whole[..cut]).is_err(), "{cut}");
        }
        for info in [&b""[..], b"\x01", &digits, &[&[2], &digits[..]].concat()] {
            assert!(proof_in(&ok(info)).is_err(), "{info:?}");
        }
        let odd = ok(&[&[PROOF], &digits[..63], b"G"].concat());
        assert!(proof_in(&odd).is_err());
        let denied = proof_in(b"\xff\x15\x04#28000Access denied").unwrap_err();
        assert!(matches!(denied, Unproven::Denied { errno: 1045, .. }));
        assert_eq!(denied.to_string(), "Access denied");
    }

    #[test]
    fn a_log_in_goes_on_by_the_same_plugin_only() {
        let native = b"\xfemysql_native_password\0abcdefghijklmnopqrs\0";
        assert!(switched(&native[..native.len() - 3]).is_err());
        assert_eq!(switched(b"\0\0\0").unwrap(), None);
        let native = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0";
        assert_eq!(switched(native).unwrap(), Some(*b"abcdefghijklmnopqrst"));
        for other in [
            &b"\xfe"[..],
            b"\xfemysql_clear_password\0",
            b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0",
            b"\xfemysql_native_password",
            b"\xfemysql_native_password2\0abcdefghijklmnopqrst\0",
        ] {
            assert!(switched(other).is_err(), "{other:?}");
        }
    }
}
