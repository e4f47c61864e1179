//! A check from its beginning to its end.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use encode::entries::Entries;
use encode::reading::Reading;
use encode::rejects::FaultCounts;
use job::error::Error;
use job::memory::Memory;
use job::options::{LoadOptions, Mode};
use job::progress::{Progress, Stage};
use job::stop::Stop;
use locks::Mutex;
use server::ConnectOptions;
use sort::{EntryShape, RunStore, Runs, StoreOptions};
use sources::{Source, SourceExt as _};

use crate::findings::{self, Findings};
use crate::key_lookups::KeyLookup;
use crate::keys::Tables;
use crate::pass;
use crate::report::CheckReport;
use crate::rows::{Counts, Worker};
use crate::subject::Subject;
use crate::{fault_report, table};

/// Bytes that few entries exceed.
const LONG_ENTRY_BYTES: usize = 16 << 10;

/// Judges files against a table, by the options that a load of them has. Changes nothing, and takes
/// no lock but those of a reader.
///
/// Errors: options, files and tables that a load would refuse, too; the server's.
pub fn check(
    connect: &ConnectOptions,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<CheckReport, Error> {
    let begun = Instant::now();
    let mut report =
        table::with_input(connect, options, "the check", |connect, memory, mut source| {
            progress.update(table::snapshot(Stage::Inspect));
            let mut subject = Subject::look(connect, options, &mut *source)?;
            let check = Check { options, memory, progress };
            check.judge(&mut subject, Mutex::new(source)).map_err(table::failed)
        })?;
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// The parts of a check.
struct Check<'a> {
    options: &'a LoadOptions,
    memory: &'a Memory,
    progress: &'a dyn Progress,
}

impl Check<'_> {
    fn judge(
        &self,
        subject: &mut Subject,
        source: Mutex<Box<dyn Source>>,
    ) -> Result<CheckReport, Stop> {
        let options = self.options;
        let next_run = AtomicU64::new(0);
        let mut stores = self.stores(&subject.looks.looks)?;
        let (rows, mut counts) = self.read(subject, &source, &stores, &next_run)?;
        let mut source = source.into_inner();
        let bytes = source.bytes_read();
        let Some(found) = stores.pop() else {
            return Err(Error::Internal("the findings have no receiver".to_owned()).into());
        };
        let mut findings = Findings::new(&found, &next_run, self.memory.entry_bytes);
        let blind = self.look(subject, stores, &mut findings, &mut counts.faults)?;
        subject.conditions.judge(
            &mut subject.session,
            &mut *source,
            &subject.rules,
            &mut findings,
            &mut counts.faults,
            &options.interrupt,
        )?;
        findings.finish()?;
        let found = found.finish()?;
        let (bad_rows, first) = fault_report::tell(subject, &blind, &found, &mut *source, options)?;
        Ok(CheckReport {
            target: subject.table.name.to_string(),
            server: subject.session.version().text.clone(),
            server_address: subject.session.options().server_text(),
            rows,
            bad_rows,
            reasons: counts.faults.tally(),
            first,
            rejects_file: options.rows.rejects.clone().filter(|_| bad_rows > 0),
            judged: subject.judged(),
            not_judged: subject.not_judged(&blind, &counts),
            bytes,
            seconds: 0.0,
        })
    }

    /// Reads the input: faults and keys of all rows. Gives how many rows there are, and what was counted.
    fn read(
        &self,
        subject: &Subject,
        source: &Mutex<Box<dyn Source>>,
        stores: &[RunStore],
        next_run: &AtomicU64,
    ) -> Result<(u64, Counts), Stop> {
        let Subject { rules, looks, .. } = subject;
        let all = Mutex::new(Counts::new(looks));
        let reading = Reading::new(source, Stage::Rows, self.progress, &self.options.interrupt);
        let worker = || {
            let shapes = shapes(&looks.looks);
            let entries = Entries::new(shapes, stores, next_run, self.memory.entry_bytes);
            Ok(Worker::new(rules, looks, entries, &all))
        };
        pass::by_many("thread.judge", &reading, self.memory, stores, worker)?;
        let counts = all.into_inner();
        Ok((reading.tally().rows_read(), counts))
    }

    /// Goes through the keys of each look. Gives the looks that could not be compared with tables.
    fn look(
        &self,
        subject: &mut Subject,
        stores: Vec<RunStore>,
        findings: &mut Findings<'_>,
        faults: &mut FaultCounts,
    ) -> Result<Vec<u16>, Stop> {
        let runs = stores.into_iter().map(RunStore::finish).collect::<Result<Vec<Runs>, _>>()?;
        let mut tables = Tables {
            session: &mut subject.session,
            table: &subject.table.name,
            keeps_rows: self.options.mode != Mode::Replace,
            interrupt: &self.options.interrupt,
        };
        let mut blind = Vec::new();
        for look in &subject.looks.looks {
            self.progress.update(table::snapshot(Stage::Duplicates));
            if !tables.look(look, &subject.looks.looks, &runs, findings, faults)? {
                blind.push(look.number);
            }
        }
        Ok(blind)
    }

    /// A store for each look, and one for what is found, of all of the memory for runs.
    fn stores(&self, looks: &[KeyLookup]) -> Result<Vec<RunStore>, Error> {
        let Memory { threads, run_bytes, .. } = *self.memory;
        let shapes: Vec<EntryShape> = shapes(looks).collect();
        let least = |shape| {
            RunStore::memory_bytes_min(shape, threads) + 4 * threads.max(2) * LONG_ENTRY_BYTES
        };
        let needed: usize = shapes.iter().map(least).sum();
        let Some(rest) = run_bytes.checked_sub(needed) else {
            let given_bytes = self.options.limits.memory_bytes_max;
            let reason = format!(
                "sorting {} keys on {threads} thread(s) needs {needed} bytes, but only {run_bytes} \
                 are left",
                looks.len()
            );
            return Err(Error::Memory { given_bytes, reason });
        };
        let share = rest / shapes.len();
        let store = |shape| {
            let options = StoreOptions {
                memory_bytes_max: least(shape) + share,
                temp_dir: self.options.limits.temp_dir.clone(),
                threads,
                stop: self.options.interrupt.flag(),
            };
            Ok(RunStore::with_options(*shape, options)?)
        };
        shapes.iter().map(store).collect()
    }
}

/// Shapes of the sorted entries: keys of each look, and findings.
fn shapes(looks: &[KeyLookup]) -> impl Iterator<Item = EntryShape> {
    looks.iter().map(|look| look.shape).chain([findings::SHAPE])
}
