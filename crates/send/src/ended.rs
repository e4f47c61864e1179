//! The report of a load at its end, successful or not.

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::prepared::Prepared;
use job::error::Error;
use job::failed::Failed;
use job::options::OnDuplicate;
use job::report::{EngineReport, LogicalReport, Report};
use job::steps::Steps;
use schema::Method;
use targets::Lock;

use crate::chunk_connection::SendResult;
use crate::resume::{self, Resume};
use crate::unpublished::forgotten;
use crate::{Done, RowLoad};

impl RowLoad<'_> {
    /// Leftovers of a failed load, besides those that the target's own clean-up removes; and the
    /// result of removing its ledger.
    pub(crate) fn failed(&self, target: &mut Lock, error: Error) -> Box<Failed> {
        match (&self.resume, self.destination.method) {
            (Some(resume), Method::Append) => resume.ledger.failed(target, error),
            (Some(resume), _) => Failed::cleaned(error, resume.ledger.forget(target)),
            (None, Method::Transaction) => error.into(),
            // It may have been opening it.
            (None, _) => Failed::cleaned(error, forgotten(target.clean_up(resume::give_up))),
        }
    }

    pub(crate) fn report(&self, target: &Lock, steps: &Steps<'_>, done: Done) -> Report {
        let Prepared { options, inspected, .. } = *self.prepared;
        let Done { loaded, order, .. } = done;
        let SendResult { collected, settled, retries, bytes_read, .. } = loaded;
        let mut notes = Vec::from_iter(order.note());
        notes.extend(self.notes.iter().cloned());
        notes.extend(options.unchecked_note(!target.table.foreign_keys.is_empty()));
        notes.extend(options.emptied_note(collected.rows, collected.rejects));
        notes.extend(inspected.fields.notes(&target.table, &options.input));
        let counts = |bound: &BoundColumn| matches!(bound.input, Input::AutoIncrement(None));
        let is_skipped = options.rows.on_duplicate == OnDuplicate::Skip && collected.duplicates > 0;
        if is_skipped && inspected.columns.iter().any(counts) {
            notes.push(
                "skipped rows used AUTO_INCREMENT values that LOAD DATA IGNORE would give to the \
                 next rows"
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
                destination: self.destination.method.destination().unwrap_or_default(),
                destination_reason: self.destination.why.clone(),
                settled,
                chunks: collected.chunks,
                sorted: order.is_sorted,
                retries,
                rows_before: before.rows,
            }),
            notes,
            ..Report::default()
        }
    }
}
