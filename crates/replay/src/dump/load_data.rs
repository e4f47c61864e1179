//! LOAD DATA of a dump's own files, as far as dumps write it.

use std::borrow::Cow;

use sources::Dialect;
use sql::{Syntax, Token, TokenKind, Tokens};

use crate::dump::{Coding, FieldColumn, TableRows};
use crate::place::head;

/// A file that loads another one.
#[derive(Clone, Debug)]
pub(super) struct LoadData {
    /// Statements before it, which are all SET.
    pub(super) settings: Vec<Vec<u8>>,
    /// The file, as it is named.
    pub(super) file: Vec<u8>,
    /// Table, dialect and columns; no files yet.
    pub(super) rows: TableRows,
}

impl LoadData {
    /// Parses the text of such a file: SETs and one LOAD DATA.
    ///
    /// Errors: why it is no such text, as the end of a sentence.
    pub(super) fn parse(text: &[u8]) -> Result<LoadData, String> {
        let mut settings: Vec<Vec<u8>> = Vec::new();
        let mut syntax = Syntax::default();
        let mut rest = text;
        loop {
            let statement = first_statement(rest, syntax);
            let words = &rest[statement.clone()];
            let mut tokens = Tokens::of_any_server(words, syntax);
            let first = tokens.clone().next();
            if first.is_some_and(|one| one.is("SET")) {
                syntax = syntax_after(syntax, words);
                settings.push(words.trim_ascii().to_vec());
            } else {
                let pieces = tokens.by_ref().collect();
                let mut parser = Parser { text: words, syntax, pieces, at: 0 };
                let (file, rows) = parser.statement()?;
                let after = rest.get(statement.end + 1..).unwrap_or_default();
                return match Tokens::of_any_server(after, syntax).next() {
                    None => Ok(LoadData { settings, file, rows }),
                    Some(_) => Err("something follows the LOAD DATA".to_owned()),
                };
            }
            rest = rest.get(statement.end + 1..).unwrap_or_default();
        }
    }
}

/// Place of the first statement, its `;` left out. Ends of version comments stay in it.
fn first_statement(text: &[u8], syntax: Syntax) -> std::ops::Range<usize> {
    let mut pieces = Tokens::of_any_server(text, syntax);
    let end = pieces.find(|one| one.is_sign(b';'));
    0..end.map_or(text.len(), |one| one.place.start)
}

/// How text is read after a SET, if it is one of `sql_mode`.
fn syntax_after(syntax: Syntax, set: &[u8]) -> Syntax {
    let has = |word: &[u8]| set.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !has(b"SQL_MODE") {
        return syntax;
    }
    Syntax {
        ansi_quotes: has(b"ANSI_QUOTES"),
        no_backslash_escapes: has(b"NO_BACKSLASH_ESCAPES"),
        ..syntax
    }
}

struct Parser<'a> {
    text: &'a [u8],
    syntax: Syntax,
    pieces: Vec<Token<'a>>,
    at: usize,
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<(Vec<u8>, TableRows), String> {
        self.need("LOAD")?;
        self.need("DATA")?;
        self.word("LOCAL");
        self.need("INFILE")?;
        let file = self.string()?;
        if self.word("REPLACE") || self.word("IGNORE") {
            return Err("REPLACE and IGNORE are not what mydumper writes".to_owned());
        }
        self.need("INTO")?;
        self.need("TABLE")?;
        let table = self.name()?;
        let charset = if self.word("CHARACTER") {
            self.need("SET")?;
            let bytes = self.name()?;
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            // mydumper reads rows under SET NAMES binary: bytes as the columns have them.
            "binary".to_owned()
        };
        let dialect = self.dialect()?;
        let skip_lines = self.ignored_lines()?;
        let columns = self.columns()?;
        if self.at < self.pieces.len() {
            return Err(format!("{} is unexpected", self.seen()));
        }
        let rows = TableRows {
            table,
            files: Vec::new(),
            dialect,
            skip_lines,
            columns,
            charset,
            sql_mode: None,
            row_count: None,
        };
        Ok((file, rows))
    }

    fn dialect(&mut self) -> Result<Dialect, String> {
        let mut dialect = Dialect::mysql();
        if self.word("FIELDS") || self.word("COLUMNS") {
            loop {
                if self.word("TERMINATED") {
                    self.need("BY")?;
                    dialect.fields_terminated_by = self.string()?;
                } else if self.word("OPTIONALLY") {
                    dialect.optionally_enclosed = true;
                } else if self.word("ENCLOSED") {
                    dialect.enclosed_by = self.byte()?;
                } else if self.word("ESCAPED") {
                    dialect.escaped_by = self.byte()?;
                } else {
                    break;
                }
            }
        }
        if self.word("LINES") {
            loop {
                if self.word("STARTING") {
                    self.need("BY")?;
                    dialect.lines_starting_by = self.string()?;
                } else if self.word("TERMINATED") {
                    self.need("BY")?;
                    dialect.lines_terminated_by = self.string()?;
                } else {
                    break;
                }
            }
        }
        Ok(dialect)
    }

    fn ignored_lines(&mut self) -> Result<u64, String> {
        if !self.word("IGNORE") {
            return Ok(0);
        }
        let count = self.name()?;
        let count = std::str::from_utf8(&count).ok().and_then(|count| count.parse().ok());
        if !self.word("LINES") {
            self.need("ROWS")?;
        }
        count.ok_or_else(|| "IGNORE has no number of lines".to_owned())
    }

    /// `(a, @b) SET b = UNHEX(@b)`.
    fn columns(&mut self) -> Result<Option<Vec<FieldColumn>>, String> {
        if !self.symbol(b'(') {
            return Ok(None);
        }
        // What a field is called there, and the column it goes to.
        let mut fields: Vec<(Vec<u8>, FieldColumn)> = Vec::new();
        while !self.symbol(b')') {
            let variable = self.variable();
            let name = match &variable {
                Some(variable) => variable.clone(),
                None => self.name()?,
            };
            fields.push((name.clone(), FieldColumn { name, coding: Coding::Plain }));
            self.symbol(b',');
        }
        while self.word("SET") || self.symbol(b',') {
            let column = self.name()?;
            self.need_symbol(b'=')?;
            let (coding, variable) = self.decoded()?;
            let field = fields.iter_mut().find(|(name, _)| *name == variable);
            let Some((_, field)) = field else {
                return Err("SET uses a variable that is not a field".to_owned());
            };
            *field = FieldColumn { name: column, coding };
        }
        Ok(Some(fields.into_iter().map(|(_, column)| column).collect()))
    }

    /// `UNHEX(@b)`, `FROM_BASE64(@b)` or `CONVERT(@b USING utf8mb4)`, which changes nothing.
    fn decoded(&mut self) -> Result<(Coding, Vec<u8>), String> {
        let coding = if self.word("UNHEX") {
            Coding::Hex
        } else if self.word("FROM_BASE64") {
            Coding::Base64
        } else {
            self.need("CONVERT")?;
            Coding::Plain
        };
        self.need_symbol(b'(')?;
        let variable =
            self.variable().ok_or_else(|| format!("{} is not a variable", self.seen()))?;
        if coding == Coding::Plain {
            self.need("USING")?;
            self.name()?;
        }
        self.need_symbol(b')')?;
        Ok((coding, variable))
    }

    /// `@name`, the `@` kept. mydumper does not quote it, so it may be several pieces.
    fn variable(&mut self) -> Option<Vec<u8>> {
        let (first, rest) = self.pieces.get(self.at..)?.split_first()?;
        if !first.is_sign(b'@') {
            return None;
        }
        let mut end = first.place.end;
        self.at += 1;
        for one in rest {
            // Right behind the `@` it is a name, whatever the word.
            let is_using = one.is("USING") && one.place.start > first.place.end;
            if is_using || matches!(one.kind, TokenKind::Sign(b',' | b')')) {
                break;
            }
            end = one.place.end;
            self.at += 1;
        }
        Some(self.text[first.place.start..end].to_vec())
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.pieces.get(self.at).is_some_and(|one| one.is(word));
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, word: &str) -> Result<(), String> {
        if self.word(word) {
            Ok(())
        } else {
            Err(format!("{} where {word} is expected", self.seen()))
        }
    }

    fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.pieces.get(self.at).is_some_and(|one| one.is_sign(symbol));
        self.at += usize::from(found);
        found
    }

    fn need_symbol(&mut self, symbol: u8) -> Result<(), String> {
        if self.symbol(symbol) {
            return Ok(());
        }
        Err(format!("{} where {} is expected", self.seen(), char::from(symbol)))
    }

    fn name(&mut self) -> Result<Vec<u8>, String> {
        let name = self.pieces.get(self.at).and_then(Token::name).map(Cow::into_owned);
        let name = name.ok_or_else(|| format!("{} where a name is expected", self.seen()))?;
        self.at += 1;
        Ok(name)
    }

    fn string(&mut self) -> Result<Vec<u8>, String> {
        let value = self.pieces.get(self.at).and_then(|one| one.value(self.syntax));
        let value = value.ok_or_else(|| format!("{} where a string is expected", self.seen()))?;
        self.at += 1;
        Ok(value)
    }

    /// `BY 'x'`; an empty string is none.
    fn byte(&mut self) -> Result<Option<u8>, String> {
        self.need("BY")?;
        match self.string()?.as_slice() {
            [] => Ok(None),
            [byte] => Ok(Some(*byte)),
            _ => Err("a quote or an escape is more than one byte".to_owned()),
        }
    }

    fn seen(&self) -> String {
        match self.pieces.get(self.at) {
            None => "the end".to_owned(),
            Some(one) => format!("{:?}", head(&self.text[one.place.clone()])),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_mydumper_writes_is_read() {
        let text = b"/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n\
            /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO'*/;\n/*!40103 SET TIME_ZONE='+00:00' */;\n\
            LOAD DATA LOCAL INFILE 'db.t.00000.dat.zst' INTO TABLE `t``x` CHARACTER SET binary \
            FIELDS TERMINATED BY '\\t' ENCLOSED BY '' ESCAPED BY '\\\\' LINES STARTING BY '' \
            TERMINATED BY '\\n' IGNORE 1 LINES (`id`,@b,@j-x,`c`)SET `b`=UNHEX(@b),`j-x`=CONVERT(@j-x \
            USING UTF8MB4);\n";
        let load = LoadData::parse(text).unwrap();
        assert_eq!(load.settings.len(), 4);
        assert_eq!(load.settings[3], b"/*!40103 SET TIME_ZONE='+00:00' */");
        assert_eq!(load.file, b"db.t.00000.dat.zst");
        assert_eq!(load.rows.table, b"t`x");
        assert_eq!(load.rows.dialect, Dialect::mysql());
        assert_eq!((load.rows.skip_lines, load.rows.charset.as_str()), (1, "binary"));
        let columns: Vec<_> = load.rows.columns.unwrap();
        let names: Vec<_> = columns.iter().map(|one| one.name.as_slice()).collect();
        assert_eq!(names, [b"id".as_slice(), b"b", b"j-x", b"c"]);
        assert_eq!(columns[1].coding, Coding::Hex);
        assert_eq!(columns[2].coding, Coding::Plain);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "DROP TABLE t;",
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE t; DROP TABLE t;",
            "LOAD DATA INFILE 'x' INTO TABLE t (@a) SET b = now();",
            "LOAD DATA INFILE 'x' INTO TABLE t (a) SET b = UNHEX(@c);",
            "LOAD DATA INFILE 'x' REPLACE INTO TABLE t;",
        ] {
            assert!(LoadData::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
