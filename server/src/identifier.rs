//! Names and texts for SQL, and names as the server spells them in its data directory.

pub use schema::{TableName, quote_name};

use crate::error::Result;
use crate::session::Session;

/// A name in backquotes at the start of a text, and what follows.
pub(crate) fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text.strip_prefix('`')?;
    loop {
        let (part, after) = rest.split_once('`')?;
        name.push_str(part);
        match after.strip_prefix('`') {
            Some(more) => {
                name.push('`');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

/// A string literal. Right under any `sql_mode` without NO_BACKSLASH_ESCAPES, as our sessions are.
pub fn quote_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Names that Windows keeps for devices: the server appends `@@@` to them in file names.
const DEVICE_NAMES: [&str; 5] = ["con", "prn", "aux", "nul", "clock$"];

/// The name of a database's folder or a table's files, as the server spells it.
///
/// ASCII letters, digits and `_` stand for themselves, other ASCII is `@` and four hex digits.
/// Letters of some other scripts have codes of their own: for those the server is asked.
///
/// Source: MariaDB 10.11, strings/ctype-utf8.c `my_wc_mb_filename`, sql/sql_table.cc
/// `tablename_to_filename`.
pub fn filename(session: &mut Session, name: &str) -> Result<String> {
    if let Some(plain) = filename_ascii(name) {
        return Ok(plain);
    }
    let sql =
        format!("SELECT CAST(CONVERT(_utf8mb4{} USING filename) AS BINARY)", quote_text(name));
    session.query_row(&sql)?.text(0)
}

/// [`filename`] without a server; None when the name holds a character outside ASCII.
pub fn filename_ascii(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if !c.is_ascii() => return None,
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            c => out.push_str(&format!("@{:04x}", u32::from(c))),
        }
    }
    if is_device(name) {
        out.push_str("@@@");
    }
    Some(out)
}

fn is_device(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let numbered = |prefix: &str| {
        lower.strip_prefix(prefix).is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'9']))
    };
    DEVICE_NAMES.contains(&lower.as_str()) || numbered("com") || numbered("lpt")
}

/// 64 bits of a name, the same on every machine and version: FNV-1a.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_never_changes() {
        assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn literals_survive_quotes_and_backslashes() {
        assert_eq!(quote_text("it's \\ \0"), "'it''s \\\\ \\0'");
    }

    #[test]
    fn folder_names_spell_what_is_not_a_letter() {
        assert_eq!(filename_ascii("lineitem_2").unwrap(), "lineitem_2");
        assert_eq!(filename_ascii("a-b c").unwrap(), "a@002db@0020c");
        assert_eq!(filename_ascii("CoM1").unwrap(), "CoM1@@@");
        assert_eq!(filename_ascii("\u{fc}"), None);
    }
}
