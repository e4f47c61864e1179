//! How the server spells names in file names.

mod letters;

use crate::error::Result;
use crate::identifier::quote_text;
use crate::session::Session;
use crate::version::Flavor;

/// Names that Windows keeps for devices: the server appends `@@@` to them in file names.
const DEVICE_NAMES: [&str; 5] = ["con", "prn", "aux", "nul", "clock$"];

/// The name of a database's folder or a table's files, as the server spells it.
///
/// ASCII letters, digits and `_` stand for themselves, other ASCII is `@` and four hex digits.
/// Letters of some other scripts have codes of their own: for those the server is asked. MySQL does not answer.
///
/// Source: MariaDB 10.11, strings/ctype-utf8.c `my_wc_mb_filename`, sql/sql_table.cc
/// `tablename_to_filename`.
pub fn filename(session: &mut Session, name: &str) -> Result<String> {
    if let Some(plain) = filename_ascii(name) {
        return Ok(plain);
    }
    if session.version().flavor == Flavor::MySql {
        return Ok(by_letters(name));
    }
    let sql =
        format!("SELECT CAST(CONVERT(_utf8mb4{} USING filename) AS BINARY)", quote_text(name));
    session.query_row(&sql)?.text(0)
}

/// [`filename`] without a server; None when the name holds a character outside ASCII.
pub fn filename_ascii(name: &str) -> Option<String> {
    name.is_ascii().then(|| by_letters(name))
}

/// [`filename`] by the codes that are known here.
fn by_letters(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match letters::code(c) {
            Some(code) => {
                out.push('@');
                out.push_str(code);
            }
            None if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            None => out.push_str(&format!("@{:04x}", u32::from(c))),
        }
    }
    if is_device(name) {
        out.push_str("@@@");
    }
    out
}

fn is_device(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let numbered = |prefix: &str| {
        lower.strip_prefix(prefix).is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'9']))
    };
    DEVICE_NAMES.contains(&lower.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_spell_what_is_not_a_letter() {
        assert_eq!(filename_ascii("lineitem_2").unwrap(), "lineitem_2");
        assert_eq!(filename_ascii("a-b c").unwrap(), "a@002db@0020c");
        assert_eq!(filename_ascii("CoM1").unwrap(), "CoM1@@@");
        assert_eq!(filename_ascii("\u{fc}"), None);
        assert_eq!(by_letters("t\u{fc}\u{16b}\u{4e2d}\u{ff5a}"), "t@1o@4m@4e2d@z@");
    }
}
