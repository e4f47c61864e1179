//! Statements that are known before anything runs: of small files, or that no file has.

use std::path::PathBuf;

use sources::dump::Statement;
use sql::{Comments, Syntax, classify};

/// Statements in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// The file that they are from; None if a tool's own loader would say them.
    pub path: Option<PathBuf>,
    /// The statements.
    pub statements: Vec<ScriptStatement>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptStatement {
    /// Its bytes, without a delimiter.
    pub text: Vec<u8>,
    /// Byte of the (unpacked) file at which it begins.
    pub offset: u64,
    /// Line of the file, from 1.
    pub line: u64,
}

impl ScriptStatement {
    /// As a reader of SQL text gives it.
    pub(crate) fn statement(&self, syntax: Syntax, comments: Comments) -> Statement {
        Statement {
            kind: classify(&self.text, syntax, comments),
            text: self.text.clone(),
            file: 0,
            offset: self.offset,
            line: self.line,
        }
    }
}

impl Script {
    /// These statements, of no file.
    pub(crate) fn own<T: AsRef<[u8]>>(statements: impl IntoIterator<Item = T>) -> Script {
        let mut script = Script::default();
        for text in statements {
            script.statements.push(ScriptStatement {
                text: text.as_ref().to_vec(),
                offset: 0,
                line: 1,
            });
        }
        script
    }

    /// The statements of a file where each ends at a `;` that is the last byte of its line, and
    /// nowhere else, whatever is around it.
    pub(crate) fn by_lines(path: PathBuf, text: &[u8]) -> Script {
        let mut script = Script { path: Some(path), statements: Vec::new() };
        let (mut start, mut line) = (0, 1);
        let mut at = 0;
        for piece in text.split_inclusive(|&byte| byte == b'\n') {
            at += piece.len();
            if !piece.ends_with(b";\n") && at < text.len() {
                continue;
            }
            let whole = &text[start..at];
            let blank = whole.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let statement = whole[blank..].trim_ascii_end();
            let statement = statement.strip_suffix(b";").unwrap_or(statement);
            if !statement.is_empty() {
                script.statements.push(ScriptStatement {
                    text: statement.to_vec(),
                    offset: (start + blank) as u64,
                    line: line + newlines(&whole[..blank]),
                });
            }
            line += newlines(whole);
            start = at;
        }
        script
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_where_a_line_ends_with_a_semicolon() {
        let text = b"\nSET a=1;\nCREATE TRIGGER t\nBEGIN\n  SET x = ';'; \n  \nEND;\n\nlast";
        let script = Script::by_lines(PathBuf::from("f.sql"), text);
        let found: Vec<_> = script
            .statements
            .iter()
            .map(|one| (String::from_utf8_lossy(&one.text).into_owned(), one.offset, one.line))
            .collect();
        assert_eq!(
            found,
            [
                ("SET a=1".to_owned(), 1, 2),
                ("CREATE TRIGGER t\nBEGIN\n  SET x = ';'; \n  \nEND".to_owned(), 10, 3),
                ("last".to_owned(), 58, 9),
            ]
        );
    }
}
