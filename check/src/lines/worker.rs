//! What one worker finds of each line: its faults, and its key in each entity.

use std::collections::HashMap;
use std::ops::Range;

use encode::fault::FaultKind;
use encode::mapped::{
    Keyless, LineAt, LineKeys, LinePlace, LineRow, Lines, LinesSaid, Lookup, Mark, Recent, Wanted,
};
use encode::rejects::{Also, Reject};
use job::error::Error;
use job::position::{Places, Position};
use job::stop::Stop;
use sources::{Chunk, Row, Rows, TextRow, TextRows, Value};

use super::placed::{PlacedRule, bytes, is_unique, placed};
use super::rule::Asks;
use super::said::{Digester, Part, fields, parts, takes_last};
use super::shared::Shared;
use super::subject::LineTable;
use super::{BadLine, LinesCheck, LookedUp};
use crate::judge::Judge;

/// Lines whose marks are made before the first of them is looked at: so many waits for memory at once.
const BLOCK_LINES: usize = 64;

/// Something that is wrong with a line, and what it has in common with others.
type Fault = (Also, String);

/// A table, as one worker sees it.
struct Seat<'a> {
    table: &'a LineTable,
    row: LineRow,
    judge: Judge<'a>,
    /// What lines of one entity may differ in; none where that does not matter.
    parts: Option<Vec<Part>>,
    /// Whether what the last line says of an entity counts.
    takes_last: bool,
    /// Columns that must have a row of these keys.
    ids: Vec<(&'a str, usize)>,
    /// What its rows look up, by number.
    lookups: Vec<usize>,
    /// The keys that it asks about.
    slots: Vec<usize>,
    /// Lines of an entity that were good and taken down, by all that counts of them; none where each
    /// line counts.
    recent: Option<Recent<()>>,
    /// What the lines of a block say of the entity.
    marks: Vec<Option<Mark>>,
    /// Whether a good line before has said just that.
    is_known: bool,
    /// What the line at hand says, and what lines before have said that is not gathered yet.
    digest: Option<(usize, u64)>,
    said: LinesSaid,
}

/// A key that each line may have.
struct Slot {
    keys: LineKeys,
    key: Vec<u8>,
    state: Result<(), Keyless>,
    /// The line that it is of, as the worker counts them.
    line: u64,
}

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
    /// The keys of entities, one a table that has one, and behind them those that are looked up.
    slots: Vec<Slot>,
    /// The slot of each table, if it has one.
    slot_of: Vec<Option<usize>>,
    faults: Vec<Fault>,
    digester: Digester,
    /// Bytes that what lines say of one entity may take before it is gathered.
    said_bytes_max: usize,
    /// The line at hand: the how manieth it is, from 1.
    line: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared<'a>) -> sources::Result<Worker<'a>> {
        let check = shared.check;
        let (mut slots, mut slot_of) = (Vec::new(), Vec::new());
        let slot = |of| {
            let keys = LineKeys::new(of, &shared.lines)?;
            Ok(Slot { keys, key: Vec::new(), state: Err(Keyless::NoRow), line: 0 })
        };
        for table in check.tables {
            slot_of.push(table.key.as_ref().map(|_| slots.len()));
            slots.extend(table.key.as_ref().map(slot).transpose()?);
        }
        for lookup in check.lookups {
            slots.push(slot(&lookup.key)?);
        }
        let by_name: HashMap<&str, usize> = check
            .tables
            .iter()
            .zip(&slot_of)
            .filter_map(|(table, slot)| Some((table.name(), (*slot)?)))
            .collect();
        let entities = slots.len() - check.lookups.len();
        let find = |wanted: &Wanted| match wanted {
            Wanted::Id(name) => by_name.get(name.as_str()).copied(),
            Wanted::Looked(lookup) => {
                let at = check.lookups.iter().position(|known| known.lookup == *lookup);
                at.map(|at| entities + at)
            }
        };
        let room = check.memory.chunk_bytes / entities.max(1);
        // Of that, a quarter is for what lines have said.
        let said_bytes_max = room / 4;
        let seat = |(table, own): (&'a LineTable, &Option<usize>)| {
            let ids = table.ids.iter();
            let ids =
                ids.filter_map(|(column, of)| Some((column.as_str(), *by_name.get(of.as_str())?)));
            let mut seat = Seat {
                row: LineRow::new(&table.mapping, &shared.lines, &table.formats)?,
                judge: Judge::new(&table.rules),
                parts: parts(table, find),
                takes_last: takes_last(table),
                ids: ids.collect(),
                lookups: lookups(table, check.lookups),
                slots: own.iter().copied().collect(),
                recent: None,
                marks: Vec::new(),
                is_known: false,
                digest: None,
                said: LinesSaid::default(),
                table,
            };
            seat.slots.extend(seat.lookups.iter().map(|at| entities + at));
            seat.slots.extend(seat.ids.iter().map(|(_, slot)| *slot).filter(|_| check.judges));
            seat.slots.extend(seat.parts.iter().flatten().filter_map(Part::slot));
            if own.is_some() && !seat.takes_last {
                let fields = fields(table, check.tables, &shared.lines)?;
                seat.recent = Some(Recent::new(fields, room - said_bytes_max));
            }
            Ok(seat)
        };
        let seats = check.tables.iter().zip(&slot_of).map(seat);
        let seats = seats.collect::<sources::Result<_>>()?;
        let rules = placed(check, &shared.lines)?;
        Ok(Worker {
            shared,
            rules,
            seats,
            slots,
            slot_of,
            faults: Vec::new(),
            digester: Digester::default(),
            said_bytes_max,
            line: 0,
        })
    }

    pub(super) fn take(&mut self, chunk: &Chunk, rows: TextRows<'_>) -> Result<(), Stop> {
        let mut places = Places::of(chunk);
        for index in 0..rows.len() {
            if index % BLOCK_LINES == 0 {
                self.hand_over(self.said_bytes_max);
                self.mark(rows, index..rows.len().min(index + BLOCK_LINES));
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
        self.hand_over(0);
        Ok(())
    }

    /// Gathers what lines have said, of entities of which that takes more than so many bytes.
    fn hand_over(&mut self, bytes_max: usize) {
        for (seat, entities) in self.seats.iter_mut().zip(&self.shared.entities) {
            if let Some(entities) = entities
                && seat.said.bytes() > bytes_max
            {
                entities.take_all(&mut seat.said);
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
        self.recognise(index);
        if self.shared.check.judges {
            self.judge(rows, index);
        }
        let is_refused = self.find_keys(rows, index)?;
        if is_refused && self.faults.is_empty() {
            self.judge(rows, index);
        }
        if self.faults.is_empty() {
            self.look_up(rows, index);
            self.look_around(line, here.place);
        }
        if self.faults.is_empty() {
            self.gather(rows, index, here);
        }
        if self.faults.is_empty() {
            self.remember(index);
        }
        Ok(())
    }

    /// What the lines of a block say of entities.
    fn mark(&mut self, rows: TextRows<'_>, block: Range<usize>) {
        for Seat { recent, marks, .. } in &mut self.seats {
            let Some(recent) = recent else { continue };
            marks.clear();
            for index in block.clone() {
                let line = rows.row(index);
                marks.push(self.shared.lines.fit(line).then(|| recent.mark(line)));
            }
            recent.expect(marks.iter().copied().flatten());
        }
    }

    /// Which entities a line says nothing new of.
    fn recognise(&mut self, index: usize) {
        self.line += 1;
        for Seat { recent, marks, is_known, .. } in &mut self.seats {
            if let (Some(recent), Some(Some(mark))) = (recent, marks.get(index % BLOCK_LINES)) {
                *is_known = recent.get(*mark).is_some();
            }
        }
    }

    /// Knows from now on what a good line has said.
    fn remember(&mut self, index: usize) {
        for Seat { recent, marks, is_known, .. } in &mut self.seats {
            let mark = marks.get(index % BLOCK_LINES).copied().flatten();
            if let (Some(recent), Some(mark), false) = (recent, mark, *is_known) {
                recent.put(mark, ());
            }
        }
    }

    /// The keys of a line that are asked about; whether a value of one is refused.
    fn find_keys(&mut self, rows: TextRows<'_>, index: usize) -> Result<bool, Stop> {
        let mut is_refused = false;
        let Worker { seats, rules, slots, .. } = self;
        let entities = slots.len() - self.shared.check.lookups.len();
        let of_seats = seats.iter().filter(|seat| !seat.is_known).flat_map(|seat| &seat.slots);
        let of_rules = rules.iter().filter_map(|placed| {
            matches!(placed.rule.asks, Asks::References(_)).then_some(entities + placed.number)
        });
        for slot in of_seats.copied().chain(of_rules) {
            let Slot { keys, key, state, line } = &mut slots[slot];
            if std::mem::replace(line, self.line) == self.line {
                continue;
            }
            key.clear();
            *state = keys.of(rows, index).map(|found| key.extend_from_slice(found));
            match state {
                Err(Keyless::Refused) => is_refused = true,
                Err(Keyless::Unordered) => {
                    return Err(Error::Usage(
                        "how the collation of a key orders some of its values is not known, so that rows \
                         cannot be told apart by it"
                            .to_owned(),
                    )
                    .into());
                }
                _ => {}
            }
        }
        Ok(is_refused)
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
        let Worker { shared, rules, slots, faults, .. } = self;
        let LinesCheck { lookups, tables, firsts, .. } = shared.check;
        let entities = slots.len() - lookups.len();
        let mut scratch = Vec::new();
        for PlacedRule { rule, field, when, number, .. } in rules.iter() {
            let is_idle = !matches!(rule.asks, Asks::Unique | Asks::References(_));
            if is_idle || !when.is_met(line, &mut scratch) {
                continue;
            }
            let reason = match &rule.asks {
                Asks::References(lookup) => {
                    let slot = &slots[entities + number];
                    let is_there = match slot.state {
                        Ok(()) => lookups[*number].known.find(&slot.key).is_some(),
                        Err(why) => why == Keyless::NoRow,
                    };
                    (!is_there)
                        .then(|| format!("{} has no row with that {}", lookup.table, lookup.key))
                }
                _ => {
                    let Some(value) = bytes(line, *field, &mut scratch) else { continue };
                    let first = firsts.get(&(tables.len() + number)).and_then(|of| of.get(value));
                    let is_other = first.is_some_and(|first| *first != place_digest(place));
                    is_other.then(|| "is to be unique, and a line before has it".to_owned())
                }
            };
            faults.extend(reason.map(|reason| rule.told(line, *field, reason)));
        }
    }

    /// All that is wrong with the values of a line.
    fn judge(&mut self, rows: TextRows<'_>, index: usize) {
        let Worker { seats, faults, .. } = self;
        for Seat { table, row, judge, .. } in seats.iter_mut().filter(|seat| !seat.is_known) {
            let Some(row) = row.of(rows, index) else { continue };
            judge.judge(row, |fault| {
                let column = fault.column.map(|at| &table.rules.columns[at].column);
                let mut also = Also::new(&fault, row, column);
                also.column = also.column.map(|column| format!("{}.{column}", table.name()));
                let class = fault.kind.class();
                // One field may go to several tables: said once.
                let is_same = |(told, _): &Fault| {
                    told.field.is_some() && told.field == also.field && told.reason == also.reason
                };
                if !faults.iter().any(is_same) {
                    faults.push((also, class));
                }
            });
        }
    }

    /// What a line refers to, and nothing has.
    fn look_up(&mut self, rows: TextRows<'_>, index: usize) {
        let Worker { shared, seats, slots, faults, .. } = self;
        let LinesCheck { lookups, judges, .. } = shared.check;
        let entities = slots.len() - lookups.len();
        for Seat { table, row, ids, lookups: wanted, is_known, .. } in seats {
            if *is_known {
                continue;
            }
            let is_idle = wanted.is_empty() && (ids.is_empty() || !judges);
            if is_idle || row.of(rows, index).is_none() {
                continue;
            }
            for &at in wanted.iter() {
                let (looked, slot) = (&lookups[at], &slots[entities + at]);
                let is_there = match slot.state {
                    Ok(()) => looked.known.find(&slot.key).is_some(),
                    Err(why) => why == Keyless::NoRow,
                };
                if !is_there {
                    faults.push(not_there(&looked.lookup, &shared.lines, rows.row(index)));
                }
            }
            for (column, slot) in ids.iter().filter(|_| *judges) {
                if slots[*slot].state == Err(Keyless::NoRow) {
                    let reason = "NULL, but the column is NOT NULL: the line has no such row";
                    let column = Some(format!("{}.{column}", table.name()));
                    let also = Also { field: None, column, value: None, reason: reason.to_owned() };
                    faults.push((also, reason.to_owned()));
                }
            }
        }
    }

    /// Takes down the entities of a line, if it says nothing else than it should.
    fn gather(&mut self, rows: TextRows<'_>, index: usize, here: &mut Here<'_>) {
        let Worker { shared, rules, seats, slots, slot_of, faults, digester, .. } = self;
        for (number, (seat, slot)) in seats.iter_mut().zip(slot_of.iter()).enumerate() {
            seat.digest = None;
            let slot = slot.filter(|slot| !seat.is_known && slots[*slot].state.is_ok());
            let Some(slot) = slot else { continue };
            let digest = match &seat.parts {
                None => 0,
                Some(parts) => {
                    let row = seat.row.of(rows, index);
                    let key = |slot: usize| {
                        let Slot { key, state, .. } = &slots[slot];
                        state.is_ok().then_some(key.as_slice())
                    };
                    row.map_or(0, |row| digester.digest(row, parts, key))
                }
            };
            let first = shared.check.firsts.get(&number).and_then(|of| of.get(&*slots[slot].key));
            if first.is_some_and(|first| *first != digest) {
                let table = seat.table.name();
                let reason = format!(
                    "says something else of a row of {table} than the first line that has it"
                );
                let also = Also { field: None, column: None, value: None, reason: reason.clone() };
                faults.push((also, reason));
            }
            seat.digest = Some((slot, digest));
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
            if let Some((slot, digest)) = seat.digest {
                seat.said.push(&slots[slot].key, here.at(), digest);
            }
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

/// The numbers of what a table's rows look up.
fn lookups(table: &LineTable, all: &[LookedUp]) -> Vec<usize> {
    let wanted = table.mapping.wanted();
    let number = |wanted: &Wanted| match wanted {
        Wanted::Looked(lookup) => all.iter().position(|known| known.lookup == *lookup),
        Wanted::Id(_) => None,
    };
    wanted.iter().filter_map(number).collect()
}

#[cold]
fn not_there(lookup: &Lookup, lines: &Lines, line: TextRow<'_>) -> Fault {
    let field = lines.find(&lookup.field).ok();
    let reason = format!("{} has no row with that {}", lookup.table, lookup.key);
    let also = Also {
        field: field.map(|field| field + 1),
        column: Some(lookup.field.clone()),
        value: field.and_then(|field| text(line, field)),
        reason: reason.clone(),
    };
    (also, reason)
}

#[cold]
fn misfit(line: TextRow<'_>, expected: usize) -> Fault {
    if line.is_unclosed() {
        let reason = FaultKind::Unclosed.to_string();
        return (Also { field: None, column: None, value: None, reason: reason.clone() }, reason);
    }
    let seen = line.field_count();
    let what = if seen < expected {
        "the line has too few fields"
    } else {
        "the line has too many fields"
    };
    let fields = if seen == 1 { "field" } else { "fields" };
    let reason = format!("the line has {seen} {fields}, expected {expected}");
    (Also { field: None, column: None, value: None, reason }, what.to_owned())
}

/// A field for people.
fn text(line: TextRow<'_>, field: usize) -> Option<String> {
    match line.value(field, &mut Vec::new()) {
        Value::Bytes(text) => Some(Reject::cut(text)),
        _ => None,
    }
}
