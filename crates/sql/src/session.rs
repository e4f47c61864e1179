//! Settings of a dump that tell the session how to read its text.

use std::collections::HashMap;

use values::MultiByte;

use crate::assignments::{Assignments, Target};
use crate::syntax::{Comments, Syntax};
use crate::token::{TokenKind, Tokens};
use crate::words::Words;

/// Follows the SETs of a dump, as far as its own text tells their values: literals, and what was
/// put aside in a user variable.
#[derive(Clone, Debug)]
pub struct Session {
    /// How its text is read now.
    pub syntax: Syntax,
    /// By name in lower case.
    aside: HashMap<Vec<u8>, Syntax>,
}

impl Session {
    /// One that begins so.
    pub fn new(syntax: Syntax) -> Session {
        Session { syntax, aside: HashMap::new() }
    }

    /// Takes notice of a SET.
    pub fn follow(&mut self, text: &[u8], comments: Comments) {
        let mut words = Words::new(Tokens::new(text, self.syntax, comments));
        if !words.accept("SET") {
            return;
        }
        let mut assignments = Assignments::new(&mut words);
        // Every value is that of before the statement.
        let before = self.syntax;
        while let Some(Some(target)) = assignments.next() {
            let value = std::mem::take(&mut assignments.value);
            match target {
                Target::User(name) => self.put_aside(name, &value, before),
                Target::Session(name) => self.set(&name, &value, before),
            }
        }
    }

    /// `@a = @@sql_mode`, `@a = @@character_set_client`: what either is comes back by `@a`.
    fn put_aside(&mut self, name: Vec<u8>, value: &[TokenKind<'_>], before: Syntax) {
        if variable(value).is_some() {
            self.aside.insert(name.to_ascii_lowercase(), before);
        }
    }

    fn set(&mut self, name: &str, value: &[TokenKind<'_>], before: Syntax) {
        let source = match value {
            [TokenKind::Sign(b'@'), TokenKind::Word(user)] => {
                self.aside.get(&user.to_ascii_lowercase()).copied()
            }
            [TokenKind::Sign(b'@'), TokenKind::Name(user)] => {
                self.aside.get(&user.to_ascii_lowercase()).copied()
            }
            _ => variable(value).map(|_| before),
        };
        match (name, source) {
            ("sql_mode", Some(source)) => {
                self.syntax.no_backslash_escapes = source.no_backslash_escapes;
                self.syntax.ansi_quotes = source.ansi_quotes;
            }
            ("sql_mode", None) => self.set_mode(value),
            ("names" | "charset" | "character_set_client", Some(source)) => {
                self.syntax.characters = source.characters;
            }
            ("names" | "charset" | "character_set_client", None) => {
                if let [TokenKind::Word(name) | TokenKind::Text(name), ..] = value {
                    self.syntax.characters = characters(name);
                }
            }
            _ => {}
        }
    }

    /// Whatever the value is made of, the modes it names count: of an expression the caller learns
    /// from the server what came of it.
    fn set_mode(&mut self, value: &[TokenKind<'_>]) {
        let mut names: Vec<Vec<u8>> = Vec::new();
        for token in value {
            match token {
                TokenKind::Text(text) | TokenKind::Word(text) => {
                    let upper = text.to_ascii_uppercase();
                    let split = upper.split(|byte| matches!(byte, b',' | b'\'' | b'"'));
                    names.extend(split.map(|name| name.trim_ascii().to_vec()));
                }
                _ => {}
            }
        }
        let any = |modes: &[&str]| {
            names.iter().any(|name| modes.iter().any(|mode| mode.as_bytes() == name.as_slice()))
        };
        self.syntax.no_backslash_escapes = any(&["NO_BACKSLASH_ESCAPES"]);
        self.syntax.ansi_quotes = any(&ANSI_MODES);
    }
}

/// Modes that have ANSI_QUOTES among theirs. Source: `expand_sql_mode` in the server's
/// `sql/sys_vars.cc`.
const ANSI_MODES: [&str; 7] =
    ["ANSI_QUOTES", "ANSI", "DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL"];

/// The system variable that a value is, if it is just that.
fn variable<'t>(value: &'t [TokenKind<'_>]) -> Option<&'t [u8]> {
    match value {
        [TokenKind::Sign(b'@'), TokenKind::Sign(b'@'), TokenKind::Word(name)]
        | [
            TokenKind::Sign(b'@'),
            TokenKind::Sign(b'@'),
            TokenKind::Word(_),
            TokenKind::Sign(b'.'),
            TokenKind::Word(name),
        ] => Some(name),
        _ => None,
    }
}

fn characters(name: &[u8]) -> MultiByte {
    let name = String::from_utf8_lossy(name);
    let name = name.trim_matches(['\'', '"']);
    match MultiByte::of_charset(name) {
        // As far as quotes and backslashes go: its second bytes are digits, or those of gbk.
        MultiByte::None if name.eq_ignore_ascii_case("gb18030") => MultiByte::Gbk,
        // Of collations by number, as mariadb-binlog writes them.
        MultiByte::None => match name.parse() {
            Ok(1 | 84 | 1025 | 1108) => MultiByte::Big5,
            Ok(13 | 88 | 95 | 96 | 1037 | 1112 | 1119 | 1120) => MultiByte::Sjis,
            Ok(28 | 87 | 248..=250 | 1052 | 1111) => MultiByte::Gbk,
            _ => MultiByte::None,
        },
        found => found,
    }
}
