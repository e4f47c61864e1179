//! A check from its beginning to its end.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use encode::binding::{self, BoundColumn};
use encode::inspected::Inspected;
use encode::long_records::Large;
use encode::reading::Reading;
use job::error::Error;
use job::memory::Memory;
use job::options::{LoadOptions, Mode};
use job::pool;
use job::progress::{Progress, Stage};
use job::report::RejectTally;
use job::stop::Stop;
use schema::Table;
use server::{ConnectOptions, ServerFacts, Session};
use sort::{RunStore, Runs, StoreOptions};
use sources::{Source, SourceExt as _};

use crate::conditions::Conditions;
use crate::findings::{self, Findings, What};
use crate::judge::Rules;
use crate::keys::{Seen, Tables};
use crate::looks::{Look, Looks, Purpose};
use crate::partitions::Partitions;
use crate::report::CheckReport;
use crate::rows::{RowsStage, Tally};
use crate::table;
use crate::told::{self, Subjects};

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
            Check { options, memory, progress }.judge(&mut subject, Mutex::new(source))
        })?;
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// The table, and all that rows are judged by.
struct Subject {
    session: Session,
    table: Table,
    looks: Looks,
    conditions: Conditions,
    rules: Rules,
    not_judged: Vec<String>,
}

impl Subject {
    fn look(
        connect: &ConnectOptions,
        options: &LoadOptions,
        source: &mut dyn Source,
    ) -> Result<Subject, Error> {
        let (mut session, table) = table::open(connect, options)?;
        let facts = ServerFacts::read(&mut session)?;
        let inspected = Inspected::of_table(&mut session, &table, &facts, options, source)?;
        let looks = Looks::of(&table, &inspected, options);
        let conditions = Conditions::of(&mut session, &table, &inspected)?;
        let mut not_judged = looks.not_judged.clone();
        not_judged.extend(conditions.not_judged.iter().cloned());
        not_judged.extend(unjudged(&table, &inspected));
        let mut rules = rules(&table, &inspected)?;
        match Partitions::of(&table, &inspected, &rules.columns) {
            Ok(partitions) => rules.partitions = partitions,
            Err(why) => not_judged.push(why),
        }
        Ok(Subject { session, table, looks, conditions, rules, not_judged })
    }
}

/// What values are judged by: also those for generated columns, which a load looks at too.
pub(crate) fn rules(table: &Table, inspected: &Inspected) -> Result<Rules, Error> {
    let generated = |position: usize| {
        let column = &table.columns[position];
        column.generated.is_some()
            && inspected.fields.field_of(position).is_some()
            && column.sql_type.is_convertible(inspected.is_zone_known)
    };
    let mut columns = inspected.columns.clone();
    let given = binding::bind_columns(
        &table.columns,
        &inspected.fields,
        &inspected.convert,
        &inspected.labels,
        None,
        generated,
    )?;
    columns.extend(given.into_iter().map(|mut bound: BoundColumn| {
        bound.column.nullable = true;
        bound
    }));
    Ok(Rules {
        columns,
        fields_per_row: inspected.fields.columns.len(),
        fields_needed: inspected.fields.needed(),
        partitions: None,
    })
}

/// What only the server would find.
fn unjudged(table: &Table, inspected: &Inspected) -> Vec<String> {
    let is_unknown = |position: &usize| {
        !table.columns[*position].sql_type.is_convertible(inspected.is_zone_known)
    };
    let given = inspected.fields.columns.iter().flatten();
    let unknown = given.filter(|position| is_unknown(position)).map(|position| {
        let column = &table.columns[*position];
        format!(
            "column `{}`: which values of {} are good, the server knows",
            column.name, column.sql_type
        )
    });
    let triggers = table
        .triggers
        .iter()
        .map(|trigger| format!("what trigger `{}` makes of rows", trigger.name));
    unknown.chain(triggers).collect()
}

/// Rows of which something is not known.
struct Unknown {
    /// One a look: rows whose key cannot be made.
    keyless: Vec<u64>,
    /// Rows of which it is not known whether a partition takes them.
    unplaced: u64,
}

/// What a check works with.
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
    ) -> Result<CheckReport, Error> {
        let next_run = AtomicU64::new(0);
        let mut stores = self.stores(&subject.looks.looks).map_err(table::failed)?;
        let (Unknown { keyless, unplaced }, rows, mut tally) =
            self.read(subject, &source, &stores, &next_run).map_err(table::failed)?;
        let mut source = source.into_inner().unwrap_or_else(PoisonError::into_inner);
        let bytes = source.bytes_read();
        let Some(found) = stores.pop() else {
            return Err(Error::Internal("nothing takes what is found".to_owned()));
        };
        let mut findings = Findings::new(&found, &next_run, self.memory.entry_bytes);
        let blind = self.look(subject, stores, &mut findings, &mut tally).map_err(table::failed)?;
        let conditions = &subject.conditions;
        let failing = conditions
            .judge(
                &mut subject.session,
                &mut *source,
                &subject.rules,
                &mut findings,
                &self.options.interrupt,
            )
            .map_err(table::failed)?;
        let reasons = conditions.checks.iter().map(told::condition);
        let reasons = reasons.chain(["the server cannot tell for its values".to_owned()]);
        tally.extend(reasons.map(|reason| (None, reason)).zip(failing));
        findings.finish().map_err(table::failed)?;
        let found = found.finish()?;
        let rejects = self.options.rows.rejects.as_deref();
        let subjects = Subjects {
            rules: &subject.rules,
            looks: &subject.looks.looks,
            checks: &conditions.checks,
            blind: &blind,
            files: &self.options.input.files,
        };
        let told = told::tell(subjects, &found, &mut *source, rejects, &self.options.interrupt)
            .map_err(table::failed)?;
        let mut not_judged = subject.not_judged.clone();
        not_judged.extend(self.left_out(subject, &blind, &keyless));
        not_judged.extend((unplaced > 0).then(|| {
            format!(
                "whether a partition takes {unplaced} row(s): their values are numbers to be generated, or \
                 what the server makes of them is not known"
            )
        }));
        Ok(CheckReport {
            target: subject.table.name.to_string(),
            server: subject.session.version().text.clone(),
            server_address: subject.session.options().server_text(),
            rows,
            bad_rows: told.rows,
            reasons: by_number(tally),
            first: told.first,
            rejects_file: self.options.rows.rejects.clone().filter(|_| told.rows > 0),
            judged: judged(subject),
            not_judged,
            bytes,
            seconds: 0.0,
        })
    }

    /// Reads the input: faults and keys of all rows. Gives what is not known of some, how many rows
    /// there are, and their faults.
    fn read(
        &self,
        subject: &Subject,
        source: &Mutex<Box<dyn Source>>,
        stores: &[RunStore],
        next_run: &AtomicU64,
    ) -> Result<(Unknown, u64, Tally), Stop> {
        let interrupt = &self.options.interrupt;
        let stage = RowsStage {
            rules: &subject.rules,
            looks: &subject.looks,
            memory: self.memory,
            reading: Reading::new(source, Stage::Rows, self.progress, interrupt),
            large: Large::new(self.memory),
            stores,
            next_run,
            tally: Mutex::default(),
            keyless: subject.looks.looks.iter().map(|_| AtomicU64::new(0)).collect(),
            unplaced: AtomicU64::new(0),
        };
        pool::run(self.memory.threads, || stage.work(), || stage.reading.close())?;
        stage.reading.tally().check()?;
        let rows = stage.reading.tally().rows_read();
        let tally = stage.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        let keyless = stage.keyless.into_iter().map(AtomicU64::into_inner).collect();
        Ok((Unknown { keyless, unplaced: stage.unplaced.into_inner() }, rows, tally))
    }

    /// Goes through the keys of each look. Gives the looks that could not be compared with tables.
    fn look(
        &self,
        subject: &mut Subject,
        stores: Vec<RunStore>,
        findings: &mut Findings<'_>,
        tally: &mut Tally,
    ) -> Result<Vec<u16>, Stop> {
        let runs = stores.into_iter().map(RunStore::finish).collect::<Result<Vec<Runs>, _>>()?;
        let mut tables = Tables {
            session: &mut subject.session,
            table: &subject.table.name,
            keeps_rows: self.options.mode != Mode::Replace,
            interrupt: &self.options.interrupt,
        };
        let mut blind = Vec::new();
        for (at, look) in subject.looks.looks.iter().enumerate() {
            self.progress.update(table::snapshot(Stage::Duplicates));
            let number = u16::try_from(at).map_err(|_| too_many())?;
            let own = match look.purpose {
                Purpose::Refers { own, .. } => own.map(|own| &runs[own]),
                _ => None,
            };
            let seen = tables.look(number, look, &runs[at], own, findings)?;
            let Seen { shared, taken, orphans, is_blind } = seen;
            let mut count = |what: What, rows: u64| {
                let of = (Some(look.columns.join(", ")), told::class(look, what));
                tally.insert(of, rows);
            };
            count(What::Shared(number), shared);
            if is_blind {
                blind.push(number);
            } else {
                count(What::Taken(number), taken + orphans);
            }
        }
        Ok(blind)
    }

    /// What turned out not to be judged.
    fn left_out(&self, subject: &Subject, blind: &[u16], keyless: &[u64]) -> Vec<String> {
        let looks = &subject.looks.looks;
        let named = |look: &Look| match look.purpose {
            Purpose::Unique => {
                format!("rows that the table has, for the key `{}`", look.name)
            }
            _ => format!("foreign key `{}`", look.name),
        };
        let blind = blind.iter().map(|&at| {
            let look = named(&looks[usize::from(at)]);
            format!("{look}: what the server shows of those values does not tell their order")
        });
        let keyless = looks.iter().zip(keyless).filter(|(_, rows)| **rows > 0);
        let keyless = keyless.map(|(look, rows)| {
            format!(
                "key `{}` of {rows} row(s): how its collation orders them is not known",
                look.name
            )
        });
        blind.chain(keyless).collect()
    }

    /// A store for each look, and one for what is found, of all of the memory for runs.
    fn stores(&self, looks: &[Look]) -> Result<Vec<RunStore>, Stop> {
        let Memory { threads, run_bytes, .. } = *self.memory;
        let shapes: Vec<_> = looks.iter().map(|look| look.shape).chain([findings::SHAPE]).collect();
        let least = |shape| {
            RunStore::memory_bytes_min(shape, threads) + 4 * threads.max(2) * LONG_ENTRY_BYTES
        };
        let needed: usize = shapes.iter().map(least).sum();
        let Some(rest) = run_bytes.checked_sub(needed) else {
            let given_bytes = self.options.limits.memory_bytes_max;
            let reason = format!(
                "sorting {} keys on {threads} thread(s) takes {needed} bytes, {run_bytes} are left \
                 for it",
                looks.len()
            );
            return Err(Error::Memory { given_bytes, reason }.into());
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

fn too_many() -> Stop {
    Error::Internal("a table has more keys than servers allow".to_owned()).into()
}

/// Faults, those of most rows first.
fn by_number(tally: Tally) -> Vec<RejectTally> {
    let kinds = tally.into_iter().filter(|(_, rows)| *rows > 0);
    let mut kinds: Vec<RejectTally> =
        kinds.map(|((column, reason), rows)| RejectTally { column, reason, rows }).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.rows));
    kinds
}

/// What rows were judged by, besides their values.
fn judged(subject: &Subject) -> Vec<String> {
    let look = |look: &Look| match &look.purpose {
        Purpose::Unique => Some(format!("unique key `{}`", look.name)),
        Purpose::Refers { .. } => Some(format!("foreign key `{}`", look.name)),
        Purpose::Referred => None,
    };
    let looks = subject.looks.looks.iter().filter_map(look);
    let checks = subject.conditions.checks.iter();
    let partitions = subject.rules.partitions.iter().map(|_| "partitions".to_owned());
    looks
        .chain(checks.map(|check| format!("CHECK constraint `{}`", check.name)))
        .chain(partitions)
        .collect()
}
