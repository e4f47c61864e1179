//! What one worker finds of each line: its faults, and its key in each entity.

use encode::mapped::{LineAt, LinePlace};
use encode::rejects::{Also, Reject};
use job::position::{Places, Position};
use job::stop::Stop;
use sources::{Chunk, Row, Rows, TextRow, TextRows};

use super::BadLine;
use super::fault::{Fault, misfit, missing, says_else};
use super::keys::Keys;
use super::placed::{PlacedRule, bytes, is_unique, placed};
use super::rule::Asks;
use super::said::Digester;
use super::seat::{BLOCK_LINES, Seat};
use super::shared::Shared;

/// Where the line at hand is; which number it has, is counted when somebody asks.
struct Here<'a> {
    chunk: &'a Chunk,
    places: &'a mut Places,
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
    faults: Vec<Fault>,
    digester: Digester,
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared<'a>) -> sources::Result<Worker<'a>> {
        let (check, lines) = (shared.check, &shared.lines);
        let keys = Keys::new(check, lines)?;
        let tables = check.tables.iter().enumerate();
        let seats = tables.map(|table| Seat::new(table, check, lines, &keys));
        let seats = seats.collect::<sources::Result<_>>()?;
        let (faults, digester) = (Vec::new(), Digester::default());
        Ok(Worker { shared, rules: placed(check, lines)?, seats, keys, faults, digester })
    }

    pub(super) fn take(&mut self, chunk: &Chunk, rows: TextRows<'_>) -> Result<(), Stop> {
        let mut places = Places::of(chunk);
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
            if !self.faults.is_empty() {
                self.refuse(line, here.at());
            }
        }
        self.hand_over(true);
        Ok(())
    }

    /// Gathers what lines have said of entities: all of it, or of those of which that takes much.
    fn hand_over(&mut self, is_all: bool) {
        for (seat, entities) in self.seats.iter_mut().zip(&self.shared.entities) {
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
            self.faults.push(misfit(line, self.shared.lines.width()));
            return Ok(());
        }
        self.apply_rules(line);
        self.keys.advance();
        for seat in &mut self.seats {
            seat.recognise(index);
        }
        if self.shared.check.judges {
            self.judge(rows, index);
        }
        let is_refused = self.find_keys(rows, index)?;
        if is_refused && self.faults.is_empty() {
            self.judge(rows, index);
        }
        if self.faults.is_empty() {
            for seat in &mut self.seats {
                seat.look_up((rows, index), &self.shared.lines, &self.keys, &mut self.faults);
            }
            self.look_around(line, here.place);
        }
        if self.faults.is_empty() {
            self.gather(rows, index, here);
        }
        if self.faults.is_empty() {
            for seat in &mut self.seats {
                seat.remember(index);
            }
        }
        Ok(())
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
    fn judge(&mut self, rows: TextRows<'_>, index: usize) {
        for seat in &mut self.seats {
            seat.judge(rows, index, &mut self.faults);
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
                faults.push(rule.told(line, *field, reason));
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
            faults.extend(reason.map(|reason| rule.told(line, *field, reason)));
        }
    }

    /// Takes down the entities of a line, if it says nothing else than it should.
    fn gather(&mut self, rows: TextRows<'_>, index: usize, here: &mut Here<'_>) {
        let Worker { shared, rules, seats, keys, faults, digester } = self;
        for (number, seat) in seats.iter_mut().enumerate() {
            if let Some((key, digest)) = seat.digest((rows, index), keys, digester) {
                let first = shared.check.firsts.get(&number).and_then(|of| of.get(key));
                if first.is_some_and(|first| *first != digest) {
                    faults.push(says_else(seat.table.name()));
                }
            }
        }
        if !faults.is_empty() {
            return;
        }
        for PlacedRule { field, when, number, .. } in rules.iter().filter(|of| is_unique(of.rule)) {
            let mut scratch = Vec::new();
            if when.is_met(rows.row(index), &mut scratch)
                && let Some(value) = bytes(rows.row(index), *field, &mut scratch)
            {
                shared.uniques[*number].take(value, here.at(), place_digest(here.place));
            }
        }
        for seat in seats {
            seat.take_down(keys, || here.at());
        }
    }

    #[cold]
    fn refuse(&mut self, line: TextRow<'_>, at: LineAt) {
        let mut faults = self.faults.drain(..);
        let Some((first, class)) = faults.next() else { return };
        let files = &self.shared.check.options.files;
        let file = files.get(at.file as usize).cloned().unwrap_or_default();
        let position = Position { file, line: at.line, offset: Some(at.offset) };
        let Also { field, column, value, reason } = first;
        let also = faults.map(|(also, _)| also).collect();
        let raw = line.raw().into_owned();
        let reject = Reject { position, field, column, value, reason, class, also, raw };
        self.shared.refuse(BadLine { place: at.place(), reject });
    }
}

/// Each line says something else than another.
fn place_digest((file, offset): LinePlace) -> u64 {
    u64::from(file) << 48 ^ offset
}
