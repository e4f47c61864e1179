//! Tables whose changes no ROLLBACK takes back, and the statements that may reach them.

use std::collections::BTreeSet;

use server::Session;

use crate::error::Error;
use crate::order::has_word;

/// Queries for names that lead to a table: of tables, with their engine, and of what else may use one,
/// with its text, which an account may not be allowed to read.
const NAMES: [&str; 4] = [
    "SELECT TABLE_NAME, '' FROM information_schema.TABLES WHERE ENGINE<>'InnoDB' AND TABLE_SCHEMA NOT IN \
     ('information_schema', 'mysql', 'performance_schema', 'sys')",
    "SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA<>'sys'",
    "SELECT EVENT_OBJECT_TABLE, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA<>'sys'",
    "SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES \
     WHERE ROUTINE_SCHEMA NOT IN ('mysql', 'sys')",
];

/// Names that lead to tables of other engines than InnoDB.
#[derive(Debug, Default)]
pub(super) struct OtherEngines(BTreeSet<Vec<u8>>);

impl OtherEngines {
    /// Asks a server for these tables, and for views, triggers and routines that use them.
    pub(super) fn read(session: &mut Session) -> Result<OtherEngines, Error> {
        let (mut others, mut rest) = (OtherEngines::default(), Vec::new());
        for query in NAMES {
            rest.extend(session.query(query)?);
            let mut count = usize::MAX;
            while rest.len() < count {
                count = rest.len();
                rest.retain(|way| {
                    let (name, text) = (way.bytes(0), way.bytes(1).unwrap_or_default());
                    let reaches = text.is_empty() || others.are_reached_by(text);
                    others.0.extend(name.filter(|_| reaches).map(<[u8]>::to_vec));
                    !reaches
                });
            }
            if others.0.is_empty() {
                break;
            }
        }
        Ok(others)
    }

    /// True if a statement may change one of these tables: by words, wherever they stand. Names that a
    /// statement may write in several ways are taken to be there.
    pub(super) fn are_reached_by(&self, text: &[u8]) -> bool {
        let is_plain = |byte: &u8| byte.is_ascii() && !b"`\"".contains(byte);
        let is_in = |name: &Vec<u8>| !name.iter().all(is_plain) || has_word(text, name);
        self.0.iter().any(is_in)
    }
}
