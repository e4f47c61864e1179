//! How a run of rows goes on in the next file of the dump.
//!
//! mydumper splits a table's rows into files, each of which begins with the same SETs. Their variables are
//! set already when they come again, so that the rows behind them belong to one run.

use std::sync::Arc;

use sql::{InsertHead, StatementKind, Syntax};

use super::lead::Lead;
use super::reader::{Pending, SqlOptions, SqlReader};
use super::window::Window;
use crate::bytes::ahead::Ends;
use crate::bytes::input::Input;
use crate::error::{Error, Result};

/// Where a run may go on when its file ends.
#[derive(Clone, Debug)]
pub(super) struct Onward {
    /// The run's own input, and those behind it as far as they may hold rows of the run.
    pub(super) inputs: Arc<[Input]>,
    /// Statements before the rows in each.
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
    /// Errors: reading. Text that is no SQL is no row of the run.
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
                    let is_run = is_same && reader.stands_before_rows() && reader.stray().is_none();
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
