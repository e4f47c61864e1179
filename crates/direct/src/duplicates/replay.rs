//! The server's rules, row by row: only for rows that share a key with others.
//!
//! A holder is the row that has a key at the moment. A row that is skipped holds nothing; one
//! that replaces others takes all of its keys, and the rows it took any from are gone, so what
//! they still hold counts no more.

use std::path::Path;

use job::options::OnDuplicate;
use job::stop::Stop;
use server::Interrupt;
use sort::{KeyRange, Runs};
use values::decode::big_endian;

use crate::duplicates::groups::Member;
use crate::duplicates::loser::Loser;
use crate::duplicates::row_position::Place;
use crate::duplicates::table::Table;

/// Bytes of a [`Holder`] in its table.
const HOLDER_BYTES: usize = Place::BYTES + 8;

/// Who has the key of a group.
#[derive(Clone, Copy, Debug)]
struct Holder {
    place: Place,
    /// Number of the row among those that are replayed.
    number: u64,
}

impl Holder {
    fn to_bytes(self) -> [u8; HOLDER_BYTES] {
        let mut bytes = [0; HOLDER_BYTES];
        bytes[..Place::BYTES].copy_from_slice(&self.place.to_bytes());
        // 0 is nobody.
        bytes[Place::BYTES..].copy_from_slice(&(self.number + 1).to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; HOLDER_BYTES]) -> Option<Holder> {
        let number = big_endian(&bytes[Place::BYTES..]).checked_sub(1)?;
        Some(Holder { place: Place::from_bytes(&bytes), number })
    }
}

/// Goes through all members of `groups` groups in input order; gives the losers in no order.
pub(crate) fn replay(
    members: &Runs,
    groups: u64,
    on_duplicate: OnDuplicate,
    memory_bytes_max: usize,
    folder: &Path,
    interrupt: &Interrupt,
    mut lose: impl FnMut(Loser) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let is_replace = on_duplicate.replaces();
    // A row that is skipped is never a holder: only those that are replaced must be known.
    let rows = if is_replace { members.entries() } else { 0 };
    let share = |parts: usize| memory_bytes_max / (HOLDER_BYTES + 1) * parts;
    let mut replay = Replay {
        holders: Table::new(groups, share(HOLDER_BYTES), folder)?,
        gone: Table::new(rows, share(1), folder)?,
    };
    let all = KeyRange::all();
    let mut merge = members.merge(&all)?;
    let mut row = Vec::new();
    let mut number = 0;
    loop {
        let next = merge.next()?.map(|(bytes, _)| Member::from_bytes(bytes));
        let is_same = |first: &Member| next.is_some_and(|next| next.place == first.place);
        if !row.first().is_none_or(is_same) {
            interrupt.check()?;
            if is_replace {
                replay.replace(&row, number, &mut lose)?;
            } else {
                replay.skip(&row, number, &mut lose)?;
            }
            row.clear();
            number += 1;
        }
        match next {
            Some(next) => row.push(next),
            None => return Ok(()),
        }
    }
}

struct Replay {
    /// By group.
    holders: Table<HOLDER_BYTES>,
    /// By number of the row: 1 once it was replaced.
    gone: Table<1>,
}

impl Replay {
    /// A row that loses to the first holder of any of its keys, else holds them all.
    fn skip(
        &mut self,
        row: &[Member],
        number: u64,
        lose: &mut impl FnMut(Loser) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        for &Member { place, index, group } in row {
            if let Some(holder) = Holder::from_bytes(self.holders.get(group)?) {
                return lose(Loser { place, index, winner: holder.place });
            }
        }
        self.hold(row, number)
    }

    /// A row to which every holder of any of its keys loses.
    fn replace(
        &mut self,
        row: &[Member],
        number: u64,
        lose: &mut impl FnMut(Loser) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        for &Member { place, index, group } in row {
            if let Some(holder) = Holder::from_bytes(self.holders.get(group)?)
                && self.gone.get(holder.number)? == [0]
            {
                self.gone.set(holder.number, &[1])?;
                lose(Loser { place: holder.place, index, winner: place })?;
            }
        }
        self.hold(row, number)
    }

    fn hold(&mut self, row: &[Member], number: u64) -> Result<(), Stop> {
        for &Member { place, group, .. } in row {
            self.holders.set(group, &Holder { place, number }.to_bytes())?;
        }
        Ok(())
    }
}
