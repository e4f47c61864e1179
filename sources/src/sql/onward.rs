//! How a run of rows goes on in the next file of the dump.
//!
//! mydumper splits a table's rows into files, each of which begins with the same SETs. What these
//! set is set already when they come again, so that the rows behind them are those of one run.

use std::sync::Arc;

use super::insert::InsertHead;
use super::lexer::Syntax;
use super::reader::{Pending, SqlOptions, SqlReader};
use super::statement::StatementKind;
use super::window::Window;
use crate::ahead::Ends;
use crate::error::{Error, Result};
use crate::input::Input;

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

/// What a file begins with, as long as that is nothing but SETs to plain values.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    /// How the file was read from its first byte.
    syntax: Syntax,
    sets: Vec<Vec<u8>>,
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

    /// Whether it would say the same if it were read so.
    fn is_same_by(&self, syntax: Syntax) -> bool {
        // Only characters that are not ASCII are others in another character set.
        let is_ascii = self.sets.iter().all(|text| text.is_ascii());
        let characters = if is_ascii { syntax.characters } else { self.syntax.characters };
        syntax == Syntax { characters, ..self.syntax }
    }
}

/// Where a run may go on when its file ends.
#[derive(Clone, Debug)]
pub(super) struct Onward {
    /// The run's own input, and those behind it as far as they may hold rows of the run.
    pub(super) inputs: Arc<[Input]>,
    /// What stands before the rows in each.
    sets: Arc<[Vec<u8>]>,
    options: Arc<SqlOptions>,
}

impl Onward {
    /// That of a run in `inputs[0]`, before whose rows is `lead`.
    pub(super) fn new(
        inputs: &[Input],
        lead: Option<Lead>,
        syntax: Syntax,
        options: &SqlOptions,
    ) -> Onward {
        // What a file says counts as it was read: the next one is read as the rows are.
        let lead = lead.filter(|lead| lead.is_same_by(syntax));
        let inputs = if lead.is_some() { inputs } else { &inputs[..inputs.len().min(1)] };
        Onward {
            inputs: inputs.into(),
            sets: lead.map(|lead| lead.sets).unwrap_or_default().into(),
            options: Arc::new(options.clone()),
        }
    }

    /// The text of input `index` from the first row on, if rows of the run are there.
    ///
    /// Errors: reading. What is no SQL is no row of the run.
    pub(super) fn window(
        &self,
        index: usize,
        head: &InsertHead,
        syntax: Syntax,
        ends: &Ends,
    ) -> Result<Option<Window>> {
        let Some(input) = self.inputs.get(index) else { return Ok(None) };
        let options = SqlOptions { syntax, ..(*self.options).clone() };
        let mut reader = SqlReader::over(vec![input.clone()], options, ends.clone());
        let mut sets = self.sets.iter();
        loop {
            let statement = match reader.next() {
                Ok(Some(statement)) => statement,
                Ok(None) | Err(Error::Sql { .. } | Error::NotText { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            let is_same = match &statement.kind {
                StatementKind::Insert(found) if sets.len() == 0 => {
                    let is_same = found.text == head.text && reader.syntax() == syntax;
                    let is_run = is_same && reader.stands_before_rows();
                    reader.pending = Pending::Nothing;
                    return Ok(if is_run { reader.window } else { None });
                }
                StatementKind::Set { .. } => sets.next() == Some(&statement.text),
                _ => false,
            };
            if !is_same {
                return Ok(None);
            }
        }
    }
}
