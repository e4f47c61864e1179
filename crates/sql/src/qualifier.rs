//! Names of databases before a dot, in whatever statement.
//!
//! ```text
//! CREATE VIEW v AS SELECT `shop`.`t`.`a`, `shop`.`f`(1) FROM `shop`.`t` JOIN x ON `x`.`a` = 1
//!                         ^^^^^^          ^^^^^^             ^^^^^^              a table's
//! ```
//!
//! `a`.`b` may be a table of a database or a column of a table. A name that stands alone nowhere in
//! the statement is nobody's alias and no table asked for, so it is a database's; otherwise the
//! clause says which it is.

use std::borrow::Cow;

use crate::name::quoted;
use crate::syntax::Syntax;
use crate::token::{Token, TokenKind, Tokens};

/// Words behind which tables, routines and the like are named.
const BEFORE_OBJECTS: [&str; 17] = [
    "FROM",
    "JOIN",
    "STRAIGHT_JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "TABLES",
    "VIEW",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "EVENT",
    "SEQUENCE",
    "REFERENCES",
    "CALL",
    "LIKE",
    "TO",
];

/// Words behind which columns are named.
const BEFORE_COLUMNS: [&str; 11] =
    ["SELECT", "WHERE", "ON", "SET", "BY", "HAVING", "USING", "VALUES", "VALUE", "AND", "OR"];

/// `text` with `into` in place of `databases` wherever they qualify a name, or are named in ALTER
/// DATABASE and the like.
pub fn replace_databases<'a>(
    text: &'a [u8],
    databases: &[Vec<u8>],
    into: &[u8],
    syntax: Syntax,
) -> Cow<'a, [u8]> {
    let is_there = |name: &Vec<u8>| !name.is_empty() && memchr::memmem::find(text, name).is_some();
    if !databases.iter().any(is_there) {
        return Cow::Borrowed(text);
    }
    let pieces = pieces(text, syntax);
    let statement = Words { text, pieces: &pieces };
    let mut rewritten = Vec::with_capacity(text.len());
    let mut done = 0;
    let mut is_of_objects = false;
    for (index, piece) in pieces.iter().enumerate() {
        if let Some(objects) = statement.begins(index) {
            is_of_objects = objects;
        }
        let Some(name) = statement.name(index) else { continue };
        if !databases.iter().any(|database| *name == **database)
            || !statement.is_database(index, &name, is_of_objects)
        {
            continue;
        }
        rewritten.extend_from_slice(&text[done..piece.place.start]);
        // Two quoted names side by side would be one, with a backquote in it.
        if rewritten.ends_with(b"`") {
            rewritten.push(b' ');
        }
        rewritten.extend_from_slice(&quoted(into));
        done = piece.place.end;
        if text[done..].starts_with(b"`") {
            rewritten.push(b' ');
        }
    }
    rewritten.extend_from_slice(&text[done..]);
    Cow::Owned(rewritten)
}

/// Names that qualify others in `text` and are databases, but none of these.
pub fn other_databases(text: &[u8], databases: &[Vec<u8>], syntax: Syntax) -> Vec<Vec<u8>> {
    let pieces = pieces(text, syntax);
    let statement = Words { text, pieces: &pieces };
    let mut is_of_objects = false;
    let mut found = Vec::new();
    for index in 0..pieces.len() {
        if let Some(objects) = statement.begins(index) {
            is_of_objects = objects;
        }
        let Some(name) = statement.name(index) else { continue };
        let is_other = statement.is_symbol(index + 1, b'.')
            && !databases.iter().any(|database| *name == **database)
            && statement.is_database(index, &name, is_of_objects);
        if is_other && !found.contains(&name.to_vec()) {
            found.push(name.into_owned());
        }
    }
    found
}

/// The pieces of a statement. A variable is one, and so are an `@` and the host behind it: nothing in
/// them is a name here.
fn pieces(text: &[u8], syntax: Syntax) -> Vec<Token<'_>> {
    let mut pieces: Vec<Token<'_>> = Vec::new();
    for token in Tokens::of_any_server(text, syntax) {
        let is_part = matches!(token.kind, TokenKind::Word(_) | TokenKind::Sign(b'@' | b'.'));
        match pieces.last_mut() {
            Some(last) if last.is_sign(b'@') && is_part && last.place.end == token.place.start => {
                last.place.end = token.place.end;
            }
            _ => pieces.push(token),
        }
    }
    pieces
}

struct Words<'a> {
    text: &'a [u8],
    pieces: &'a [Token<'a>],
}

impl Words<'_> {
    fn at(&self, index: usize) -> Option<&Token<'_>> {
        self.pieces.get(index)
    }

    fn is_word(&self, index: usize, words: &[&str]) -> bool {
        self.at(index).is_some_and(|one| words.iter().any(|word| one.is(word)))
    }

    fn is_symbol(&self, index: usize, symbol: u8) -> bool {
        self.at(index).is_some_and(|one| one.is_sign(symbol))
    }

    /// The name there: also one in double quotes before a dot, which no string has behind it.
    fn name(&self, index: usize) -> Option<Cow<'_, [u8]>> {
        match &self.at(index)?.kind {
            TokenKind::Text(text) if text.starts_with(b"\"") && self.is_symbol(index + 1, b'.') => {
                let ansi = Syntax { ansi_quotes: true, ..Syntax::default() };
                Tokens::of_any_server(text, ansi).next()?.name()
            }
            _ => self.at(index)?.name(),
        }
    }

    /// The kind of name in a clause that begins here; None if none does.
    fn begins(&self, index: usize) -> Option<bool> {
        // The table of a trigger.
        let is_event = index > 0 && self.is_word(index - 1, &["INSERT", "UPDATE", "DELETE"]);
        if self.is_word(index, &BEFORE_OBJECTS) || (is_event && self.is_word(index, &["ON"])) {
            return Some(true);
        }
        self.is_word(index, &BEFORE_COLUMNS).then_some(false)
    }

    fn is_database(&self, index: usize, name: &[u8], is_of_objects: bool) -> bool {
        let is_part = index > 0 && self.is_symbol(index - 1, b'.');
        if is_part {
            return false;
        }
        if !self.is_symbol(index + 1, b'.') {
            return self.is_named_database(index);
        }
        let has_third = self.is_symbol(index + 3, b'.');
        let is_all = self.is_symbol(index + 2, b'*');
        let is_called = self.is_symbol(index + 3, b'(');
        let begins_objects = index > 0 && self.begins(index - 1) == Some(true);
        if has_third || begins_objects || (is_called && !is_of_objects) {
            return true;
        }
        let stands_alone = (0..self.pieces.len()).any(|other| self.stands_alone(other, name));
        !stands_alone || (is_of_objects && !is_all)
    }

    /// True if the name is a table's, a column's or an alias there: no account's, and not behind
    /// DATABASE.
    fn stands_alone(&self, index: usize, name: &[u8]) -> bool {
        let is_it = self.name(index).is_some_and(|found| *found == *name);
        let is_account =
            self.at(index + 1).is_some_and(|next| self.text[next.place.clone()].starts_with(b"@"));
        is_it && !self.is_symbol(index + 1, b'.') && !is_account && !self.is_named_database(index)
    }

    /// True if it stands behind DATABASE or SCHEMA.
    fn is_named_database(&self, index: usize) -> bool {
        let mut before = index;
        while before > 0 && self.is_word(before - 1, &["IF", "NOT", "EXISTS"]) {
            before -= 1;
        }
        before > 0 && self.is_word(before - 1, &["DATABASE", "SCHEMA"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn into_x(text: &str) -> String {
        let databases = [b"shop".to_vec(), b"o`d".to_vec()];
        String::from_utf8_lossy(&replace_databases(
            text.as_bytes(),
            &databases,
            b"x",
            Syntax::default(),
        ))
        .into_owned()
    }

    #[test]
    fn databases_are_replaced_wherever_they_qualify() {
        for (text, wanted) in [
            (
                "CREATE DEFINER=`shop`@`%` VIEW `shop`.`v` AS select `shop`.`t`.`a` AS `a` from \
                 (`shop`.`t` join `o``d`.`u` on(`shop`.`t`.`a` = `u`.`a`))",
                "CREATE DEFINER=`shop`@`%` VIEW `x`.`v` AS select `x`.`t`.`a` AS `a` from \
                 (`x`.`t` join `x`.`u` on(`x`.`t`.`a` = `u`.`a`))",
            ),
            (
                "CREATE TRIGGER shop.tr BEFORE INSERT ON shop.t FOR EACH ROW SET NEW.a = shop.f(1)",
                "CREATE TRIGGER `x`.tr BEFORE INSERT ON `x`.t FOR EACH ROW SET NEW.a = `x`.f(1)",
            ),
            (
                "ALTER DATABASE `shop` CHARACTER SET latin1",
                "ALTER DATABASE `x` CHARACTER SET latin1",
            ),
            ("a int DEFAULT nextval(`shop`.`sq`)", "a int DEFAULT nextval(`x`.`sq`)"),
            ("GRANT ALL ON shop.* TO shop@localhost", "GRANT ALL ON `x`.* TO shop@localhost"),
            (
                "INSERT INTO \"shop\".\"t\" VALUES ('shop.t', \"shop.t\")",
                "INSERT INTO `x`.\"t\" VALUES ('shop.t', \"shop.t\")",
            ),
            ("call`shop`.p(`shop`shop.f())", "call`x`.p(`shop` `x`.f())"),
            ("FOREIGN KEY (a) REFERENCES shop . t (a)", "FOREIGN KEY (a) REFERENCES `x` . t (a)"),
        ] {
            assert_eq!(into_x(text), wanted);
        }
    }

    #[test]
    fn tables_and_aliases_of_the_same_name_are_told_apart() {
        for (text, wanted) in [
            (
                "select shop.id from shop where shop.id = 1",
                "select shop.id from shop where shop.id = 1",
            ),
            (
                "select s.a, shop.id from shop.t shop join shop.u s on shop.id = s.id",
                "select s.a, shop.id from `x`.t shop join `x`.u s on shop.id = s.id",
            ),
            (
                "select shop.shop.id, shop.f(1), shop.id from shop.shop",
                "select `x`.shop.id, `x`.f(1), shop.id from `x`.shop",
            ),
            ("select shop.* from t AS shop", "select shop.* from t AS shop"),
            ("select t.shop from t", "select t.shop from t"),
        ] {
            assert_eq!(into_x(text), wanted);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_keeps_all_but_databases(
            text in proptest::collection::vec(
                proptest::sample::select(vec!["shop", ".", " ", "`shop`", "from ", "'", "t", "("]),
                0..20),
        ) {
            let text = text.concat();
            let once = into_x(&text);
            proptest::prop_assert_eq!(&into_x(&once), &once);
            let others = |text: &str| {
                let names = ["`x`", "`shop`", "shop", " "];
                names.into_iter().fold(text.to_owned(), |text, name| text.replace(name, ""))
            };
            proptest::prop_assert_eq!(others(&once), others(&text));
        }
    }
}
