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

/// A table's name as the first word of an exported file's name. Characters with a meaning in such names, or that no
/// file name may have, are spelled as the server does; others stay.
pub fn stem_of_table(table: &str) -> String {
    let is_special = |c: char| matches!(c, '\0'..='\x1f' | '/' | '.');
    if !table.contains(is_special) && table_of_stem(table) == table {
        return table.to_owned();
    }
    let spelled = |c: char| match c {
        c if is_special(c) || c == '@' => format!("@{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    table.chars().map(spelled).collect()
}

/// The table's name again: `@002e` is a dot, `@002f` a slash, `@0040` the sign itself. Other codes stay, since files of
/// other programs may have numbers there.
pub fn table_of_stem(stem: &str) -> String {
    let (mut table, mut rest) = (String::with_capacity(stem.len()), stem);
    while let Some(at) = rest.find('@') {
        let (before, code) = rest.split_at(at);
        let decoded = code.get(1..5).and_then(|digits| match digits {
            "002e" => Some('.'),
            "002f" => Some('/'),
            "0040" => Some('@'),
            _ => None,
        });
        table.push_str(before);
        table.push(decoded.unwrap_or('@'));
        rest = &code[if decoded.is_some() { 5 } else { 1 }..];
    }
    table + rest
}

/// The name that a file's name stands for; None if it has letters beyond ASCII, which have codes of
/// their own. Source: `strings/ctype-utf8.c`, `my_mb_wc_filename`.
pub fn name_of_file(name: &[u8]) -> Option<Vec<u8>> {
    let name = name.strip_suffix(b"@@@").unwrap_or(name);
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'@' {
            plain.push(byte);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(4)?;
        let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        plain.push(u8::try_from(code).ok().filter(u8::is_ascii)?);
        rest = tail;
    }
    Some(plain)
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

    #[test]
    fn tables_have_the_names_of_their_files() {
        for (table, stem) in [
            ("orders", "orders"),
            ("a b-c%", "a b-c%"),
            ("../x", "@002e@002e@002fx"),
            ("w\u{f6}rd/x@1", "w\u{f6}rd@002fx@00401"),
            // `orders.0001.csv` is the first part of the table `orders`, `a.b.csv` is table `b` of database `a`.
            ("orders.0001", "orders@002e0001"),
            ("a.b", "a@002eb"),
            ("a@b", "a@b"),
            ("a@002eb", "a@0040002eb"),
        ] {
            assert_eq!(stem_of_table(table), stem);
            assert_eq!(table_of_stem(stem), table);
        }
        for plain in [
            "sold@2024",
            "no@0012",
            "a@002d1",
            "a@0041",
            "a@00fc",
            "a@002",
            "@",
            "a@002E",
            "@\u{fc}00",
        ] {
            assert_eq!(table_of_stem(plain), plain);
        }
    }

    #[test]
    fn names_of_files_are_the_servers() {
        assert_eq!(name_of_file(b"a@002db@0060").as_deref(), Some(b"a-b`".as_slice()));
        assert_eq!(name_of_file(b"con@@@").as_deref(), Some(b"con".as_slice()));
        assert_eq!(name_of_file(b"x@1s"), None);
        assert_eq!(name_of_file(b"x@8868"), None);
    }
}
