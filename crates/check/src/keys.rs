//! Keys in order: those that rows of the input share, that the table has, that parents lack.

use std::cmp::Ordering;

use encode::rejects::FaultCounts;
use job::error::Error;
use job::stop::Stop;
use schema::{Reference, TableName};
use server::{Interrupt, Session};
use sort::{KeyRange, Merge, Runs};
use targets::key_run::read::KeyRows;

use crate::fault_report;
use crate::findings::{Findings, What};
use crate::key_lookups::{KeyLookup, Purpose};
use crate::place::Place;

/// Keys after which it is looked whether somebody wants the end.
const KEYS_PER_LOOK: u64 = 4096;

/// The tables that keys are compared with.
pub(crate) struct Tables<'s> {
    pub(crate) session: &'s mut Session,
    pub(crate) table: &'s TableName,
    /// True if the table keeps its rows.
    pub(crate) keeps_rows: bool,
    pub(crate) interrupt: &'s Interrupt,
}

impl Tables<'_> {
    /// Goes through the keys of a look, one of all, and takes down what is found. False where the
    /// server does not show the keys of a table in a form that tells them, or in another order: what tables
    /// have counts for nothing then.
    pub(crate) fn look(
        &mut self,
        look: &KeyLookup,
        looks: &[KeyLookup],
        runs: &[Runs],
        findings: &mut Findings<'_>,
        faults: &mut FaultCounts,
    ) -> Result<bool, Stop> {
        let (all, number) = (KeyRange::all(), look.number);
        let at = usize::from(number);
        // Parents in the same input.
        let is_own =
            |of: &KeyLookup| matches!(of.purpose, Purpose::Referred) && of.name == look.name;
        let own = at.checked_sub(1).filter(|&before| is_own(&looks[before]));
        let own = own.map(|own| Keys::begin(&runs[own], &all)).transpose()?;
        let reference = match &look.purpose {
            Purpose::Unique => &self.to_itself(look),
            Purpose::Refers(reference) => reference,
            Purpose::Referred => return Ok(true),
        };
        let mut walk = Walk {
            keys: Keys::begin(&runs[at], &all)?,
            own,
            number,
            is_unique: matches!(look.purpose, Purpose::Unique),
            first: None,
            last: Vec::new(),
            bound: Vec::new(),
            shared: 0,
            wrong: 0,
            is_blind: false,
            findings,
            interrupt: self.interrupt,
            done: 0,
        };
        if !self.pass_all(look, reference, &mut walk)? {
            walk.is_blind = true;
        }
        if walk.is_unique || !walk.is_blind {
            walk.up_to(None)?;
        }
        let Walk { shared, wrong, is_blind, .. } = walk;
        let mut count = |what: What, rows: u64| {
            faults.add(Some(look.columns.join(", ")), fault_report::class(look, what), rows);
        };
        count(What::Shared(number), shared);
        if !is_blind {
            count(What::Table(number), wrong);
        }
        Ok(!is_blind)
    }

    /// A unique key, as one that a row of the input must not have to the table.
    fn to_itself(&self, look: &KeyLookup) -> Reference {
        Reference {
            name: look.name.clone(),
            columns: look.columns.clone(),
            parent: self.table.clone(),
            parent_columns: look.columns.clone(),
            rules: String::new(),
        }
    }

    /// Has the keys of the other table pass; false where the server does not show them so that they can
    /// be compared.
    fn pass_all(
        &mut self,
        look: &KeyLookup,
        reference: &Reference,
        walk: &mut Walk<'_, '_>,
    ) -> Result<bool, Stop> {
        let parent = &reference.parent;
        let is_gone = *parent == *self.table && !self.keeps_rows;
        let session = &mut *self.session;
        if !walk.keys.is_there
            || is_gone
            || !catalog::exists(session, parent)?
            || catalog::is_empty(session, parent)?
        {
            return Ok(true);
        }
        let Some(shape) = &look.of else { return Ok(false) };
        let Some(mut rows) = KeyRows::new(session, shape, reference, parent)? else {
            return Ok(false);
        };
        let (mut key, mut stopped) = (Vec::new(), None);
        let passed = session.for_each(&rows.statement(parent), |row| {
            // What is no value of the column here is no key of a row.
            if rows.read(&row, &mut key)
                && let Err(stop) = walk.pass(&key)
            {
                stopped = Some(stop);
                return Err(server::Error::Interrupted);
            }
            Ok(())
        });
        match stopped {
            Some(stop) => Err(stop),
            None => passed.map(|()| !walk.is_blind).map_err(|e| Error::from(e).into()),
        }
    }
}

/// The keys of a look, ascending, with the places of their rows.
struct Keys<'r> {
    merge: Merge<'r>,
    key: Vec<u8>,
    place: Place,
    is_there: bool,
}

impl<'r> Keys<'r> {
    fn begin(runs: &'r Runs, all: &'r KeyRange) -> Result<Keys<'r>, Stop> {
        let (key, place) = (Vec::new(), Place::default());
        let mut keys = Keys { merge: runs.merge(all)?, key, place, is_there: true };
        keys.advance()?;
        Ok(keys)
    }

    fn advance(&mut self) -> Result<(), Stop> {
        let entry = self.merge.next()?;
        self.is_there = entry.is_some();
        if let Some((entry, _)) = entry {
            let (key, place) = entry.split_at(entry.len() - Place::BYTES);
            self.key.clear();
            self.key.extend_from_slice(key);
            self.place = Place::from_bytes(place);
        }
        Ok(())
    }

    /// True if `wanted` is among them. Each call asks for a greater key than the one before.
    fn has(&mut self, wanted: &[u8]) -> Result<bool, Stop> {
        while self.is_there && self.key.as_slice() < wanted {
            self.advance()?;
        }
        Ok(self.is_there && self.key == wanted)
    }
}

/// Goes through the keys of the input while those of a table pass.
struct Walk<'r, 'f> {
    keys: Keys<'r>,
    own: Option<Keys<'r>>,
    number: u16,
    is_unique: bool,
    /// Where the key at hand was first.
    first: Option<Place>,
    last: Vec<u8>,
    /// The key that passed last.
    bound: Vec<u8>,
    /// Rows with the key of a row before them in the input.
    shared: u64,
    /// Rows whose key the table has, or that refer to nothing.
    wrong: u64,
    is_blind: bool,
    findings: &'r mut Findings<'f>,
    interrupt: &'r Interrupt,
    done: u64,
}

impl Walk<'_, '_> {
    /// A key of the table.
    fn pass(&mut self, key: &[u8]) -> Result<(), Stop> {
        if key < self.bound.as_slice() {
            self.is_blind = true;
        }
        self.bound.clear();
        self.bound.extend_from_slice(key);
        match self.is_blind {
            true => Ok(()),
            false => self.up_to(Some(key)),
        }
    }

    /// Takes all keys of the input up to `bound`, which the table has, or the rest of them.
    fn up_to(&mut self, bound: Option<&[u8]>) -> Result<(), Stop> {
        while self.keys.is_there {
            let order = bound.map(|bound| self.keys.key.as_slice().cmp(bound));
            if order == Some(Ordering::Greater) {
                return Ok(());
            }
            let is_met = order == Some(Ordering::Equal);
            if self.is_unique {
                self.take_unique(is_met)?
            } else {
                self.take_referring(is_met)?
            }
            self.keys.advance()?;
            self.done += 1;
            if self.done.is_multiple_of(KEYS_PER_LOOK) {
                self.interrupt.check()?;
            }
        }
        Ok(())
    }

    fn take_unique(&mut self, is_met: bool) -> Result<(), Stop> {
        let Keys { key, place, .. } = &self.keys;
        if is_met {
            self.wrong += 1;
            self.findings.push(*place, What::Table(self.number), &[])?;
        }
        match self.first {
            Some(first) if *key == self.last => {
                self.shared += 1;
                self.findings.push(*place, What::Shared(self.number), &first.to_bytes())
            }
            _ => {
                self.first = Some(*place);
                self.last.clone_from(key);
                Ok(())
            }
        }
    }

    fn take_referring(&mut self, is_met: bool) -> Result<(), Stop> {
        let is_own = match &mut self.own {
            Some(own) if !is_met => own.has(&self.keys.key)?,
            _ => false,
        };
        if is_met || is_own {
            return Ok(());
        }
        self.wrong += 1;
        self.findings.push(self.keys.place, What::Table(self.number), &[])
    }
}
