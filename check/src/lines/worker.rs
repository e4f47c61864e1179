//! What one worker finds of each line: its faults, and its key in each entity.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use encode::mapped::known::LineAt;
use encode::mapped::{From, Keyless, LineKeys, LineRow, Lines, Lookup, OnConflict, Wanted};
use encode::rejects::{Also, Reject};
use job::error::Error;
use job::position::{Places, Position};
use job::stop::Stop;
use sources::{Chunk, Row, Rows, TextRow, TextRows, Value};

use super::placed::{PlacedRule, bytes, is_unique, placed};
use super::rule::Asks;
use super::shared::Shared;
use super::subject::LineTable;
use super::{BadLine, LinesCheck, LookedUp};
use crate::judge::Judge;

/// Something that is wrong with a line, and what it has in common with others.
type Fault = (Also, String);

/// What is wanted of a table's row in the digest of what it says.
enum Part {
    /// A field of the row.
    Field(usize),
    /// The key of the line in another entity, or in what is looked up.
    Key(usize),
}

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
}

/// A key that each line may have.
struct Slot {
    keys: LineKeys,
    key: Vec<u8>,
    state: Result<(), Keyless>,
    /// The digest that was taken down of this key, if it was that of the line before too.
    taken: Option<u64>,
    /// The key of the line before.
    before: Vec<u8>,
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
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared<'a>) -> sources::Result<Worker<'a>> {
        let check = shared.check;
        let (mut slots, mut slot_of) = (Vec::new(), Vec::new());
        let slot = |of| {
            let keys = LineKeys::new(of, &shared.lines)?;
            let (key, before) = (Vec::new(), Vec::new());
            Ok(Slot { keys, key, state: Err(Keyless::NoRow), taken: None, before })
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
        let seat = |table: &'a LineTable| {
            Ok(Seat {
                row: LineRow::new(&table.mapping, &shared.lines, &table.formats)?,
                judge: Judge::new(&table.rules),
                parts: parts(table, find),
                takes_last: takes_last(table),
                ids: table
                    .ids
                    .iter()
                    .filter_map(|(column, of)| Some((column.as_str(), *by_name.get(of.as_str())?)))
                    .collect(),
                lookups: lookups(table, check.lookups),
                table,
            })
        };
        let seats = check.tables.iter().map(seat).collect::<sources::Result<_>>()?;
        let rules = placed(check, &shared.lines)?;
        Ok(Worker { shared, rules, seats, slots, slot_of, faults: Vec::new() })
    }

    pub(super) fn take(&mut self, chunk: &Chunk, rows: TextRows<'_>) -> Result<(), Stop> {
        let mut places = Places::of(chunk);
        for index in 0..rows.len() {
            let line = rows.row(index);
            let (number, offset) = places.advance(chunk, line.start());
            let at = LineAt { place: (chunk.file, offset), line: number };
            if self.shared.check.left_out.contains(&at.place) {
                continue;
            }
            self.faults.clear();
            self.take_line(rows, index, at)?;
            if !self.faults.is_empty() {
                self.refuse(line, at);
            }
        }
        Ok(())
    }

    fn take_line(&mut self, rows: TextRows<'_>, index: usize, at: LineAt) -> Result<(), Stop> {
        let line = rows.row(index);
        if !self.shared.lines.fit(line) {
            self.faults.push(misfit(line.field_count(), self.shared.lines.width()));
            return Ok(());
        }
        self.apply_rules(line);
        if self.shared.check.judges {
            self.judge(rows, index);
        }
        let is_refused = self.find_keys(rows, index)?;
        if is_refused && self.faults.is_empty() {
            self.judge(rows, index);
        }
        if self.faults.is_empty() {
            self.look_up(rows, index);
            self.look_around(line, at);
        }
        if self.faults.is_empty() {
            self.gather(rows, index, at);
        }
        Ok(())
    }

    /// The keys of a line; whether a value of one is refused.
    fn find_keys(&mut self, rows: TextRows<'_>, index: usize) -> Result<bool, Stop> {
        let mut is_refused = false;
        for Slot { keys, key, state, taken, before } in &mut self.slots {
            std::mem::swap(key, before);
            key.clear();
            *state = keys.of(rows, index).map(|found| key.extend_from_slice(found));
            if key != before {
                *taken = None;
            }
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
    fn look_around(&mut self, line: TextRow<'_>, at: LineAt) {
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
                    let is_other = first.is_some_and(|first| *first != place_digest(at));
                    is_other.then(|| "is to be unique, and a line before has it".to_owned())
                }
            };
            faults.extend(reason.map(|reason| rule.told(line, *field, reason)));
        }
    }

    /// All that is wrong with the values of a line.
    fn judge(&mut self, rows: TextRows<'_>, index: usize) {
        let Worker { seats, faults, .. } = self;
        for Seat { table, row, judge, .. } in seats {
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
        for Seat { table, row, ids, lookups: wanted, .. } in seats {
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
    fn gather(&mut self, rows: TextRows<'_>, index: usize, at: LineAt) {
        let Worker { shared, rules, seats, slots, slot_of, faults } = self;
        let mut digests = Vec::with_capacity(seats.len());
        for (number, (seat, slot)) in seats.iter_mut().zip(slot_of.iter()).enumerate() {
            let slot = slot.filter(|slot| slots[*slot].state.is_ok());
            let Some(slot) = slot else {
                digests.push(None);
                continue;
            };
            let digest = match &seat.parts {
                None => 0,
                Some(parts) => {
                    let row = seat.row.of(rows, index);
                    row.map_or(0, |row| digest(row, parts, slots))
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
            digests.push(Some((slot, digest)));
        }
        if !faults.is_empty() {
            return;
        }
        for PlacedRule { field, when, number, .. } in rules.iter().filter(|of| is_unique(of.rule)) {
            let mut scratch = Vec::new();
            if when.is_met(rows.row(index), &mut scratch)
                && let Some(value) = bytes(rows.row(index), *field, &mut scratch)
            {
                shared.uniques[*number].take(value, at, place_digest(at));
            }
        }
        for ((digest, entities), seat) in digests.into_iter().zip(&shared.entities).zip(seats) {
            if let (Some((slot, digest)), Some(entities)) = (digest, entities) {
                let Slot { key, taken, .. } = &mut slots[slot];
                // What a line before has said, this worker has taken down.
                if seat.takes_last || *taken != Some(digest) {
                    entities.take(key, at, digest);
                    *taken = Some(digest);
                }
            }
        }
    }

    #[cold]
    fn refuse(&mut self, line: TextRow<'_>, at: LineAt) {
        let mut faults = self.faults.drain(..);
        let Some((first, class)) = faults.next() else { return };
        let files = &self.shared.check.options.files;
        let file = files.get(at.place.0 as usize).cloned().unwrap_or_default();
        let position = Position { file, line: at.line, offset: Some(at.place.1) };
        let Also { field, column, value, reason } = first;
        let also = faults.map(|(also, _)| also).collect();
        let raw = line.raw().into_owned();
        let reject = Reject { position, field, column, value, reason, class, also, raw };
        self.shared.refuse(BadLine { place: at.place, reject });
    }
}

fn takes_last(table: &LineTable) -> bool {
    let entity = table.mapping.entity.as_ref();
    entity.is_some_and(|entity| entity.on_conflict == OnConflict::Last)
}

/// What lines of one entity may differ in, besides the key.
fn parts(table: &LineTable, find: impl Fn(&Wanted) -> Option<usize>) -> Option<Vec<Part>> {
    let entity = table.mapping.entity.as_ref()?;
    if matches!(entity.on_conflict, OnConflict::First | OnConflict::Last) {
        return None;
    }
    let columns = table.mapping.columns.iter().flatten().enumerate();
    let part = |(at, (name, from)): (usize, &(String, From))| match from {
        _ if entity.key.contains(name) => None,
        From::Field(_) | From::Joined(_) => Some(Part::Field(at)),
        From::IdOf(of) => find(&Wanted::Id(of.clone())).map(Part::Key),
        From::Lookup(lookup) => find(&Wanted::Looked(lookup.clone())).map(Part::Key),
        From::FileName | From::Line => None,
    };
    Some(columns.filter_map(part).collect())
}

fn digest<R: Row>(row: R, parts: &[Part], slots: &[Slot]) -> u64 {
    let (mut hasher, mut scratch, mut text) = (DefaultHasher::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Field(field) => row.value(*field, &mut scratch).text(&mut text).hash(&mut hasher),
            Part::Key(slot) => {
                let Slot { key, state, .. } = &slots[*slot];
                state.is_ok().then_some(key).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// Each line says something else than another.
fn place_digest(at: LineAt) -> u64 {
    u64::from(at.place.0) << 48 ^ at.place.1
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
fn misfit(seen: usize, expected: usize) -> Fault {
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
