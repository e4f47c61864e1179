//! Where a statement of the dump stands, for people.

use std::fmt;
use std::path::{Path, PathBuf};

use sources::dump::Statement;

/// Characters of a statement that are shown.
const HEAD_CHARS_MAX: usize = 80;

/// Where a statement stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Byte of the unpacked file at which it begins.
    pub offset: u64,
    /// Line, from 1; 0 where the file as a whole is meant.
    pub line: u64,
    /// How it begins.
    pub head: String,
}

impl Place {
    /// The place of a statement in `file`, which begins as `text`.
    pub(crate) fn of(file: &Path, statement: &Statement, text: &[u8]) -> Place {
        let (offset, line) = (statement.offset, statement.line);
        Place { file: file.to_owned(), offset, line, head: head(text) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        // Rows in files of their own have a file only.
        match self.line {
            0 => Ok(()),
            line => write!(f, ", line {line}, byte {}, at {:?}", self.offset, self.head),
        }
    }
}

/// How a statement begins, in a line, without its texts.
pub(crate) fn head(text: &[u8]) -> String {
    // Of a long one only so much is looked at.
    let text = String::from_utf8_lossy(&text[..text.len().min(8 * HEAD_CHARS_MAX)]);
    face::statement::shown(&text, HEAD_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_one_short_line_without_secrets() {
        assert_eq!(head(b"CREATE TABLE\n  `t` (\n a int)"), "CREATE TABLE `t` ( a int)");
        assert_eq!(head(b"CREATE USER a IDENTIFIED BY 'hunt"), "CREATE USER a IDENTIFIED BY '..'");
        let long = head("\u{fc}".repeat(2000).as_bytes());
        assert_eq!(long.chars().count(), HEAD_CHARS_MAX + 3);
    }
}
