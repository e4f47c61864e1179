//! How servers spell names in file names.
//!
//! ASCII letters, digits and `_` stand for themselves, other ASCII is `@` and four hex digits. Letters of some other
//! scripts have codes of their own.
//!
//! Source: MariaDB 10.11, strings/ctype-utf8.c `my_wc_mb_filename`, sql/sql_table.cc
//! `tablename_to_filename`.

mod letters;

/// Names that Windows keeps for devices: the server appends `@@@` to them in file names.
const DEVICE_NAMES: [&str; 5] = ["con", "prn", "aux", "nul", "clock$"];

/// The name of a database's folder or a table's files; None when the name holds a character outside ASCII.
pub fn filename_ascii(name: &str) -> Option<String> {
    name.is_ascii().then(|| filename_by_letters(name))
}

/// The same by the codes of letters that are known here.
pub fn filename_by_letters(name: &str) -> String {
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
        assert_eq!(filename_by_letters("t\u{fc}\u{16b}\u{4e2d}\u{ff5a}"), "t@1o@4m@4e2d@z@");
    }
}
