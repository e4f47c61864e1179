//! The keys that a line may have: of the entities in it, and of the rows that it refers to.

use encode::mapped::{KeyOf, Keyless, LineKeys, Lines, RowReference};
use job::error::Error;
use job::stop::Stop;
use sources::TextRows;

use super::{LinesCheck, LookedUp};

/// A key that each line may have.
struct Slot {
    keys: LineKeys,
    key: Vec<u8>,
    state: Result<(), Keyless>,
    /// The line that it is of, as they are counted here.
    line: u64,
}

/// The keys of the line at hand, each made when somebody asks for it first.
pub(super) struct Keys<'a> {
    check: &'a LinesCheck<'a>,
    /// One a table, if its rows are entities, and behind those one for each that is looked up.
    slots: Vec<Option<Slot>>,
    /// The line at hand: the how manieth it is, from 1.
    line: u64,
}

impl<'a> Keys<'a> {
    pub(super) fn new(check: &'a LinesCheck<'a>, lines: &Lines) -> sources::Result<Keys<'a>> {
        let slot = |of: &KeyOf| {
            let keys = LineKeys::new(of, lines)?;
            Ok(Slot { keys, key: Vec::new(), state: Err(Keyless::NoRow), line: 0 })
        };
        let of_tables = check.tables.iter().map(|table| table.key.as_ref());
        let all = of_tables.chain(check.lookups.iter().map(|looked| Some(&looked.key)));
        let slots = all.map(|key| key.map(slot).transpose()).collect::<sources::Result<_>>()?;
        Ok(Keys { check, slots, line: 0 })
    }

    /// The slot of the table of that name, if it has one.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        let number =
            self.check.tables.iter().position(|table| table.name().eq_ignore_ascii_case(name))?;
        self.slots[number].as_ref().map(|_| number)
    }

    /// The slot of what is looked up, by its number.
    pub(super) fn looked_up(&self, number: usize) -> usize {
        self.check.tables.len() + number
    }

    /// The slot of what a column wants.
    pub(super) fn wanted(&self, wanted: &RowReference) -> Option<usize> {
        match wanted {
            RowReference::Id(name) => self.named(name),
            RowReference::Looked(lookup) => {
                let at = self.check.lookups.iter().position(|known| known.lookup == *lookup);
                at.map(|at| self.looked_up(at))
            }
        }
    }

    /// The next line is at hand.
    pub(super) fn advance(&mut self) {
        self.line += 1;
    }

    /// Makes keys of the line at hand; whether a value of one is refused.
    pub(super) fn find(
        &mut self,
        wanted: impl Iterator<Item = usize>,
        rows: TextRows<'_>,
        index: usize,
    ) -> Result<bool, Stop> {
        let mut is_refused = false;
        for slot in wanted {
            let Some(Slot { keys, key, state, line }) = &mut self.slots[slot] else { continue };
            if std::mem::replace(line, self.line) == self.line {
                continue;
            }
            key.clear();
            *state = keys.of(rows, index).map(|found| key.extend_from_slice(found));
            match state {
                Err(Keyless::Refused) => is_refused = true,
                Err(Keyless::Unordered) => return Err(unordered()),
                _ => {}
            }
        }
        Ok(is_refused)
    }

    /// The key in a slot, if the line has one.
    pub(super) fn get(&self, slot: usize) -> Option<&[u8]> {
        let Slot { key, state, .. } = self.slots[slot].as_ref()?;
        state.is_ok().then_some(key.as_slice())
    }

    /// True if the line has no row for a key.
    pub(super) fn has_no_row(&self, slot: usize) -> bool {
        self.slots[slot].as_ref().is_some_and(|slot| slot.state == Err(Keyless::NoRow))
    }

    /// The lookup of this number, if the line refers to a row that it lacks.
    pub(super) fn missed(&self, number: usize) -> Option<&'a LookedUp> {
        let looked = &self.check.lookups[number];
        let slot = self.looked_up(number);
        let is_there = match self.get(slot) {
            Some(key) => looked.known.find(key).is_some(),
            None => self.has_no_row(slot),
        };
        (!is_there).then_some(looked)
    }

    /// The lookup of this number, and why rows of a table cannot have the value that it has for the line.
    pub(super) fn unusable(&self, number: usize, table: usize) -> Option<(&'a LookedUp, &'a str)> {
        let looked = &self.check.lookups[number];
        if looked.faults.is_empty() {
            return None;
        }
        let slot = self.looked_up(number);
        let row = match self.get(slot) {
            Some(key) => Some(looked.known.find(key)?),
            None if self.has_no_row(slot) => None,
            None => return None,
        };
        looked.faults.get(&(table, row)).map(|reason| (looked, reason.as_str()))
    }
}

#[cold]
fn unordered() -> Stop {
    Error::Usage(
        "the collation of a key has an unknown order for some of its values, so the key cannot \
         distinguish rows"
            .to_owned(),
    )
    .into()
}
