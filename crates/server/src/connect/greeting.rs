//! The packets that begin a log-in, as far as we speak them ourselves.

/// Random bytes of a log-in.
pub(super) const SCRAMBLE_BYTES: usize = 20;
/// The plugin whose token we make.
pub(super) const NATIVE: &str = "mysql_native_password";

/// Abilities of client and server, by the protocol's names.
const LONG_PASSWORD: u32 = 1;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
/// Capabilities that a server must have.
const NEEDED: u32 = PROTOCOL_41 | SSL | SECURE_CONNECTION | PLUGIN_AUTH;
const OURS: u32 = NEEDED | LONG_PASSWORD | TRANSACTIONS;
const PACKET_BYTES_MAX: u32 = 1 << 24;
/// utf8mb4_general_ci.
const COLLATION: u8 = 45;
const PROTOCOL: u8 = 10;

/// A server's first packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) scramble: [u8; SCRAMBLE_BYTES],
}

impl Greeting {
    /// Errors, in words: what is no greeting, and what offers less than a log-in with a proof needs.
    pub(super) fn parse(bytes: &[u8]) -> Result<Greeting, &'static str> {
        const NONE: &str = "its first packet is not a greeting";
        let Some((&PROTOCOL, rest)) = bytes.split_first() else { return Err(NONE) };
        let end = rest.iter().position(|byte| *byte == 0).ok_or(NONE)?;
        let version = String::from_utf8_lossy(&rest[..end]).into_owned();
        // Connection 4, random 8, zero 1, abilities 2, collation 1, status 2, abilities 2, length 1, reserved 10, random 12, zero.
        let rest = rest.get(end + 1..).filter(|rest| rest.len() >= 44).ok_or(NONE)?;
        let abilities = u32::from_le_bytes([rest[13], rest[14], rest[18], rest[19]]);
        if abilities & NEEDED != NEEDED {
            return Err("it offers no encryption, or no log-in with plugins");
        }
        let mut scramble = [0; SCRAMBLE_BYTES];
        scramble[..8].copy_from_slice(&rest[4..12]);
        scramble[8..].copy_from_slice(&rest[31..43]);
        if rest[43] != 0 || usize::from(rest[20]) != SCRAMBLE_BYTES + 1 {
            return Err("its greeting names no supported plugin");
        }
        Ok(Greeting { version, scramble })
    }
}

/// The wish for encryption, which tells nothing of the account.
pub(super) fn encryption_request() -> Vec<u8> {
    let mut bytes = OURS.to_le_bytes().to_vec();
    bytes.extend(PACKET_BYTES_MAX.to_le_bytes());
    bytes.push(COLLATION);
    bytes.extend([0; 23]);
    bytes
}

/// The account, and what is made of its password.
pub(super) fn client_answer(user: &str, token: &[u8; SCRAMBLE_BYTES]) -> Vec<u8> {
    let mut bytes = encryption_request();
    bytes.extend(user.bytes());
    bytes.extend([0, SCRAMBLE_BYTES as u8]);
    bytes.extend(token);
    bytes.extend(NATIVE.bytes());
    bytes.push(0);
    bytes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn greeting() -> Vec<u8> {
        let mut bytes =
            b"\n11.8.6-MariaDB\0\x0c\0\0\0?F\"q8_Wu\0\xfe\xff-\x02\0\xff\x81\x15".to_vec();
        bytes.extend([0, 0, 0, 0, 0, 0, 0x3d, 0, 0, 0]);
        bytes.extend(b"j2ZMT>xch_%9\0mysql_native_password\0");
        bytes
    }

    #[test]
    fn a_greeting_is_read_whole_or_not_at_all() {
        let (whole, scramble) = (greeting(), *b"?F\"q8_Wuj2ZMT>xch_%9");
        let version = "11.8.6-MariaDB".to_owned();
        assert_eq!(Greeting::parse(&whole).unwrap(), Greeting { version, scramble });
        for cut in 0..whole.len() - "mysql_native_password\0".len() {
            assert!(Greeting::parse(&whole[..cut]).is_err(), "{cut}");
        }
        let mut clear = greeting();
        // SSL is in the second byte of the abilities.
        clear[30] &= !8;
        assert!(Greeting::parse(&clear).unwrap_err().contains("no encryption"));
    }
}
