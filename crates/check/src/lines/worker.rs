//! One worker's findings about each line: its faults, and its key in each entity.

use std::sync::atomic::Ordering;

use encode::mapped::{LineAt, LineOrigin, LinePlace};
use encode::reading::Sink;
use encode::rejects::Reject;
use job::error::Error;
use job::position::{Position, PositionCursor};
use job::stop::Stop;
use sources::{Chunk, Row as _, Rows, TextRow, TextRows};

use super::BadLine;
use super::candidate::{Candidate, EntityRow};
use super::entity_digest::{Digester, place_digest};
use super::fault::{Faults, misfit, missing, of_line, says_else};
use super::keys::Keys;
use super::placed::{PlacedRule, bytes, is_unique, placed};
use super::rule::Asks;
use super::seat::{BLOCK_LINES, Seat};
use super::shared::Shared;
use crate::fault;
use crate::place::Here;

/// The line at hand.
struct Line<'a> {
    rows: TextRows<'a>,
    index: usize,
    here: Here<'a>,
}

impl<'a> Line<'a> {
    fn text(&self) -> TextRow<'a> {
        self.rows.row(self.index)
    }

    fn place(&mut self) -> LinePlace {
        self.here.line_place()
    }

    fn at(&mut self) -> LineAt {
        self.here.line_at(self.text().line_bytes())
    }
}

pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    rules: Vec<PlacedRule<'a>>,
    seats: Vec<Seat<'a>>,
    keys: Keys<'a>,
    faults: Faults,
    digester: Digester,
    /// Lines of the chunk at hand that others decide of.
    candidates: Vec<Candidate>,
    /// True if the number of a line is part of a row.
    has_line_numbers: bool,
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared<'a>) -> sources::Result<Worker<'a>> {
        let (check, lines) = (shared.check, &shared.lines);
        let keys = Keys::new(check, lines)?;
        let tables = check.tables.iter().enumerate();
        let seats = tables.map(|(number, table)| Seat::new(number, table, check, lines, &keys));
        let seats = seats.collect::<sources::Result<Vec<Seat<'_>>>>()?;
        Ok(Worker {
            shared,
            rules: placed(check, lines)?,
            has_line_numbers: seats.iter().any(Seat::has_line_number),
            seats,
            keys,
            faults: Faults::default(),
            digester: Digester::default(),
            candidates: Vec::new(),
        })
    }

    fn take_lines(&mut self, chunk: &Chunk, rows: TextRows<'_>) -> Result<(), Stop> {
        let mut cursor = PositionCursor::of(chunk);
        for index in 0..rows.len() {
            if index % BLOCK_LINES == 0 {
                self.hand_over(false);
                let block = index..rows.len().min(index + BLOCK_LINES);
                for seat in &mut self.seats {
                    seat.mark(rows, block.clone(), &self.shared.lines);
                }
            }
            let here = Here::new(chunk, &mut cursor, rows.row(index).start());
            let mut line = Line { rows, index, here };
            if !self.shared.check.left_out.contains(&line.place()) {
                self.faults.clear();
                self.take_line(&mut line)?;
            }
        }
        self.hand_over(true);
        self.shared.keep(&mut self.candidates);
        self.shared.check_memory()
    }

    /// Gathers what lines have said of entities: all of it, or of those of which that takes much.
    fn hand_over(&mut self, is_all: bool) {
        for (seat, entities) in self.seats.iter_mut().zip(&self.shared.entities.gathered) {
            if let Some(entities) = entities {
                seat.hand_over(entities, is_all);
            }
        }
    }

    fn take_line(&mut self, line: &mut Line<'_>) -> Result<(), Stop> {
        let (text, rows, index) = (line.text(), line.rows, line.index);
        if !self.shared.lines.fit(text) {
            self.faults.push(None, misfit(text, self.shared.lines.width()));
            self.refuse(line);
            return Ok(());
        }
        self.apply_rules(text);
        self.keys.advance();
        for seat in &mut self.seats {
            seat.recognise(index);
        }
        let is_refused = self.find_keys(rows, index)?;
        if self.shared.check.judges || is_refused && !self.faults.has_of_line() {
            self.judge(line);
        }
        if !self.faults.has_of_line() {
            for seat in &mut self.seats {
                seat.look_up(rows, index, &self.shared.lines, &self.keys, &mut self.faults);
            }
            self.look_around(text, line.place());
        }
        if !self.faults.has_of_line() {
            self.compare(rows, index);
        }
        self.decide(line);
        Ok(())
    }

    /// Takes the line down if it is good, or refuses it, or leaves that to lines that may stand for its
    /// entities in its place.
    fn decide(&mut self, line: &mut Line<'_>) {
        if self.faults.has_of_line() {
            return self.refuse(line);
        }
        for (seat, has_rows) in self.seats.iter_mut().zip(&self.shared.has_rows) {
            if !has_rows.load(Ordering::Relaxed) && seat.has_row(line.rows, line.index, &self.keys)
            {
                has_rows.store(true, Ordering::Relaxed);
            }
        }
        if !self.faults.is_empty() && self.stands_with_fault(line.at()) {
            let candidate = self.candidate(line);
            self.candidates.push(candidate);
        } else {
            self.take_down(line);
        }
    }

    /// True if a row with a fault is made from the line, beside the good lines so far.
    #[cold]
    fn stands_with_fault(&self, at: LineAt) -> bool {
        let Worker { shared, seats, keys, faults, .. } = self;
        seats.iter().any(|seat| seat.stands_with_fault(keys, faults, at, &shared.entities))
    }

    /// The keys of a line that are asked about; whether a value of one is refused.
    fn find_keys(&mut self, rows: TextRows<'_>, index: usize) -> Result<bool, Stop> {
        let Worker { shared, seats, rules, keys, .. } = self;
        let tables = shared.check.tables.len();
        let of_seats = seats.iter().flat_map(Seat::slots);
        let of_rules = rules.iter().filter_map(|placed| {
            matches!(placed.rule.asks, Asks::References(_)).then_some(tables + placed.number)
        });
        keys.find(of_seats.chain(of_rules), rows, index)
    }

    /// All that is wrong with the values of a line.
    fn judge(&mut self, line: &mut Line<'_>) {
        let file = self.shared.check.options.input.files.get(line.place().0 as usize);
        let file_name = file.and_then(|file| file.file_name()).unwrap_or_default();
        let number = if self.has_line_numbers { line.here.place().line } else { 0 };
        let origin = LineOrigin { file_name: file_name.as_encoded_bytes(), line: number };
        for seat in &mut self.seats {
            seat.judge(line.rows, line.index, origin, &self.keys, &mut self.faults);
        }
    }

    /// Applies the rules for a line by itself.
    fn apply_rules(&mut self, line: TextRow<'_>) {
        let Worker { rules, faults, .. } = self;
        let (mut scratch, mut more) = (Vec::new(), Vec::new());
        for PlacedRule { rule, field, other, when, .. } in rules {
            if !when.is_met(line, &mut scratch) {
                continue;
            }
            let other = other.and_then(|other| bytes(line, other, &mut more));
            if let Some(reason) = rule.asks.fault(bytes(line, *field, &mut scratch), other) {
                faults.push(None, rule.told(line, *field, reason));
            }
        }
    }

    /// Applies the rules for a line beside others, and for rows of other tables.
    fn look_around(&mut self, line: TextRow<'_>, place: LinePlace) {
        let Worker { shared, rules, keys, faults, .. } = self;
        let firsts = &shared.check.firsts;
        let mut scratch = Vec::new();
        for PlacedRule { rule, field, when, number, .. } in rules.iter() {
            let is_idle = !matches!(rule.asks, Asks::Unique | Asks::References(_));
            if is_idle || !when.is_met(line, &mut scratch) {
                continue;
            }
            let reason = match &rule.asks {
                Asks::References(lookup) => keys.missed(*number).map(|_| missing(lookup)),
                _ => {
                    let Some(value) = bytes(line, *field, &mut scratch) else { continue };
                    let first = firsts.get(number).and_then(|of| of.get(value));
                    let is_other = first.is_some_and(|first| *first != place_digest(place));
                    is_other.then(|| "must be unique, but an earlier line has it".to_owned())
                }
            };
            if let Some(reason) = reason {
                faults.push(None, rule.told(line, *field, reason));
            }
        }
    }

    /// Compares the line's values of its entities with those of earlier lines.
    fn compare(&mut self, rows: TextRows<'_>, index: usize) {
        let Worker { shared, seats, keys, faults, digester, .. } = self;
        for (number, seat) in seats.iter_mut().enumerate() {
            if let Some((key, digest)) = seat.digest(rows, index, keys, digester) {
                let first = shared.check.firsts.get(&number).and_then(|of| of.get(key));
                if first.is_some_and(|first| *first != digest) {
                    faults.push(None, says_else(seat.table.name()));
                }
            }
        }
    }

    /// Takes down the entities of a good line, and what is to be unique.
    fn take_down(&mut self, line: &mut Line<'_>) {
        uniques(&self.rules, line.text(), |number, value| {
            if let Some(values) = &self.shared.entities.gathered[number] {
                values.take(value, line.at(), place_digest(line.place()));
            }
        });
        for seat in &mut self.seats {
            seat.take_down(&self.keys, || line.at());
            seat.remember(line.index);
        }
    }

    /// The line as one that is bad if it stands for an entity.
    #[cold]
    fn candidate(&mut self, line: &mut Line<'_>) -> Candidate {
        let of_seat = |seat: &Seat<'_>| seat.entity_row(&self.keys, &self.faults);
        let mut rows: Vec<EntityRow> = self.seats.iter().filter_map(of_seat).collect();
        let digest = place_digest(line.place());
        uniques(&self.rules, line.text(), |table, value| {
            rows.push(EntityRow { table, key: value.into(), digest, is_faulty: false });
        });
        Candidate { at: line.at(), rows, reject: self.reject(line) }
    }

    #[cold]
    fn refuse(&mut self, line: &mut Line<'_>) {
        let reject = self.reject(line);
        self.shared.refuse(BadLine { place: line.place(), reject });
    }

    /// The line, refused for all of its faults.
    fn reject(&mut self, line: &mut Line<'_>) -> Reject {
        let place = line.here.place().position(&self.shared.check.options.input.files);
        let position = Position { part: line.here.part(), ..place };
        let mut faults = self.faults.drain().into_iter();
        let first = faults.next().unwrap_or_else(|| of_line(String::new()));
        fault::reject(position, first, faults, line.text().raw().into_owned())
    }
}

impl Sink for Worker<'_> {
    fn take<R: Rows>(&mut self, chunk: &Chunk, rows: R) -> Result<(), Stop> {
        match rows.lines() {
            Some(rows) => self.take_lines(chunk, rows),
            None => Err(Error::Internal("lines are not text".to_owned()).into()),
        }
    }

    /// Each chunk's lines are handed on at its end.
    fn hand_on(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}

/// The values of a line that have to be unique, by their numbers among what is gathered.
fn uniques(rules: &[PlacedRule<'_>], line: TextRow<'_>, mut found: impl FnMut(usize, &[u8])) {
    let mut scratch = Vec::new();
    for PlacedRule { rule, field, when, number, .. } in rules {
        if is_unique(rule)
            && when.is_met(line, &mut scratch)
            && let Some(value) = bytes(line, *field, &mut scratch)
        {
            found(*number, value);
        }
    }
}
