//! The SETs at the beginning of a dump's file.

use sql::{StatementKind, Syntax};

/// Longest text of SETs that is kept to be compared, in bytes.
const SETS_BYTES_MAX: usize = 64 << 10;

/// Variables that are the same after the second of two like SETs as after the first: setting them
/// does nothing else. Those of the next statement alone (`insert_id`, `timestamp`), and those that
/// end a transaction, are none of them.
const STEADY: [&str; 12] = [
    "names",
    "charset",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
    "foreign_key_checks",
    "unique_checks",
    "sql_mode",
    "sql_notes",
    "sql_quote_show_create",
    "time_zone",
];

/// The beginning of a file, as long as that is nothing but SETs to plain values.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    /// How the file was read from its first byte.
    syntax: Syntax,
    pub(super) sets: Vec<Vec<u8>>,
    bytes: usize,
}

impl Lead {
    /// That of a file that is read so.
    pub(super) fn new(syntax: Syntax) -> Lead {
        Lead { syntax, sets: Vec::new(), bytes: 0 }
    }

    /// The same with one more statement behind it; None if that may not be done a second time as
    /// if it were the first.
    pub(super) fn with(mut self, kind: &StatementKind, text: &[u8]) -> Option<Lead> {
        let StatementKind::Set { variables } = kind else { return None };
        let is_steady = variables.iter().all(|name| STEADY.contains(&name.as_str()));
        // User variables, and values that are made of anything that may be another one by then.
        let is_plain = !text.iter().any(|byte| matches!(byte, b'@' | b'('));
        self.bytes += text.len();
        if !is_steady || !is_plain || self.bytes > SETS_BYTES_MAX {
            return None;
        }
        self.sets.push(text.to_vec());
        Some(self)
    }

    /// True if it would mean the same if it were read so.
    pub(super) fn is_same_by(&self, syntax: Syntax) -> bool {
        // Only characters that are not ASCII are others in another character set.
        let is_ascii = self.sets.iter().all(|text| text.is_ascii());
        let characters = if is_ascii { syntax.characters } else { self.syntax.characters };
        syntax == Syntax { characters, ..self.syntax }
    }
}
