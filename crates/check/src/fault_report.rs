//! Bad rows in input order, each with all of its reasons.
//!
//! Findings say where a row is, and the input what is in it: it is read once more, as far as there
//! is something to be told.

use encode::rejects::{self, Also, Rejects};
use job::error::Error;
use job::options::LoadOptions;
use job::stop::Stop;
use server::Interrupt;
use sort::{KeyRange, Merge, Runs};
use sources::{Chunk, Row, Source};

use crate::conditions::failure;
use crate::fault::{self, Fault};
use crate::findings::{Finding, What};
use crate::judge::Judge;
use crate::key_lookups::{KeyLookup, Purpose};
use crate::pass::{self, Take};
use crate::place::{Here, Place};
use crate::report::{BadRow, CheckReport};
use crate::subject::Subject;

/// Tells how many rows are bad, and the first of them. Writes all to the file of rejects, if there is one.
///
/// Reports the findings. Rows of tables do not count for the looks in `blind`.
pub(crate) fn tell(
    subject: &Subject,
    blind: &[u16],
    findings: &Runs,
    source: &mut dyn Source,
    options: &LoadOptions,
) -> Result<(u64, Vec<BadRow>), Stop> {
    let (all, interrupt) = (KeyRange::all(), &options.interrupt);
    let mut groups = Groups { merge: findings.merge(&all)?, next: None, blind, interrupt };
    groups.advance()?;
    let log = match &options.rows.rejects {
        Some(path) => Some(Rejects::create(Some(path), u64::MAX, &rejects::form(source)?)?),
        None => None,
    };
    let mut telling = Telling {
        subject,
        options,
        judge: Judge::new(&subject.rules),
        row: groups.next_row()?,
        groups,
        log,
        rows: 0,
        first: Vec::new(),
    };
    if telling.row.is_some() {
        pass::again(source, interrupt, &mut telling)?;
    }
    telling.finish()
}

/// Findings, those of a row together.
struct Groups<'r> {
    merge: Merge<'r>,
    next: Option<Finding>,
    blind: &'r [u16],
    interrupt: &'r Interrupt,
}

impl Groups<'_> {
    fn advance(&mut self) -> Result<(), Stop> {
        loop {
            let found = self.merge.next()?;
            self.next = found.map(|(key, payload)| Finding::of_entry(key, payload));
            match &self.next {
                Some(Finding { what: What::Table(look), .. }) if self.blind.contains(look) => {}
                _ => return Ok(()),
            }
        }
    }

    /// All that was found of the next row.
    fn next_row(&mut self) -> Result<Option<(Place, Vec<Finding>)>, Stop> {
        self.interrupt.check()?;
        let Some(first) = self.next.take() else { return Ok(None) };
        let place = first.place;
        let mut row = vec![first];
        self.advance()?;
        while let Some(found) = self.next.take_if(|next| next.place == place) {
            row.push(found);
            self.advance()?;
        }
        Ok(Some((place, row)))
    }
}

struct Telling<'a> {
    subject: &'a Subject,
    options: &'a LoadOptions,
    judge: Judge<'a>,
    groups: Groups<'a>,
    /// The next bad row.
    row: Option<(Place, Vec<Finding>)>,
    log: Option<Rejects>,
    rows: u64,
    first: Vec<BadRow>,
}

impl Take for Telling<'_> {
    fn take<R: Row>(&mut self, row: R, mut here: Here<'_>) -> Result<(), Stop> {
        let at = here.place();
        let Some((_, found)) = self.row.take_if(|(place, _)| *place == at) else {
            return Ok(());
        };
        let mut faults = Vec::new();
        found.iter().for_each(|found| self.reasons(row, found, &mut faults));
        let mut faults = faults.into_iter();
        // It was bad a moment ago.
        let first = faults.next().ok_or(Error::InputChanged)?;
        let position = here.position(&self.options.input.files);
        let reject = fault::reject(position, first, faults, row.raw().into_owned());
        self.rows += 1;
        if let Some(log) = &mut self.log {
            log.push(&reject)?;
        }
        if self.first.len() < CheckReport::ROWS_TOLD {
            self.first.push(BadRow::from(reject));
        }
        self.row = self.groups.next_row()?;
        Ok(())
    }

    /// True if the next bad row is not in a chunk.
    fn skips(&self, chunk: &Chunk) -> bool {
        let end = chunk.offset_at(chunk.bytes.len());
        let is_in = |(place, _): &(Place, _)| place.file == chunk.file && place.offset < end;
        // How many rows a chunk without text has, is known when it is read.
        chunk.first_record.is_none() && !self.row.as_ref().is_some_and(is_in)
    }

    fn is_done(&self) -> bool {
        self.row.is_none() || self.log.is_none() && self.first.len() >= CheckReport::ROWS_TOLD
    }
}

impl Telling<'_> {
    /// After the last that was wanted: the rest are counted.
    fn finish(mut self) -> Result<(u64, Vec<BadRow>), Stop> {
        if !self.is_done() {
            return Err(Error::InputChanged.into());
        }
        while self.row.is_some() {
            self.rows += 1;
            self.row = self.groups.next_row()?;
        }
        if let Some(log) = &mut self.log {
            log.flush()?;
        }
        Ok((self.rows, self.first))
    }

    /// Adds the faults of a finding's row.
    fn reasons<R: Row>(&mut self, row: R, found: &Finding, faults: &mut Vec<Fault>) {
        let Subject { rules, looks, conditions, .. } = self.subject;
        let (columns, words): (&[String], String) = match found.what {
            What::Fields => {
                return self.judge.judge(row, |fault| {
                    let column = fault.column.map(|at| &rules.columns[at].column);
                    faults.push((Also::new(&fault, row, column), fault.kind.class()));
                });
            }
            What::Shared(at) => {
                let look = &looks.looks[usize::from(at)];
                let first = Place::from_bytes(&found.more).position(&self.options.input.files);
                (&look.columns, format!("has the same `{}` key as {first}", look.name))
            }
            What::Table(at) => {
                let look = &looks.looks[usize::from(at)];
                (&look.columns, class(look, found.what))
            }
            What::Condition(at) => (&[], failure(&conditions.checks[usize::from(at)])),
            What::Refused => (&[], String::from_utf8_lossy(&found.more).into_owned()),
        };
        let mut values = Vec::new();
        let mut field = None;
        for name in columns {
            let bound = rules.columns.iter().find(|bound| bound.column.name == *name);
            let at = bound.and_then(|bound| bound.input.field());
            field = field.or(at);
            let text = |at| fault::text(row, at).unwrap_or_else(|| "NULL".to_owned());
            values.push(at.map_or_else(|| "?".to_owned(), text));
        }
        let value = (!values.is_empty()).then(|| format!("({})", values.join(", ")));
        let column = (!columns.is_empty()).then(|| columns.join(", "));
        let field = field.map(|at| at + 1);
        let also = Also { field, column, cell: None, value, reason: words.clone() };
        faults.push((also, words));
    }
}

/// The description shared by all rows with the same finding of a look.
pub(crate) fn class(look: &KeyLookup, what: What) -> String {
    let name = &look.name;
    match (what, &look.purpose) {
        (What::Shared(_), _) => format!("has the same `{name}` key as an earlier row"),
        (_, Purpose::Refers(reference)) => {
            format!(
                "refers to a row that is missing in {} (foreign key `{name}`)",
                reference.parent
            )
        }
        _ => format!("has the same `{name}` key as a row of the table"),
    }
}
