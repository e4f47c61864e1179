//! Columns of text whose usual values are stored byte for byte, for whoever copies many of them.

use crate::convert::{Converter, Kind};
use crate::text::{Pad, Text};

/// Texts that a column stores as they are: those of at most `bytes_max` bytes that are ASCII.
/// [`Converter::convert`] decides about others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainText {
    /// Bytes of the longest such text.
    pub bytes_max: usize,
    /// True if they may have bytes that are not ASCII.
    pub any_byte: bool,
    /// Bytes up to which a shorter one is filled up.
    pub padded_bytes: usize,
    /// With what.
    pub pad: u8,
}

impl Converter {
    /// Which texts are stored byte for byte, if some are.
    pub fn plain_text(&self) -> Option<PlainText> {
        match &self.kind {
            Kind::Text(text) => text.plain(),
            _ => None,
        }
    }
}

impl Text {
    fn plain(&self) -> Option<PlainText> {
        let bytes_max = self.short_end.checked_sub(1)?;
        let any_byte = self.copies() && self.column.is_single_byte() && !self.strict_ascii;
        let (padded_bytes, pad) = match self.pad {
            Pad::Nothing => (0, 0),
            Pad::To { bytes, byte } => (bytes, byte),
            Pad::Wide { .. } => return None,
        };
        Some(PlainText { bytes_max, any_byte, padded_bytes, pad })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::habits::Habits;
    use crate::{Charset, ConvertOptions, SqlType, TextType};

    fn types(charset: Charset) -> Vec<SqlType> {
        let text = || TextType { charset, collation: format!("{}_bin", charset.name()) };
        vec![
            SqlType::Char { chars: 1, text: text() },
            SqlType::Char { chars: 20, text: text() },
            SqlType::VarChar { chars: 20, text: text() },
            SqlType::Text { bytes_max: 255, text: text() },
            SqlType::Binary { bytes: 20 },
            SqlType::VarBinary { bytes: 20 },
            SqlType::json(),
        ]
    }

    #[test]
    fn what_is_plain_is_what_any_conversion_gives() {
        let charsets = [
            Charset::Binary,
            Charset::Ascii,
            Charset::Latin1,
            Charset::Utf8mb3,
            Charset::Utf8mb4,
            Charset::Ucs2,
            Charset::Utf16,
        ];
        let texts = ["", " ", "a", "a ", "  a  ", "0123456789abcdefghij", "\u{0}\u{7f}", "\u{e9}x"];
        let mut plain_count = 0;
        let pairs = || charsets.iter().flat_map(|file| charsets.map(|column| (*file, column)));
        let of_mysql = pairs().map(|pair| (pair, Habits::MYSQL));
        for ((file, column), habits) in
            pairs().map(|pair| (pair, Habits::default())).chain(of_mysql)
        {
            let options =
                ConvertOptions { file_charset: file, habits, ..ConvertOptions::default() };
            for sql_type in types(column) {
                let mut converter = Converter::new("c", &sql_type, &options).unwrap();
                let Some(plain) = converter.plain_text() else { continue };
                for text in texts.map(str::as_bytes).into_iter().chain([&b"\xff\x80"[..]]) {
                    if text.len() > plain.bytes_max || !(plain.any_byte || text.is_ascii()) {
                        continue;
                    }
                    let mut expected = text.to_vec();
                    expected.resize(text.len().max(plain.padded_bytes), plain.pad);
                    let mut stored = Vec::new();
                    let converted = converter.convert(text, &mut stored);
                    let what = format!("{sql_type} of {} {text:?}", file.name());
                    assert_eq!((converted, stored), (Ok(()), expected), "{what}");
                    plain_count += 1;
                }
            }
        }
        assert!(plain_count > 1_000, "{plain_count}");
    }
}
