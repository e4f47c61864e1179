//! INET4 and INET6: the bytes of an address in network order, which is also their order.
//!
//! Source: MariaDB 10.11, plugin/type_inet/sql_type_inet.cc `Inet4::ascii_to_fbt`,
//! `Inet6::ascii_to_fbt`, which read zeros and gaps more narrowly than `inet_pton`.

use crate::habits::Habits;
use crate::reason::Reason;
use crate::sql_type::Charset;
use crate::uuid::hex_digit;

/// Bytes of an INET4.
pub(crate) const INET4_BYTES: usize = 4;
/// Bytes of an INET6.
pub(crate) const INET6_BYTES: usize = 16;

/// Characters of `1.2.3.4` and `255.255.255.255`.
const INET4_CHARS: std::ops::RangeInclusive<usize> = 7..=15;
/// Characters of `::` and of eight groups: a longest one that ends in an IPv4 address is too long.
const INET6_CHARS: std::ops::RangeInclusive<usize> = 2..=39;

/// Converts text to INET4.
#[derive(Clone, Debug)]
pub(crate) struct Inet4 {
    is_binary: bool,
}

impl Inet4 {
    /// A field without characters is the bytes of the address.
    pub(crate) fn new(file: Charset) -> Inet4 {
        Inet4 { is_binary: file == Charset::Binary }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let bytes = if self.is_binary { text.try_into().ok() } else { parse_inet4(text) };
        out.extend_from_slice(&bytes.ok_or(Reason::Malformed)?);
        Ok(())
    }
}

/// Converts text to INET6.
#[derive(Clone, Debug)]
pub(crate) struct Inet6 {
    is_binary: bool,
    takes_inet4: bool,
}

impl Inet6 {
    /// A field without characters is the bytes of the address.
    pub(crate) fn new(file: Charset) -> Inet6 {
        Inet6 { is_binary: file == Charset::Binary, takes_inet4: false }
    }

    /// As the server does.
    pub(crate) fn with_habits(mut self, habits: Habits) -> Inet6 {
        self.takes_inet4 = habits.inet6_takes_inet4;
        self
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let bytes = match self.is_binary {
            true => text.try_into().ok(),
            false if self.takes_inet4 => parse_inet6(text).or_else(|| parse_mapped(text)),
            false => parse_inet6(text),
        };
        out.extend_from_slice(&bytes.ok_or(Reason::Malformed)?);
        Ok(())
    }
}

/// The server stops reading at a zero byte.
fn until_zero(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Four numbers to 255 of at most three digits.
fn parse_inet4(text: &[u8]) -> Option<[u8; INET4_BYTES]> {
    if !INET4_CHARS.contains(&text.len()) {
        return None;
    }
    let mut bytes = [0; INET4_BYTES];
    let mut groups = 0;
    for group in until_zero(text).split(|&byte| byte == b'.') {
        if !(1..=3).contains(&group.len()) || groups == INET4_BYTES {
            return None;
        }
        let number = group.iter().try_fold(0u32, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'))
        })?;
        bytes[groups] = u8::try_from(number).ok()?;
        groups += 1;
    }
    (groups == INET4_BYTES).then_some(bytes)
}

/// An IPv4 address as `::ffff:1.2.3.4`.
fn parse_mapped(text: &[u8]) -> Option<[u8; INET6_BYTES]> {
    let mut bytes = [0; INET6_BYTES];
    bytes[10..12].fill(0xff);
    bytes[12..].copy_from_slice(&parse_inet4(text)?);
    Some(bytes)
}

/// Groups of up to four digits, one gap, perhaps an IPv4 address at the end.
fn parse_inet6(text: &[u8]) -> Option<[u8; INET6_BYTES]> {
    if !INET6_CHARS.contains(&text.len()) || (text[0] == b':' && text[1] != b':') {
        return None;
    }
    let mut bytes = [0; INET6_BYTES];
    let mut filled = 0;
    let mut gap = None;
    let mut push = |part: &[u8]| {
        let end = filled + part.len();
        bytes.get_mut(filled..end)?.copy_from_slice(part);
        filled = end;
        Some(end)
    };
    let mut end = 0;
    let mut at = usize::from(text[0] == b':');
    let mut is_closed = false;
    while let Some(&byte) = text.get(at).filter(|&&byte| byte != 0 && !is_closed) {
        let group = &text[at..];
        let digits = group.iter().take_while(|&&byte| hex_digit(byte).is_some()).count();
        let next = group.get(digits).copied().filter(|&byte| byte != 0);
        match next {
            _ if byte == b':' => {
                // A second colon.
                if gap.replace(end).is_some() {
                    return None;
                }
                at += 1;
            }
            Some(b'.') => {
                end = push(&parse_inet4(group)?)?;
                is_closed = true;
            }
            None | Some(b':') if (1..=4).contains(&digits) => {
                end = push(&group_value(&group[..digits])?)?;
                at += digits + usize::from(next.is_some());
                // A colon that nothing follows.
                if next.is_some() && text.get(at).is_none_or(|&byte| byte == 0) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    match gap {
        Some(_) if end == INET6_BYTES => None,
        Some(gap) => {
            bytes[gap..].rotate_right(INET6_BYTES - end);
            Some(bytes)
        }
        None => (end == INET6_BYTES).then_some(bytes),
    }
}

fn group_value(digits: &[u8]) -> Option<[u8; 2]> {
    let value = digits
        .iter()
        .try_fold(0u16, |value, &byte| Some(value << 4 | u16::from(hex_digit(byte)?)))?;
    Some(value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv6Addr;

    #[test]
    fn ipv4_addresses() {
        for (text, expected) in [
            ("1.2.3.4", Some([1, 2, 3, 4])),
            ("255.255.255.255", Some([255; 4])),
            ("001.002.003.004", Some([1, 2, 3, 4])),
            ("1.2.3.4\0x", Some([1, 2, 3, 4])),
            ("1.2.3", None),
            ("1.2.3.", None),
            ("1.2.3.256", None),
            ("1.2.3.0004", None),
            ("1.2.3.4.5", None),
            ("1..3.4.5", None),
            (" 1.2.3.4", None),
            ("1.2.3.4 ", None),
        ] {
            assert_eq!(parse_inet4(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn ipv6_addresses() {
        for text in [
            "::",
            "::1",
            "1::",
            "2001:db8::8a2e:370:7334",
            "1:2:3:4:5:6:7:8",
            "1:2:3::5:6:7:8",
            "::ffff:1.2.3.4",
            "::1.2.3.4",
            "1:2:3:4:5:6:1.2.3.4",
            "FE80::ABCD",
        ] {
            let expected: Option<Ipv6Addr> = text.parse().ok();
            let ours = parse_inet6(text.as_bytes()).map(Ipv6Addr::from);
            assert_eq!(ours, expected, "{text}");
            assert!(expected.is_some(), "{text}");
        }
        for text in [
            "",
            ":",
            ":1",
            "1:",
            ":::",
            "1::2::3",
            "12345::",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4::5:6:7:8",
            "::1.2.3",
            "1:2:3:4:5:6:7:1.2.3.4",
            "::g",
            "1.2.3.4",
            "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
            "::1 ",
        ] {
            assert_eq!(parse_inet6(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_address_is_read_from_its_usual_text(bits: u128, zeros: u8, inet4: u32) {
            let mut groups = bits.to_be_bytes();
            for group in 0..8 {
                if zeros >> group & 1 == 1 {
                    groups[2 * group..][..2].fill(0);
                }
            }
            let text = Ipv6Addr::from(groups).to_string();
            prop_assert_eq!(parse_inet6(text.as_bytes()), Some(groups));
            let inet4 = std::net::Ipv4Addr::from_bits(inet4);
            prop_assert_eq!(parse_inet4(inet4.to_string().as_bytes()), Some(inet4.octets()));
            let text = format!("::ffff:{inet4}");
            let mapped = inet4.to_ipv6_mapped().octets();
            prop_assert_eq!(parse_inet6(text.as_bytes()), Some(mapped));
        }
    }
}
