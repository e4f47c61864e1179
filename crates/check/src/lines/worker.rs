//! What one worker finds of each line: its faults, and its key in each entity.

use encode::mapped::{LineAt, LineOrigin, LinePlace};
use encode::rejects::{Also, Reject};
use job::position::{Position, PositionCursor};
use job::stop::Stop;
use sources::{Chunk, Row, Rows, TextRow, TextRows};

use super::BadLine;
use super::candidate::Candidate;
use super::fault::{Faults, misfit, missing, of_line, says_else};
use super::keys::Keys;
use super::placed::{PlacedRule, bytes, is_unique, placed};
use super::rule::Asks;
use super::said::{Digester, place_digest};
use super::seat::{BLOCK_LINES, Seat};
use super::shared::Shared;

/// Where the line at hand is; which number it has, is counted when somebody asks.
struct Here<'a> {
    chunk: &'a Chunk,
    places: &'a mut PositionCursor,
    place: LinePlace,
    bytes: u32,
}

impl Here<'_> {
    fn at(&mut self) -> LineAt {
        let ((file, offset), bytes) = (self.place, self.bytes);
        LineAt { file, offset, line: self.places.line(self.chunk), bytes }
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
        let seats = tables.map(|table| Seat::new(table, check, lines, &keys));
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

    pub(super) fn take(&mut self, chunk: &Chunk, rows: TextRows<'_>) -> Result<(), Stop> {
        let mut places = PositionCursor::of(chunk);
        for index in 0..rows.len() {
            if index % BLOCK_LINES == 0 {
                self.hand_over(false);
                let block = index..rows.len().min(index + BLOCK_LINES);
                for seat in &mut self.seats {
                    seat.mark(rows, block.clone(), &self.shared.lines);
                }
            }
            let line = rows.row(index);
            let place = (chunk.file, places.advance_bytes(chunk, line.start()));
            if self.shared.check.left_out.contains(&place) {
                continue;
            }
            self.faults.clear();
            let bytes = line.span().len() as u32;
            let mut here = Here { chunk, places: &mut places, place, bytes };
            self.take_line(rows, index, &mut here)?;
        }
        self.hand_over(true);
        self.shared.keep(&mut self.candidates);
        Ok(())
    }

    /// Gathers what lines have said of entities: all of it, or of those of which that takes much.
    fn hand_over(&mut self, is_all: bool) {
        for (seat, entities) in self.seats.iter_mut().zip(&self.shared.entities.gathered) {
            if let Some(entities) = entities {
                seat.hand_over(entities, is_all);
            }
        }
    }

    fn take_line(
        &mut self,
        rows: TextRows<'_>,
        index: usize,
        here: &mut Here<'_>,
    ) -> Result<(), Stop> {
        let line = rows.row(index);
        if !self.shared.lines.fit(line) {
            self.faults.push(None, misfit(line, self.shared.lines.width()));
            self.refuse(line, here.at());
            return Ok(());
        }
        self.apply_rules(line);
        self.keys.advance();
        for seat in &mut self.seats {
            seat.recognise(index);
        }
        let is_refused = self.find_keys(rows, index)?;
        if self.shared.check.judges || is_refused && !self.faults.has_of_line() {
            self.judge(rows, index, here);
        }
        if !self.faults.has_of_line() {
            for seat in &mut self.seats {
                seat.look_up((rows, index), &self.shared.lines, &self.keys, &mut self.faults);
            }
            self.look_around(line, here.place);
        }
        if !self.faults.has_of_line() {
            self.compare(rows, index);
        }
        self.decide(rows, index, here);
        Ok(())
    }

    /// Takes the line down if it is good, or refuses it, or leaves that to lines that may stand for its
    /// entities in its place.
    fn decide(&mut self, rows: TextRows<'_>, index: usize, here: &mut Here<'_>) {
        let line = rows.row(index);
        if self.faults.has_of_line() {
            self.refuse(line, here.at());
        } else if !self.faults.is_empty() && self.stands_with_fault(here.at()) {
            let candidate = self.candidate(line, here.at());
            self.candidates.push(candidate);
        } else {
            self.take_down(rows, index, here);
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
        let Worker { seats, rules, keys, .. } = self;
        let entities = keys.entities();
        let of_seats = seats.iter().flat_map(Seat::slots);
        let of_rules = rules.iter().filter_map(|placed| {
            matches!(placed.rule.asks, Asks::References(_)).then_some(entities + placed.number)
        });
        keys.find(of_seats.chain(of_rules), rows, index)
    }

    /// All that is wrong with the values of a line.
    fn judge(&mut self, rows: TextRows<'_>, index: usize, here: &mut Here<'_>) {
        let file = self.shared.check.options.input.files.get(here.place.0 as usize);
        let file_name = file.and_then(|file| file.file_name()).unwrap_or_default();
        let line = if self.has_line_numbers { here.at().line } else { 0 };
        let origin = LineOrigin { file_name: file_name.as_encoded_bytes(), line };
        for seat in &mut self.seats {
            seat.judge((rows, index), origin, &self.keys, &mut self.faults);
        }
    }

    /// What rules say of the line by itself.
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

    /// What rules say of the line beside others, and of rows of other tables.
    fn look_around(&mut self, line: TextRow<'_>, place: LinePlace) {
        let Worker { shared, rules, keys, faults, .. } = self;
        let (tables, firsts) = (shared.check.tables.len(), &shared.check.firsts);
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
                    let first = firsts.get(&(tables + number)).and_then(|of| of.get(value));
                    let is_other = first.is_some_and(|first| *first != place_digest(place));
                    is_other.then(|| "is to be unique, and a line before has it".to_owned())
                }
            };
            if let Some(reason) = reason {
                faults.push(None, rule.told(line, *field, reason));
            }
        }
    }

    /// What the line says of its entities, and where that is something else than it should.
    fn compare(&mut self, rows: TextRows<'_>, index: usize) {
        let Worker { shared, seats, keys, faults, digester, .. } = self;
        for (number, seat) in seats.iter_mut().enumerate() {
            if let Some((key, digest)) = seat.digest((rows, index), keys, digester) {
                let first = shared.check.firsts.get(&number).and_then(|of| of.get(key));
                if first.is_some_and(|first| *first != digest) {
                    faults.push(None, says_else(seat.table.name()));
                }
            }
        }
    }

    /// Takes down the entities of a good line, and what is to be unique.
    fn take_down(&mut self, rows: TextRows<'_>, index: usize, here: &mut Here<'_>) {
        uniques(&self.rules, rows.row(index), |number, value| {
            self.shared.uniques[number].take(value, here.at(), place_digest(here.place));
        });
        for seat in &mut self.seats {
            seat.take_down(&self.keys, || here.at());
            seat.remember(index);
        }
    }

    /// The line as one that is bad if it stands for an entity.
    #[cold]
    fn candidate(&mut self, line: TextRow<'_>, at: LineAt) -> Candidate {
        let mut values = Vec::new();
        uniques(&self.rules, line, |number, value| values.push((number, value.into())));
        let rows = self.seats.iter().filter_map(|seat| seat.entity_row(&self.keys, &self.faults));
        Candidate { at, rows: rows.collect(), uniques: values, reject: self.reject(line, at) }
    }

    #[cold]
    fn refuse(&mut self, line: TextRow<'_>, at: LineAt) {
        let reject = self.reject(line, at);
        self.shared.refuse(BadLine { place: at.place(), reject });
    }

    /// The line, refused for all of its faults.
    fn reject(&mut self, line: TextRow<'_>, at: LineAt) -> Reject {
        let files = &self.shared.check.options.input.files;
        let file = files.get(at.file as usize).cloned().unwrap_or_default();
        let position = Position { file, line: at.line, offset: Some(at.offset) };
        let mut faults = self.faults.drain().into_iter();
        let (first, class) = faults.next().unwrap_or_else(|| of_line(String::new()));
        let Also { field, column, value, reason } = first;
        let also = faults.map(|(also, _)| also).collect();
        let raw = line.raw().into_owned();
        Reject { position, field, column, value, reason, class, also, raw }
    }
}

/// The values of a line that have to be unique, by the numbers of the rules among such.
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
