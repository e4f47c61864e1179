//! What is told of a load at its end, however that came.

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::prepared::Prepared;
use job::error::Error;
use job::options::OnDuplicate;
use job::publish;
use job::report::{EngineReport, LogicalReport, Report};
use job::steps::Steps;
use schema::Method;
use targets::Lock;

use crate::lane::Loaded;
use crate::resume::{self, Resume};
use crate::{Done, Failed, Work};

const ER_NO_SUCH_TABLE: u16 = 1146;

impl Work<'_> {
    /// What is to be said of a panic in this thread, of which only the end of the one transaction can
    /// have done what shows. Rows that are added are told by their ledger.
    pub(crate) fn died(&self, target: &Lock, died: Error) -> Error {
        if self.landing.method != Method::Transaction {
            return died;
        }
        let _shield = self.prepared.options.interrupt.shield();
        let are_in = self.transaction.as_ref().map_or(Ok(false), |it| it.is_in(target));
        let name = target.table.name.to_string();
        publish::told(&name, died, are_in, |target, _| server::Error::CommitUnknown(target).into())
    }

    /// What is left of a load that failed, besides what the target's own cleaning up removes; and what
    /// came of removing its ledger.
    pub(crate) fn failed(&self, target: &mut Lock, error: Error) -> Failed {
        let _shield = self.prepared.options.interrupt.shield();
        let Some(resume) = &self.resume else {
            // It may have been opening it.
            let removed = match self.landing.method {
                Method::Transaction => Ok(()),
                _ => target.clean_up(resume::give_up),
            };
            return Box::new((error, forgotten(removed)));
        };
        // Where the server cannot be asked, the next load finds the ledger.
        let totals = target.clean_up(|target| resume.ledger.totals(&mut target.session));
        let name = target.table.name.to_string();
        // Somebody may have dropped or emptied the table meanwhile, and its ledger is of no use.
        let has_rows = match target.is_empty() {
            Ok(is_empty) => !is_empty,
            Err(error) => error.errno() != Some(ER_NO_SUCH_TABLE),
        };
        Box::new(match (self.landing.method, totals) {
            (Method::Append, Ok(totals)) if totals.rows > 0 && has_rows => {
                let rows = Some(totals.rows);
                (Error::Appended { error: Box::new(error), target: name, rows }, Ok(()))
            }
            (Method::Append, Err(_)) => {
                (Error::Appended { error: Box::new(error), target: name, rows: None }, Ok(()))
            }
            (_, Ok(_)) => {
                let removed = target.clean_up(|target| resume.ledger.remove(&mut target.session));
                (error, forgotten(removed))
            }
            (_, Err(why)) => (error, forgotten(Err(why))),
        })
    }

    pub(crate) fn report(&self, target: &Lock, steps: &Steps<'_>, done: Done) -> Report {
        let Prepared { options, inspected, .. } = *self.prepared;
        let Done { loaded, order, warnings, .. } = done;
        let Loaded { collected, settled, retries, bytes_read, .. } = loaded;
        let mut notes = vec![self.landing.why.clone()];
        notes.extend(order.note().map(str::to_owned));
        notes.extend(self.notes.iter().cloned());
        notes.extend(options.unchecked_note(!target.table.foreign_keys.is_empty()));
        notes.extend(options.emptied_note(collected.rows, collected.rejects));
        let counts = |bound: &BoundColumn| matches!(bound.input, Input::AutoIncrement(None));
        let is_skipped = options.rows.on_duplicate == OnDuplicate::Skip && collected.duplicates > 0;
        if is_skipped && inspected.columns.iter().any(counts) {
            notes.push(
                "rows that were skipped have used up AUTO_INCREMENT values, which LOAD DATA IGNORE \
                 would have given to the next rows"
                    .to_owned(),
            );
        }
        let before = self.resume.as_ref().map(Resume::before).unwrap_or_default();
        Report {
            target: target.table.name.to_string(),
            job: steps.job(),
            path: self.prepared.path.name(),
            why: self.prepared.why.to_owned(),
            server: target.facts.version.text.clone(),
            server_address: self.connect.server_text(),
            engine: EngineReport::of(&target.facts.engine),
            rows: collected.rows,
            rejects: collected.rejects,
            rejects_by_reason: collected.rejects_by_reason,
            on_duplicate: options.rows.on_duplicate.name(),
            duplicates: collected.duplicates,
            bytes: bytes_read,
            spilled_bytes: order.spilled_bytes,
            sorted_input: order.is_in_order,
            threads: settled.connections_max,
            logical: Some(LogicalReport {
                landing: self.landing.method.landing().unwrap_or_default(),
                settled,
                portions: collected.portions,
                sorted: order.is_sorted,
                retries,
                rows_before: before.rows,
            }),
            notes,
            warnings,
            ..Report::default()
        }
    }
}

/// What came of removing a ledger.
fn forgotten(done: Result<(), Error>) -> server::Result<()> {
    done.map_err(|error| match error {
        Error::Server(error) => error,
        other => server::Error::Answer {
            column: 0,
            seen: other.to_string(),
            expected: "a ledger of ours",
            statement: "removing the ledger".to_owned(),
        },
    })
}
