//! Character sets of input files, by the names that people have for them.

use crate::bytes::encoding::Encoding;

/// Names of encodings that files have and no server knows, or that it does not read files in.
const ENCODINGS: [(&str, Encoding); 5] = [
    ("utf16", Encoding::Utf16),
    ("utf16le", Encoding::Utf16Le),
    ("ucs2", Encoding::Ucs2),
    ("utf32", Encoding::Utf32),
    ("utf32le", Encoding::Utf32Le),
];

/// Names that others have for character sets of the server, in small letters and without `-`, `_`
/// and spaces. Its latin1 is windows-1252, which web browsers take ISO 8859-1 for too.
const CHARSETS: [(&str, &str); 32] = [
    ("usascii", "ascii"),
    ("iso88591", "latin1"),
    ("cp1252", "latin1"),
    ("windows1252", "latin1"),
    ("iso88592", "latin2"),
    ("iso88597", "greek"),
    ("iso88598", "hebrew"),
    ("iso88599", "latin5"),
    ("iso885913", "latin7"),
    ("windows1250", "cp1250"),
    ("windows1251", "cp1251"),
    ("windows1256", "cp1256"),
    ("windows1257", "cp1257"),
    ("ibm850", "cp850"),
    ("ibm852", "cp852"),
    ("ibm866", "cp866"),
    ("shiftjis", "sjis"),
    ("windows31j", "cp932"),
    ("ms932", "cp932"),
    ("eucjp", "ujis"),
    ("uhc", "euckr"),
    ("cp936", "gbk"),
    ("macintosh", "macroman"),
    ("macintoshce", "macce"),
    ("maccentraleurope", "macce"),
    ("utf16be", "utf16"),
    ("utf32be", "utf32"),
    ("iso10646ucs2", "ucs2"),
    ("iso646us", "ascii"),
    ("l1", "latin1"),
    ("l2", "latin2"),
    ("l5", "latin5"),
];

/// A character set's name in the server's spelling.
///
/// `utf8` is the server's own name, of three bytes; spelled as everywhere else, `utf-8`, it is all of Unicode.
pub fn name(typed: &str) -> Result<String, String> {
    let name = typed.to_ascii_lowercase();
    let known = values::charset::NAMES;
    let is_known =
        |name: &str| known.contains(&name) || ENCODINGS.iter().any(|(of, _)| *of == name);
    let plain = name.replace(['-', '_', ' '], "");
    let other = CHARSETS.iter().find(|(other, _)| *other == plain).map(|(_, name)| *name);
    match name.as_str() {
        "utf8" => Ok("utf8mb3".to_owned()),
        "utf-8" | "utf_8" => Ok("utf8mb4".to_owned()),
        name if is_known(name) => Ok(name.to_owned()),
        _ if is_known(&plain) => Ok(plain),
        _ => other
            .map(str::to_owned)
            .ok_or_else(|| format!("unknown character set; servers have {}", known.join(", "))),
    }
}

/// The character set of the text, and how it is encoded in the file.
pub fn of_file(typed: Option<&str>) -> (String, Encoding) {
    let utf8mb4 = || "utf8mb4".to_owned();
    match typed {
        None => (utf8mb4(), Encoding::ByMark),
        Some(name) => match ENCODINGS.iter().find(|(of, _)| *of == name) {
            Some((_, encoding)) => (utf8mb4(), *encoding),
            None => (name.to_owned(), Encoding::Bytes),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn character_sets_have_names_of_others_too() {
        for (typed, known) in [
            ("utf-8", "utf8mb4"),
            ("UTF-8", "utf8mb4"),
            ("utf8", "utf8mb3"),
            ("utf8mb4", "utf8mb4"),
            ("ISO-8859-1", "latin1"),
            ("iso_8859-1", "latin1"),
            ("windows-1252", "latin1"),
            ("Windows-1251", "cp1251"),
            ("utf-16le", "utf16le"),
            ("UTF-16", "utf16"),
            ("latin-1", "latin1"),
            ("Shift_JIS", "sjis"),
            ("euc-kr", "euckr"),
            ("koi8-r", "koi8r"),
            ("tis-620", "tis620"),
        ] {
            assert_eq!(name(typed).unwrap(), known, "{typed}");
        }
        assert!(name("utf-9").is_err());
        for (other, name) in CHARSETS {
            let is_known = values::charset::NAMES.contains(&name);
            assert!(is_known || ENCODINGS.iter().any(|(of, _)| *of == name), "{other}: {name}");
        }
    }
}
