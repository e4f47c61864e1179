//! The parts of a SET.

use crate::token::TokenKind;
use crate::words::Words;

/// The target of one part of a SET.
pub(crate) enum Target {
    /// `@name`.
    User(Vec<u8>),
    /// A variable of the session, lower case; `names` and `charset` too.
    Session(String),
}

/// The parts of a SET, from behind the word on; None for one that is not only the session's.
pub(crate) struct Assignments<'w, 'a> {
    words: &'w mut Words<'a>,
    /// Words of the value of the last part.
    pub(crate) value: Vec<TokenKind<'a>>,
    started: bool,
    failed: bool,
}

impl<'w, 'a> Assignments<'w, 'a> {
    pub(crate) fn new(words: &'w mut Words<'a>) -> Assignments<'w, 'a> {
        Assignments { words, value: Vec::new(), started: false, failed: false }
    }

    fn target(&mut self) -> Option<Target> {
        let words = &mut *self.words;
        if words.accept_sign(b'@') {
            if !words.accept_sign(b'@') {
                let name = match words.next()? {
                    TokenKind::Word(name) => dotted(name.to_vec(), words),
                    TokenKind::Name(name) => name.into_owned(),
                    TokenKind::Text(text) => text.get(1..text.len().max(2) - 1)?.to_vec(),
                    TokenKind::Sign(_) => return None,
                };
                self.assigned()?;
                return Some(Target::User(name));
            }
            let first = lower(&words.name()?);
            let name = match first.as_str() {
                "session" | "local" if words.accept_sign(b'.') => lower(&words.name()?),
                "global" => return None,
                _ => first,
            };
            self.assigned()?;
            return Some(Target::Session(name));
        }
        if words.accept("NAMES") {
            return self.value_of("names");
        }
        let is_charset = words.accept("CHARSET")
            || ((words.accept("CHARACTER") || words.accept("CHAR")) && words.accept("SET"));
        if is_charset {
            return self.value_of("charset");
        }
        let _ = words.accept("SESSION") || words.accept("LOCAL");
        let name = lower(&words.name()?);
        // SET PASSWORD, ROLE, DEFAULT ROLE, TRANSACTION, STATEMENT, GLOBAL: no `=` behind it.
        let no_variable = matches!(name.as_str(), "password" | "global" | "persist");
        self.assigned()?;
        (!no_variable).then_some(Target::Session(name))
    }

    fn value_of(&mut self, name: &str) -> Option<Target> {
        self.take_value();
        Some(Target::Session(name.to_owned()))
    }

    /// `=` or `:=`, and the value.
    fn assigned(&mut self) -> Option<()> {
        self.words.accept_sign(b':');
        if !self.words.accept_sign(b'=') {
            return None;
        }
        self.take_value();
        Some(())
    }

    fn take_value(&mut self) {
        self.value.clear();
        let mut depth = 0_usize;
        while let Some(token) = self.words.peek() {
            match token {
                TokenKind::Sign(b'(') => depth += 1,
                TokenKind::Sign(b')') => depth = depth.saturating_sub(1),
                TokenKind::Sign(b',') if depth == 0 => return,
                _ => {}
            }
            self.value.extend(self.words.next());
        }
    }
}

impl Iterator for Assignments<'_, '_> {
    type Item = Option<Target>;

    fn next(&mut self) -> Option<Option<Target>> {
        if self.failed || (self.started && !self.words.accept_sign(b',')) {
            return None;
        }
        self.started = true;
        let target = self.target();
        self.failed = target.is_none();
        Some(target)
    }
}

/// The rest of a user variable's name: dots are letters in it.
fn dotted(mut name: Vec<u8>, words: &mut Words<'_>) -> Vec<u8> {
    while words.accept_sign(b'.') {
        name.push(b'.');
        if let Some(TokenKind::Word(more)) = words.peek() {
            name.extend_from_slice(more);
            words.next();
        }
    }
    name
}

fn lower(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_ascii_lowercase()
}
