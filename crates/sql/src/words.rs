//! The words of a statement, one after the other.

use crate::name::ObjectName;
use crate::token::{Token, TokenKind, Tokens};

/// Words of a statement, one of them looked at.
pub(crate) struct Words<'a> {
    tokens: Tokens<'a>,
    peeked: Option<Token<'a>>,
    /// Byte behind the last word that was taken.
    end: usize,
    /// Byte behind the one that was looked at.
    peeked_end: usize,
}

impl<'a> Words<'a> {
    pub(crate) fn new(mut tokens: Tokens<'a>) -> Words<'a> {
        let peeked = tokens.next();
        let peeked_end = tokens.at();
        Words { tokens, peeked, end: 0, peeked_end }
    }

    pub(crate) fn next(&mut self) -> Option<TokenKind<'a>> {
        self.end = self.peeked_end;
        let taken = std::mem::replace(&mut self.peeked, self.tokens.next());
        self.peeked_end = self.tokens.at();
        taken.map(|token| token.kind)
    }

    /// Byte behind the last word that was taken.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// True if the last word is in a version comment.
    pub(crate) fn was_in_comment(&self) -> bool {
        self.peeked.as_ref().is_some_and(|token| token.is_versioned)
    }

    /// Byte up to which was looked.
    pub(crate) fn seen(&self) -> usize {
        self.peeked_end
    }

    pub(crate) fn peek(&self) -> Option<&TokenKind<'a>> {
        self.peeked.as_ref().map(|token| &token.kind)
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        self.peek().is_some_and(|token| token.is(word))
    }

    pub(crate) fn is_sign(&self, sign: u8) -> bool {
        self.peek() == Some(&TokenKind::Sign(sign))
    }

    /// Takes this word if it comes.
    pub(crate) fn accept(&mut self, word: &str) -> bool {
        let found = self.is(word);
        if found {
            self.next();
        }
        found
    }

    pub(crate) fn accept_sign(&mut self, sign: u8) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.next();
        }
        found
    }

    /// A name, in quotes or not.
    pub(crate) fn name(&mut self) -> Option<Vec<u8>> {
        let name = self.peeked.as_ref()?.name()?.into_owned();
        self.next();
        Some(name)
    }

    /// A name that a database may stand before.
    pub(crate) fn object(&mut self) -> Option<ObjectName> {
        let first = self.name()?;
        if !self.accept_sign(b'.') {
            return Some(ObjectName { database: None, name: first });
        }
        let name = self.name()?;
        Some(ObjectName { database: Some(first), name })
    }

    /// A name with nothing behind it.
    pub(crate) fn last_name(&mut self) -> Option<Vec<u8>> {
        let name = self.name()?;
        self.peek().is_none().then_some(name)
    }

    pub(crate) fn table_word(&mut self) -> Option<()> {
        (self.accept("TABLES") || self.accept("TABLE")).then_some(())
    }

    pub(crate) fn if_exists(&mut self) -> bool {
        self.accept("IF") && self.accept("EXISTS")
    }

    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.accept("IF") && self.accept("NOT") && self.accept("EXISTS")
    }
}
