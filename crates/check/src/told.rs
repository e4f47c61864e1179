//! Bad rows in input order, each with all of its reasons.
//!
//! Findings say where a row is, and the input what is in it: it is read once more, as far as there
//! is something to be told.

use std::path::{Path, PathBuf};

use encode::reading;
use encode::rejects::{self, Also, Reject, Rejects};
use job::error::Error;
use job::position::PositionCursor;
use job::stop::Stop;
use schema::Check;
use server::Interrupt;
use sort::{KeyRange, Merge, Runs};
use sources::{Chunk, Row, Rows, Source, SourceExt as _, Visit};

use crate::findings::{Finding, What};
use crate::judge::{Judge, Rules};
use crate::looks::{Look, Purpose};
use crate::place::Place;
use crate::report::BadRow;

/// Bad rows that the report has.
const ROWS_TOLD: usize = 20;

/// What findings are about.
#[derive(Clone, Copy)]
pub(crate) struct Subjects<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) looks: &'a [Look],
    pub(crate) checks: &'a [Check],
    /// Looks of which what tables have counts for nothing.
    pub(crate) blind: &'a [u16],
    pub(crate) files: &'a [PathBuf],
}

/// Bad rows.
pub(crate) struct Told {
    pub(crate) rows: u64,
    pub(crate) first: Vec<BadRow>,
}

/// Tells the bad rows, and writes all of them to `rejects`, if that is given.
pub(crate) fn tell(
    subjects: Subjects<'_>,
    findings: &Runs,
    source: &mut dyn Source,
    rejects: Option<&Path>,
    interrupt: &Interrupt,
) -> Result<Told, Stop> {
    let all = KeyRange::all();
    let mut groups =
        Groups { merge: findings.merge(&all)?, next: None, blind: subjects.blind, interrupt };
    groups.advance()?;
    source.restart()?;
    let log = match rejects {
        Some(path) => Some(Rejects::create(Some(path), u64::MAX, &rejects::form(source)?)?),
        None => None,
    };
    let mut telling = Telling {
        subjects,
        judge: Judge::new(subjects.rules),
        row: groups.next_row()?,
        groups,
        log,
        told: Told { rows: 0, first: Vec::new() },
    };
    if telling.row.is_some() {
        reading::read_alone(source, interrupt, |chunk, batch| {
            if telling.is_in(chunk) {
                batch.visit(chunk, TellingIn { telling: &mut telling, chunk })?;
            }
            Ok(telling.wants_more())
        })?;
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
            let of_blind = |found: &Finding| match found.what {
                What::Taken(look) | What::Orphan(look) => self.blind.contains(&look),
                _ => false,
            };
            if !self.next.as_ref().is_some_and(of_blind) {
                return Ok(());
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
    subjects: Subjects<'a>,
    judge: Judge<'a>,
    groups: Groups<'a>,
    /// The next bad row.
    row: Option<(Place, Vec<Finding>)>,
    log: Option<Rejects>,
    told: Told,
}

impl Telling<'_> {
    /// Whether the next bad row is among those of a chunk.
    fn is_in(&self, chunk: &Chunk) -> bool {
        let end = chunk.offset_at(chunk.bytes.len());
        self.row.as_ref().is_some_and(|(place, _)| place.file == chunk.file && place.offset < end)
    }

    fn wants_more(&self) -> bool {
        self.row.is_some() && (self.log.is_some() || self.told.first.len() < ROWS_TOLD)
    }

    /// After the last that was wanted: the rest are counted.
    fn finish(mut self) -> Result<Told, Stop> {
        if self.wants_more() {
            return Err(Error::InputChanged.into());
        }
        while self.row.is_some() {
            self.told.rows += 1;
            self.row = self.groups.next_row()?;
        }
        if let Some(log) = &mut self.log {
            log.flush()?;
        }
        Ok(self.told)
    }

    fn take<R: Row>(&mut self, row: R, place: Place, found: &[Finding]) -> Result<(), Stop> {
        let (mut reasons, mut class) = (Vec::new(), None);
        for found in found {
            self.reasons(row, found, |also, of| {
                class.get_or_insert(of);
                reasons.push(also);
            });
        }
        self.told.rows += 1;
        if self.told.first.len() < ROWS_TOLD {
            let file = place.position(self.subjects.files).file.display().to_string();
            let reasons = reasons.clone();
            self.told.first.push(BadRow { file, line: place.line, byte: place.offset, reasons });
        }
        let (Some(log), false) = (&mut self.log, reasons.is_empty()) else { return Ok(()) };
        let Also { field, column, value, reason } = reasons.remove(0);
        log.push(&Reject {
            position: place.position(self.subjects.files),
            field,
            column,
            value,
            reason,
            class: class.unwrap_or_default(),
            also: reasons,
            raw: row.raw().into_owned(),
        })?;
        Ok(())
    }

    /// What a finding says of its row, with what it has in common with others.
    fn reasons<R: Row>(&mut self, row: R, found: &Finding, mut told: impl FnMut(Also, String)) {
        let Subjects { rules, looks, checks, files, .. } = self.subjects;
        let (columns, words): (&[String], String) = match found.what {
            What::Fields => {
                return self.judge.judge(row, |fault| {
                    let column = fault.column.map(|at| &rules.columns[at].column);
                    told(Also::new(&fault, row, column), fault.kind.class());
                });
            }
            What::Shared(at) | What::Taken(at) | What::Orphan(at) => {
                let look = &looks[usize::from(at)];
                let words = match found.what {
                    What::Shared(_) => {
                        let first = Place::from_bytes(&found.more).position(files);
                        format!("has the same `{}` key as {first}", look.name)
                    }
                    what => class(look, what),
                };
                (&look.columns, words)
            }
            What::Condition(at) => (&[], condition(&checks[usize::from(at)])),
            What::Refused => (&[], String::from_utf8_lossy(&found.more).into_owned()),
        };
        let mut values = Vec::new();
        let mut field = None;
        for name in columns {
            let bound = rules.columns.iter().find(|bound| bound.column.name == *name);
            let at = bound.and_then(|bound| bound.input.field());
            field = field.or(at);
            values.push(at.map_or_else(|| "?".to_owned(), |at| text(row, at)));
        }
        let value = (!values.is_empty()).then(|| format!("({})", values.join(", ")));
        let column = (!columns.is_empty()).then(|| columns.join(", "));
        let also = Also { field: field.map(|at| at + 1), column, value, reason: words.clone() };
        told(also, words);
    }
}

/// A field for people.
fn text<R: Row>(row: R, field: usize) -> String {
    let (mut scratch, mut text) = (Vec::new(), Vec::new());
    let value = encode::field::value(row, Some(field), &mut scratch);
    value.text(&mut text).map_or_else(|| "NULL".to_owned(), Reject::cut)
}

/// What all rows have in common of which a look found the same.
pub(crate) fn class(look: &Look, what: What) -> String {
    let name = &look.name;
    match (what, &look.purpose) {
        (What::Shared(_), _) => format!("has the same `{name}` key as a row before it"),
        (_, Purpose::Refers { reference, .. }) => {
            format!(
                "refers to a row that {} does not have (foreign key `{name}`)",
                reference.parent
            )
        }
        _ => format!("has the same `{name}` key as a row of the table"),
    }
}

/// The same of a CHECK constraint.
pub(crate) fn condition(check: &Check) -> String {
    format!("fails the CHECK constraint `{}`: {}", check.name, check.clause)
}

/// What is told of the rows of a chunk.
struct TellingIn<'t, 'a> {
    telling: &'t mut Telling<'a>,
    chunk: &'t Chunk,
}

impl Visit for TellingIn<'_, '_> {
    type Output = Result<(), Stop>;

    fn rows<R: Rows>(self, rows: R) -> Result<(), Stop> {
        let TellingIn { telling, chunk } = self;
        let mut places = PositionCursor::of(chunk);
        for row in rows.iter() {
            let (line, offset) = places.advance(chunk, row.start());
            let here = Place { file: chunk.file, offset, line };
            let Some((place, found)) = telling.row.take_if(|(place, _)| *place == here) else {
                continue;
            };
            telling.take(row, place, &found)?;
            telling.row = telling.groups.next_row()?;
            if !telling.wants_more() {
                break;
            }
        }
        Ok(())
    }
}
