//! Field options as they are typed, or a dialect by its name, to how a file is cut.

use std::path::Path;

use sources::{Dialect, Preset};
use terminal::failure::Failure;

use crate::args::FormatArgs;
use crate::input::FormatArg;

/// The preset that is meant, by options or ending.
pub(crate) fn preset(format: &FormatArgs, file: &Path) -> Preset {
    let by_ending = Preset::by_ending(file);
    match (format.format, format.dialect) {
        (Some(FormatArg::Jsonl), _) => Preset::JsonLines,
        (Some(FormatArg::Json), _) => Preset::Json,
        (Some(FormatArg::Parquet | FormatArg::Arrow), _) => Preset::Mysql,
        (_, Some(typed)) => typed.into(),
        (Some(FormatArg::Text), None) if by_ending.is_json() => Preset::Mysql,
        (_, None) => by_ending,
    }
}

pub(crate) fn dialect(format: &FormatArgs, first_file: &Path) -> Result<Dialect, Failure> {
    let meant = preset(format, first_file);
    let mut dialect = meant.dialect();
    if meant.is_json() {
        return match format.cuts_text() {
            false => Ok(dialect),
            true => Err(Failure::usage(format!(
                "--dialect, --header and the options of fields are for delimited text, but {} is read as JSON; \
                 --format text reads it as text",
                first_file.display()
            ))),
        };
    }
    if let Some(text) = &format.fields_terminated_by {
        dialect.fields_terminated_by = unescape(text);
    }
    if let Some(text) = &format.fields_enclosed_by {
        dialect.enclosed_by = one_byte("--fields-enclosed-by", text)?;
    }
    if let Some(text) = &format.fields_escaped_by {
        dialect.escaped_by = one_byte("--fields-escaped-by", text)?;
    }
    if let Some(text) = &format.lines_terminated_by {
        dialect.lines_terminated_by = unescape(text);
        // Only LF may also mean CRLF: other terminators are taken at their word.
        dialect.any_newline &= dialect.lines_terminated_by == b"\n";
    }
    if let Some(text) = &format.lines_starting_by {
        dialect.lines_starting_by = unescape(text);
    }
    dialect.null_tokens.extend(format.null_token.iter().map(|token| token.as_bytes().to_vec()));
    dialect.null_in_quotes = format.null_in_quotes;
    Ok(dialect)
}

fn one_byte(option: &str, text: &str) -> Result<Option<u8>, Failure> {
    match unescape(text).as_slice() {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        _ => Err(Failure::usage(format!("{option} {text:?} is more than one byte"))),
    }
}

/// Backslash sequences as in a LOAD DATA string, and `\x01` for a control character; a lone backslash stands for
/// itself.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        let left: Vec<u8> = rest.clone().take(3).collect();
        if byte == b'\\'
            && let [b'x', high @ (b'0' | b'1'), low] = left[..]
            && let Some(low) = char::from(low).to_digit(16)
        {
            bytes.push((high - b'0') * 16 + low as u8);
            rest.nth(2);
            continue;
        }
        let escaped =
            if byte == b'\\' { rest.next_if(|next| b"0bnrtZ\\'\"".contains(next)) } else { None };
        bytes.push(match escaped {
            Some(b'0') => 0,
            Some(b'b') => 8,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'Z') => 26,
            Some(other) => other,
            None => byte,
        });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_read_as_in_load_data() {
        assert_eq!(unescape("\\t"), b"\t");
        assert_eq!(unescape("\\r\\n"), b"\r\n");
        assert_eq!(unescape("\\"), b"\\");
        assert_eq!(unescape("\\\\"), b"\\");
        assert_eq!(unescape("||"), b"||");
        assert_eq!(unescape("\\x01\\x1f"), b"\x01\x1f");
        assert_eq!(unescape("\\x7\\x2"), b"\\x7\\x2");
    }
}
