//! Character sets whose characters take several bytes, as far as cutting a file needs them.
//!
//! The server reads a field character by character: in sjis, gbk and big5 the second byte of a
//! character may be a backslash or a vertical bar, and is none then. Only columns of text are read
//! so; what goes to a number, a date, a BLOB or a variable is read byte by byte.
//!
//! Source: `READ_INFO::read_mbtail` and `next_line` in the server's `sql/sql_load.cc`, and `charlen`
//! of each `strings/ctype-*.c`; every rule was tried on MariaDB 10.11 byte by byte.

/// How the bytes of a file make characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MultiByte {
    /// One byte is one character: latin1 and its kin, binary.
    #[default]
    None,
    /// utf8mb3.
    Utf8mb3,
    /// utf8mb4.
    Utf8mb4,
    /// big5.
    Big5,
    /// gbk.
    Gbk,
    /// gb2312.
    Gb2312,
    /// sjis and cp932.
    Sjis,
    /// euckr.
    EucKr,
    /// ujis and eucjpms.
    Ujis,
}

/// The character at the beginning of a file's rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// A character of all these bytes.
    Whole,
    /// More bytes have to come.
    TooShort,
    /// No character.
    Illegal,
}

impl MultiByte {
    /// The rule of a character set of the server, by its name.
    pub fn of_charset(name: &str) -> MultiByte {
        match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => MultiByte::Utf8mb4,
            "utf8mb3" | "utf8" => MultiByte::Utf8mb3,
            "big5" => MultiByte::Big5,
            "gbk" => MultiByte::Gbk,
            "gb2312" => MultiByte::Gb2312,
            "sjis" | "cp932" => MultiByte::Sjis,
            "euckr" => MultiByte::EucKr,
            "ujis" | "eucjpms" => MultiByte::Ujis,
            _ => MultiByte::None,
        }
    }

    /// Most bytes of a character.
    pub fn char_bytes_max(self) -> usize {
        match self {
            MultiByte::None => 1,
            MultiByte::Utf8mb4 => 4,
            MultiByte::Utf8mb3 | MultiByte::Ujis => 3,
            _ => 2,
        }
    }

    /// True if a valid character may have this byte anywhere but alone.
    ///
    /// The bytes that a damaged UTF-8 character takes with it are not counted: such text is
    /// refused by every column that is read by characters.
    pub fn may_hold(self, byte: u8) -> bool {
        match self {
            MultiByte::None => false,
            MultiByte::Big5 | MultiByte::Gbk | MultiByte::Sjis => {
                byte >= 0x80 || matches!(byte, 0x40..=0x7e)
            }
            MultiByte::EucKr => byte >= 0x80 || byte.is_ascii_alphabetic(),
            _ => byte >= 0x80,
        }
    }

    /// Bytes that the server takes as one when it reads a field at the start of `rest`, which is
    /// not empty: a byte that makes a character impossible is left for later.
    pub fn token_size(self, rest: &[u8]) -> usize {
        if rest[0] < 0x80 {
            return 1;
        }
        for size in 1..=rest.len() {
            match self.length(&rest[..size]) {
                Length::Whole => return size,
                Length::Illegal => return (size - 1).max(1),
                Length::TooShort => {}
            }
        }
        rest.len()
    }

    /// The same when it skips to the end of a line: there such a byte is skipped too.
    pub fn skip_size(self, rest: &[u8]) -> usize {
        if rest[0] < 0x80 {
            return 1;
        }
        let ends = |size: &usize| self.length(&rest[..*size]) != Length::TooShort;
        (1..=rest.len()).find(ends).unwrap_or(rest.len())
    }

    /// The length of the character at these bytes, the first of which is 0x80 or higher. More bytes
    /// are requested without a look at those that are there, as the server does.
    fn length(self, bytes: &[u8]) -> Length {
        let two = |head: bool, tail: fn(u8) -> bool| match bytes {
            [_] => Length::TooShort,
            [_, second] if head && tail(*second) => Length::Whole,
            _ => Length::Illegal,
        };
        let first = bytes[0];
        match self {
            MultiByte::None => Length::Whole,
            MultiByte::Utf8mb3 => utf8(bytes, 3),
            MultiByte::Utf8mb4 => utf8(bytes, 4),
            MultiByte::Big5 => two(
                matches!(first, 0xa1..=0xf9),
                |second| matches!(second, 0x40..=0x7e | 0xa1..=0xfe),
            ),
            MultiByte::Gbk => two(
                matches!(first, 0x81..=0xfe),
                |second| matches!(second, 0x40..=0x7e | 0x80..=0xfe),
            ),
            MultiByte::Gb2312 => two(matches!(first, 0xa1..=0xf7), is_high),
            MultiByte::Sjis if matches!(first, 0xa1..=0xdf) => Length::Whole,
            MultiByte::Sjis => two(
                matches!(first, 0x81..=0x9f | 0xe0..=0xfc),
                |second| matches!(second, 0x40..=0x7e | 0x80..=0xfc),
            ),
            MultiByte::EucKr => two(
                matches!(first, 0x81..=0xfe),
                |second| matches!(second, b'A'..=b'Z' | b'a'..=b'z' | 0x81..=0xfe),
            ),
            MultiByte::Ujis => ujis(bytes),
        }
    }
}

fn is_high(byte: u8) -> bool {
    matches!(byte, 0xa1..=0xfe)
}

fn ujis(bytes: &[u8]) -> Length {
    match bytes {
        [_] => Length::TooShort,
        [0x8e, 0xa1..=0xdf] => Length::Whole,
        [0x8f, second] if is_high(*second) => Length::TooShort,
        [0x8f, second, third] if is_high(*second) && is_high(*third) => Length::Whole,
        [first, second] if is_high(*first) && is_high(*second) => Length::Whole,
        _ => Length::Illegal,
    }
}

/// The first byte alone says how many the server waits for before it looks at them.
fn utf8(bytes: &[u8], size_max: usize) -> Length {
    let size = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 if size_max == 4 => 4,
        _ => return Length::Illegal,
    };
    if bytes.len() < size {
        return Length::TooShort;
    }
    match std::str::from_utf8(&bytes[..size]) {
        Ok(_) => Length::Whole,
        Err(_) => Length::Illegal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_that_looks_like_syntax_is_part_of_its_character() {
        let cases: [(MultiByte, &[u8], usize); 14] = [
            (MultiByte::Sjis, b"\x83\\x", 2),
            (MultiByte::Sjis, b"\xb1\\x", 1),
            (MultiByte::Sjis, b"\x83\n", 1),
            (MultiByte::Gbk, b"\x81|", 2),
            (MultiByte::Gbk, b"\xff|", 1),
            (MultiByte::Big5, b"\xa1~", 2),
            (MultiByte::Big5, b"\xfa~", 1),
            (MultiByte::Gb2312, b"\xa1|", 1),
            (MultiByte::EucKr, b"\x81N", 2),
            (MultiByte::EucKr, b"\x81\\", 1),
            (MultiByte::Ujis, b"\x8f\xa1\n", 2),
            (MultiByte::Ujis, b"\x8f\n", 1),
            (MultiByte::Utf8mb4, b"\xe2\t\t", 2),
            (MultiByte::Utf8mb4, b"\xc3\t\t", 1),
        ];
        for (charset, bytes, size) in cases {
            assert_eq!(charset.token_size(bytes), size, "{charset:?} {}", bytes.escape_ascii());
        }
    }

    #[test]
    fn skipping_a_line_goes_past_what_makes_no_character() {
        assert_eq!(MultiByte::Utf8mb4.skip_size(b"\xe2\nx\n"), 3);
        assert_eq!(MultiByte::Utf8mb4.skip_size(b"\xff\n"), 1);
        assert_eq!(MultiByte::Gbk.skip_size(b"\xff\n"), 2);
        assert_eq!(MultiByte::Sjis.skip_size(b"\xc3\n"), 1);
        assert_eq!(MultiByte::None.skip_size(b"\xe2\n"), 1);
    }
}
