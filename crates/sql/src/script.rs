//! A script that is at hand as a whole: its statements, and which table one makes.

use simd::Isa;

use crate::lexer::{Boundary, Lexer};
use crate::name::ObjectName;
use crate::syntax::{Comments, Syntax};
use crate::token::{Tokens, comment, is_version, line_comment};
use crate::words::Words;

/// The statements of a script, cut at semicolons; text before the first word of one is no part of
/// it. An unclosed construct at the end belongs to the last one.
pub fn statements(script: &[u8], syntax: Syntax) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), script);
    while !rest.is_empty() {
        let (text, next) = statement_size(rest, syntax);
        found.push(without_blank(&rest[..text]));
        rest = &rest[next..];
    }
    found
}

/// Bytes of the first statement, without its semicolon and with it.
fn statement_size(script: &[u8], syntax: Syntax) -> (usize, usize) {
    let mut lexer = Lexer::new(syntax, b";", Isa::best());
    loop {
        match lexer.run(script, true) {
            Boundary::End { text, next } => return (text, next),
            Boundary::Command(at) => lexer.step_over(at),
            Boundary::More | Boundary::Open(_) => return (script.len(), script.len()),
        }
    }
}

/// A statement without space and comments around it. Text in `/*! .. */` is for the server.
fn without_blank(text: &[u8]) -> &[u8] {
    let mut rest = text.trim_ascii();
    loop {
        let size = match rest {
            [b'/', b'*', behind @ ..] if !is_version(behind) => {
                comment(behind, false).map_or(rest.len(), |size| 2 + size)
            }
            _ => match line_comment(rest) {
                Some(size) => size,
                None => return rest,
            },
        };
        rest = rest[size..].trim_ascii_start();
    }
}

/// The table that `CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name ..` makes; None for everything
/// else.
pub fn made_table(statement: &[u8], syntax: Syntax) -> Option<ObjectName> {
    let mut words = Words::new(Tokens::of_any_server(statement, syntax));
    if !words.accept("CREATE") {
        return None;
    }
    if words.accept("OR") && !words.accept("REPLACE") {
        return None;
    }
    if !words.accept("TABLE") {
        return None;
    }
    words.if_not_exists();
    words.object()
}

/// The table that `ALTER TABLE [IF EXISTS] name ..` changes, outside of version comments; None for
/// everything else, and where it only has indexes wait or go on (`DISABLE KEYS`).
pub fn altered_table(statement: &[u8], syntax: Syntax) -> Option<ObjectName> {
    let comments = Comments { mariadb: true, version: 0 };
    let mut words = Words::new(Tokens::new(statement, syntax, comments));
    if !words.accept("ALTER") {
        return None;
    }
    while words.accept("ONLINE") || words.accept("IGNORE") {}
    if !words.accept("TABLE") {
        return None;
    }
    if words.accept("IF") && !words.accept("EXISTS") {
        return None;
    }
    let table = words.object()?;
    let waits = (words.accept("DISABLE") || words.accept("ENABLE")) && words.accept("KEYS");
    (!waits).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(script: &str) -> Vec<String> {
        let found = statements(script.as_bytes(), Syntax::default());
        found.into_iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }

    #[test]
    fn a_script_is_cut_at_semicolons_that_are_some() {
        let cases: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("a", &["a"]),
            (" a ; b;\n", &["a", "b", ""]),
            ("a ';' \";\" `;` b; c", &["a ';' \";\" `;` b", "c"]),
            ("-- x;\na # ;\n b /* ; */ c;d", &["a # ;\n b /* ; */ c", "d"]),
            ("/*!40101 SET x */; y", &["/*!40101 SET x */", "y"]),
            ("/* x */ /*M! a */; 'open;", &["/*M! a */", "'open;"]),
            ("\\! ls; b", &["\\! ls", "b"]),
        ];
        for (script, expected) in cases {
            assert_eq!(cut(script), expected, "{script}");
        }
    }

    #[test]
    fn a_statement_says_which_table_it_makes() {
        let made = |text: &str| {
            let name = made_table(text.as_bytes(), Syntax::default())?;
            let parts = name.database.into_iter().chain([name.name]);
            let parts = parts.map(|part| String::from_utf8_lossy(&part).into_owned());
            Some(parts.collect::<Vec<_>>().join("."))
        };
        for text in [
            "CREATE TABLE d.t (a INT)",
            "create or replace table `d`.`t`(a INT)",
            "CREATE /* x */ TABLE -- y\n if not exists d . t LIKE u",
            "/*!50001 CREATE TABLE `d`.`t` (a INT) */",
        ] {
            assert_eq!(made(text).as_deref(), Some("d.t"), "{text}");
        }
        for text in ["", "CREATE VIEW t AS SELECT 1", "CREATE TABLET (a INT)", "CREATE OR t"] {
            assert_eq!(made(text), None, "{text}");
        }
    }

    #[test]
    fn a_statement_says_which_table_it_changes() {
        let altered = |text: &str| {
            let name = altered_table(text.as_bytes(), Syntax::default())?;
            Some(String::from_utf8_lossy(&name.name).into_owned())
        };
        for text in [
            "ALTER TABLE t ADD KEY (a), ADD FOREIGN KEY (a) REFERENCES u (a)",
            "alter online ignore table if exists `d`.`t` DROP COLUMN a",
        ] {
            assert_eq!(altered(text).as_deref(), Some("t"), "{text}");
        }
        for text in [
            "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
            "ALTER TABLE t ENABLE KEYS",
            "ALTER DATABASE t CHARACTER SET utf8mb4",
            "CREATE TABLE t (a INT)",
        ] {
            assert_eq!(altered(text), None, "{text}");
        }
    }
}
