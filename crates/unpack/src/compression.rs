//! Kinds of compressed input, known by their first bytes and not by their names.

use std::fmt;

/// Bytes that are enough to know every kind.
pub const HEAD_BYTES: usize = 512;

/// How an input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// RFC 1952; any number of members.
    Gzip,
    /// RFC 8878; any number of frames, also skippable ones.
    Zstd,
    /// The LZ4 frame format; any number of frames.
    Lz4,
    /// Any number of streams.
    Bzip2,
    /// Any number of streams.
    Xz,
}

impl Compression {
    /// The kind of an input that begins with `head`; None if it is not compressed.
    pub fn of(head: &[u8]) -> Option<Compression> {
        let kinds = [
            Compression::Gzip,
            Compression::Zstd,
            Compression::Lz4,
            Compression::Bzip2,
            Compression::Xz,
        ];
        kinds.into_iter().find(|kind| kind.begins(head))
    }

    /// The usual name.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Lz4 => "lz4",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        }
    }

    /// True if a member, frame or stream of this kind begins with `head`.
    pub(crate) fn begins(self, head: &[u8]) -> bool {
        match self {
            Compression::Gzip => head.starts_with(b"\x1f\x8b\x08"),
            Compression::Zstd => {
                head.starts_with(b"\x28\xb5\x2f\xfd")
                    || matches!(head, [first, 0x2a, 0x4d, 0x18, ..] if first >> 4 == 5)
            }
            Compression::Lz4 => head.starts_with(b"\x04\x22\x4d\x18"),
            // A block's or, in an empty stream, the trailer's six bytes follow: text could begin with the first four.
            Compression::Bzip2 => {
                let Some((start, rest)) = head.split_at_checked(4) else { return false };
                start.starts_with(b"BZh")
                    && matches!(start[3], b'1'..=b'9')
                    && (rest.starts_with(b"\x31\x41\x59\x26\x53\x59")
                        || rest.starts_with(b"\x17\x72\x45\x38\x50\x90"))
            }
            Compression::Xz => head.starts_with(b"\xfd7zXZ\0"),
        }
    }

    /// Memory that taking it apart needs, in bytes, unless its own header says more.
    pub fn memory_bytes(self) -> usize {
        match self {
            Compression::Gzip => 1 << 20,
            Compression::Zstd => 9 << 20,
            Compression::Lz4 => 12 << 20,
            Compression::Bzip2 => 5 << 20,
            Compression::Xz => 10 << 20,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The format of an input that holds no text however it is read; None if it may be text.
pub fn not_text(head: &[u8]) -> Option<&'static str> {
    let magics: [(&[u8], &str); 6] = [
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
        (b"Rar!\x1a\x07", "a rar archive; unpack it first"),
        (b"\x02\x21\x4c\x18", "lz4 of the legacy format; compress it with lz4 1.4 or newer"),
        (b"\x1f\x9d", "compressed by compress(1); unpack it first"),
        (b"PAR1\x15", "a Parquet file, and text was expected"),
    ];
    let is_tar = matches!(head.get(257..263), Some(b"ustar\0" | b"ustar "));
    let found = magics.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what);
    found.or(is_tar.then_some("a tar archive; unpack it first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_first_bytes_and_text_is_none() {
        let cases: [(&[u8], Option<Compression>); 12] = [
            (b"\x1f\x8b\x08\0", Some(Compression::Gzip)),
            (b"\x28\xb5\x2f\xfd", Some(Compression::Zstd)),
            (b"\x5f\x2a\x4d\x18", Some(Compression::Zstd)),
            (b"\x04\x22\x4d\x18", Some(Compression::Lz4)),
            (b"BZh91AY&SY", Some(Compression::Bzip2)),
            (b"BZh9\x17\x72\x45\x38\x50\x90", Some(Compression::Bzip2)),
            (b"\xfd7zXZ\0", Some(Compression::Xz)),
            (b"BZh9\tis text", None),
            (b"BZh", None),
            (b"", None),
            (b"\x1f\x8b", None),
            (b"1,2\n", None),
        ];
        for (head, kind) in cases {
            assert_eq!(Compression::of(head), kind, "{}", head.escape_ascii());
        }
        assert!(not_text(b"PK\x03\x04...").is_some());
        assert!(not_text(b"PKs\t1\n").is_none());
    }
}
