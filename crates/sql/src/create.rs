//! CREATE TABLE under another name, with its foreign keys or without.
//!
//! ```text
//! CREATE TABLE [IF NOT EXISTS] `t` (        the name: replaced
//!   `a` int .., KEY `k` (`a`),              kept as it stands
//!   CONSTRAINT `f` FOREIGN KEY (`a`) ..     kept, or taken out for ALTER TABLE .. ADD
//! ) ENGINE=InnoDB ..                        kept
//! ```
//!
//! The text stays what it is byte for byte but for these two places: what this does not
//! understand, it does not change, and says so ([`Unread`]), and the table is then made as the
//! dump says it.
//!
//! A foreign key makes an index of its columns where the statement has none. Where that is so, a
//! plain KEY of the same name takes its place, so that the table's indexes are in the same order.
//! Source: MariaDB 10.11, sql/sql_table.cc, `mysql_prepare_create_table_finalize`.

use std::borrow::Cow;

use crate::foreign_key::{ForeignKey, Parent};
use crate::lexer::Inside;
use crate::name::quoted;
use crate::syntax::{Comments, Syntax};
use crate::token::{Token, TokenKind, Tokens};

/// Why the text of a CREATE TABLE is left as it is, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread(pub &'static str);

/// A CREATE TABLE taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTable {
    /// Everything before the name.
    before: Vec<u8>,
    /// Everything after it, without foreign keys.
    after: Vec<u8>,
    /// The same with them, as it stands.
    after_with_keys: Vec<u8>,
    /// True if the name stands there with its database.
    pub is_qualified: bool,
    /// `ENGINE=`, where it is said, in lower case.
    pub engine: Option<String>,
    /// The foreign keys that were taken out.
    pub keys: Vec<ForeignKey>,
}

impl CreateTable {
    /// Reads `CREATE TABLE name (..) ..`, of whose version comments a server runs those.
    ///
    /// Errors: [`Unread`] where the table cannot be made under another name and without its
    /// foreign keys by changing the text.
    pub fn read(text: &[u8], syntax: Syntax, comments: Comments) -> Result<CreateTable, Unread> {
        let all = closed(Tokens::new(text, syntax, comments))?;
        let mut at = Cursor { tokens: &all, next: 0 };
        while !at.word("TABLE") {
            at.step().ok_or(Unread("the statement is not a CREATE TABLE"))?;
        }
        if at.word("IF") && !(at.word("NOT") && at.word("EXISTS")) {
            return Err(Unread("IF is not followed by NOT EXISTS"));
        }
        let start = at.here().ok_or(Unread("the statement contains no table name"))?.place.start;
        let (database, _) = at.qualified()?;
        let end = at.before();
        if !at.sign(b'(') {
            return Err(Unread("the statement does not list the table's columns"));
        }
        let elements = at.elements()?;
        let engine = engine(&mut at);
        let (after, keys) = without_keys(text, end, &elements)?;
        Ok(CreateTable {
            before: text[..start].to_vec(),
            after,
            after_with_keys: text[end..].to_vec(),
            is_qualified: database.is_some(),
            engine,
            keys,
        })
    }

    /// True if it is written in ASCII alone.
    pub fn is_ascii(&self) -> bool {
        self.before.is_ascii()
            && self.after.is_ascii()
            && self.keys.iter().all(ForeignKey::is_ascii)
    }

    /// The statement with another name, `name` being quoted, and without foreign keys.
    pub fn named(&self, name: &str) -> Vec<u8> {
        [&self.before, name.as_bytes(), &self.after].concat()
    }

    /// The same with its foreign keys.
    pub fn named_with_keys(&self, name: &str) -> Vec<u8> {
        [&self.before, name.as_bytes(), &self.after_with_keys].concat()
    }
}

/// Errors: a quote or comment that is not closed.
pub(crate) fn tokens(text: &[u8], syntax: Syntax) -> Result<Vec<Token<'_>>, Unread> {
    closed(Tokens::of_any_server(text, syntax))
}

fn closed(mut tokens: Tokens<'_>) -> Result<Vec<Token<'_>>, Unread> {
    let all = tokens.by_ref().collect();
    match tokens.open() {
        None => Ok(all),
        Some(Inside::Quotes(_)) => Err(Unread("a quote is not closed")),
        Some(_) => Err(Unread("a comment is not closed")),
    }
}

/// One of what is listed between the parentheses: a column, a key, a constraint.
pub(crate) struct Element<'a> {
    pub(crate) tokens: &'a [Token<'a>],
    /// Where its comma, or the closing parenthesis, is.
    end: usize,
}

/// The text from the end of the name to its end, without foreign keys.
fn without_keys(
    text: &[u8],
    name_end: usize,
    elements: &[Element<'_>],
) -> Result<(Vec<u8>, Vec<ForeignKey>), Unread> {
    let mut indexed = Vec::new();
    for element in elements {
        indexed.extend(index_columns(element.tokens));
    }
    let (mut keys, mut made): (Vec<ForeignKey>, Vec<Vec<Vec<u8>>>) = (Vec::new(), Vec::new());
    let (mut out, mut copied) = (Vec::new(), name_end);
    for (index, element) in elements.iter().enumerate() {
        let Some(key) = foreign_key(text, element.tokens)? else {
            refuse_hidden_key(element.tokens)?;
            continue;
        };
        let first = element.tokens.first().map_or(element.end, |token| token.place.start);
        let last = element.tokens.last().map_or(element.end, |token| token.place.end);
        let is_covered = indexed.iter().any(|columns| key.key.is_served_by(columns));
        if is_covered {
            // With the comma before it.
            let before = index.checked_sub(1).ok_or(Unread(
                "the definition begins with a foreign \
                                                            key",
            ))?;
            out.extend_from_slice(&text[copied..elements[before].end]);
            copied = last;
        } else {
            let columns = &key.key.columns;
            if made.iter().any(|other| other.first() == columns.first()) {
                return Err(Unread("two foreign keys without an index begin with the same column"));
            }
            made.push(columns.clone());
            out.extend_from_slice(&text[copied..first]);
            out.extend_from_slice(&key.plain_key());
            copied = last;
        }
        keys.push(key.key);
    }
    out.extend_from_slice(&text[copied..]);
    Ok((out, keys))
}

/// A foreign key and the index it needs.
pub(crate) struct ParsedKey {
    pub(crate) key: ForeignKey,
    /// Name of the index that the server would make: that of the constraint, of the key, or none.
    index: Option<Vec<u8>>,
}

impl ParsedKey {
    fn plain_key(&self) -> Vec<u8> {
        let mut out = b"KEY ".to_vec();
        if let Some(name) = &self.index {
            out.extend_from_slice(&quoted(name));
            out.push(b' ');
        }
        let columns: Vec<Vec<u8>> = self.key.columns.iter().map(|name| quoted(name)).collect();
        out.push(b'(');
        out.extend_from_slice(&columns.join(&b","[..]));
        out.push(b')');
        out
    }
}

/// `[CONSTRAINT [symbol]] FOREIGN KEY [IF NOT EXISTS] [name] (..) REFERENCES t (..) ..`.
pub(crate) fn foreign_key(text: &[u8], element: &[Token<'_>]) -> Result<Option<ParsedKey>, Unread> {
    let mut at = Cursor { tokens: element, next: 0 };
    let mut symbol = None;
    if at.word("CONSTRAINT") && !at.is_word("FOREIGN") {
        symbol = Some(at.name()?);
    }
    if !at.word("FOREIGN") {
        return Ok(None);
    }
    if element.iter().any(|token| token.is_versioned) {
        return Err(Unread("a foreign key is in a version comment"));
    }
    if !at.word("KEY") {
        return Err(Unread("FOREIGN is not followed by KEY"));
    }
    if at.is_word("IF") {
        return Err(Unread("a foreign key has IF NOT EXISTS"));
    }
    let name = if at.is_sign(b'(') { None } else { Some(at.name()?) };
    let columns = at.columns()?;
    if !at.word("REFERENCES") {
        return Err(Unread("a foreign key has no REFERENCES"));
    }
    let before = at.next;
    let (database, table) = at.qualified()?;
    let head = render(text, &element[..before])?;
    let tail = render(text, &element[at.next..])?;
    let utf8 = |bytes: Vec<u8>| {
        String::from_utf8(bytes).map_err(|_| Unread("a name in a foreign key is not UTF-8"))
    };
    let parent = Parent { database: database.map(utf8).transpose()?, table: utf8(table)? };
    let constraint = symbol.clone().map(utf8).transpose()?;
    let key = ForeignKey { name: constraint, head, parent, tail, columns };
    Ok(Some(ParsedKey { key, index: symbol.or(name) }))
}

/// A column can refer to another table too, and a foreign key stand where this does not look.
fn refuse_hidden_key(element: &[Token<'_>]) -> Result<(), Unread> {
    let hides =
        |token: &Token<'_>| token.is("REFERENCES") || token.is("FOREIGN") && token.is_versioned;
    match element.iter().any(hides) {
        true => Err(Unread("a foreign key is defined inside a column's definition")),
        false => Ok(()),
    }
}

/// The columns of the indexes that a key, or a column, makes.
pub(crate) fn index_columns(element: &[Token<'_>]) -> Option<Vec<Vec<u8>>> {
    let mut at = Cursor { tokens: element, next: 0 };
    if at.word("CONSTRAINT") && !["PRIMARY", "UNIQUE", "FOREIGN"].iter().any(|w| at.is_word(w)) {
        at.name().ok()?;
    }
    if at.is_word("FOREIGN") {
        return None;
    }
    let is_key = at.word("PRIMARY") || at.word("UNIQUE");
    if at.word("KEY") || at.word("INDEX") || is_key {
        while !at.is_sign(b'(') {
            at.step()?;
        }
        return at.columns().ok();
    }
    // A column: `a INT UNIQUE`, `a INT PRIMARY KEY`, `a INT KEY`.
    let name = at.name().ok()?;
    let rest = &element[at.next..];
    let has = |word: &str| rest.iter().any(|token| token.is(word));
    (has("UNIQUE") || has("KEY")).then(|| vec![name])
}

/// `ENGINE [=] name` of the table's options; of partitions it is the same.
fn engine(at: &mut Cursor<'_>) -> Option<String> {
    loop {
        if at.word("ENGINE") || at.word("TYPE") {
            at.sign(b'=');
            let name = at.name().ok()?;
            return Some(String::from_utf8_lossy(&name).to_ascii_lowercase());
        }
        at.step()?;
    }
}

/// Tokens as text for any `sql_mode`: names in backquotes, a space between all.
fn render(text: &[u8], tokens: &[Token<'_>]) -> Result<String, Unread> {
    let mut out = Vec::new();
    for token in tokens {
        if !out.is_empty() {
            out.push(b' ');
        }
        match &token.kind {
            TokenKind::Name(name) => out.extend_from_slice(&quoted(name)),
            _ => out.extend_from_slice(&text[token.place.clone()]),
        }
    }
    String::from_utf8(out).map_err(|_| Unread("a foreign key is not UTF-8"))
}

/// A place among tokens.
pub(crate) struct Cursor<'a> {
    tokens: &'a [Token<'a>],
    pub(crate) next: usize,
}

impl<'a> Cursor<'a> {
    /// Before the first of them.
    pub(crate) fn new(tokens: &'a [Token<'a>]) -> Cursor<'a> {
        Cursor { tokens, next: 0 }
    }

    pub(crate) fn here(&self) -> Option<&'a Token<'a>> {
        self.tokens.get(self.next)
    }

    /// Where the token before this place ends.
    pub(crate) fn before(&self) -> usize {
        self.next.checked_sub(1).map_or(0, |last| self.tokens[last].place.end)
    }

    pub(crate) fn step(&mut self) -> Option<&'a Token<'a>> {
        let token = self.here()?;
        self.next += 1;
        Some(token)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.here().is_some_and(|token| token.is(word))
    }

    pub(crate) fn word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.next += usize::from(is);
        is
    }

    pub(crate) fn is_sign(&self, byte: u8) -> bool {
        self.here().is_some_and(|token| token.is_sign(byte))
    }

    pub(crate) fn sign(&mut self, byte: u8) -> bool {
        let is = self.is_sign(byte);
        self.next += usize::from(is);
        is
    }

    fn name(&mut self) -> Result<Vec<u8>, Unread> {
        let token = self.step().ok_or(Unread("a name is missing"))?;
        token.name().map(Cow::into_owned).ok_or(Unread("a name is invalid"))
    }

    /// `name` or `db.name`.
    pub(crate) fn qualified(&mut self) -> Result<(Option<Vec<u8>>, Vec<u8>), Unread> {
        let first = self.name()?;
        if !self.sign(b'.') {
            return Ok((None, first));
        }
        Ok((Some(first), self.name()?))
    }

    /// `(a, b(10) DESC, ..)`: the names.
    pub(crate) fn columns(&mut self) -> Result<Vec<Vec<u8>>, Unread> {
        if !self.sign(b'(') {
            return Err(Unread("columns are not listed"));
        }
        let mut columns = vec![self.name()?];
        let mut depth = 1;
        while depth > 0 {
            let token = self.step().ok_or(Unread("a parenthesis is not closed"))?;
            match token.kind {
                TokenKind::Sign(b'(') => depth += 1,
                TokenKind::Sign(b')') => depth -= 1,
                TokenKind::Sign(b',') if depth == 1 => columns.push(self.name()?),
                _ => {}
            }
        }
        Ok(columns)
    }

    /// Everything up to the parenthesis that closes the one before us, split at commas.
    pub(crate) fn elements(&mut self) -> Result<Vec<Element<'a>>, Unread> {
        let (mut elements, mut depth, mut first) = (Vec::new(), 1, self.next);
        let all_versioned = self.tokens[..self.next].last().is_some_and(|t| t.is_versioned);
        loop {
            let at = self.next;
            let token = self.step().ok_or(Unread("a parenthesis is not closed"))?;
            match token.kind {
                TokenKind::Sign(b'(') => depth += 1,
                TokenKind::Sign(b')') => depth -= 1,
                TokenKind::Sign(b',') if depth == 1 => {}
                _ => continue,
            }
            let is_end = depth == 0;
            if is_end || token.is_sign(b',') && depth == 1 {
                if token.is_versioned != all_versioned {
                    return Err(Unread(
                        "a version comment (/*!) extends beyond a column's \
                                       definition",
                    ));
                }
                elements.push(Element { tokens: &self.tokens[first..at], end: token.place.start });
                first = self.next;
            }
            if is_end {
                return Ok(elements);
            }
        }
    }
}

#[cfg(test)]
mod tests;
