//! Weight of every character: a table of 256-character pages, equal pages kept once.
//!
//! ```text
//! code 0x00e4 -> pages[0x00] -> slots[page * 256 + 0xe4] -> 1 unit: in the slot
//!                                                         2 or more: at pool[offset..]
//! ```
//! A weight is a sequence of *units*, numbers of 1, 2 or 3 bytes (constant per collation) that
//! compare one after the other; an empty weight is an ignorable character. In Unicode collations
//! Han and unassigned characters have computed weights of two units; such pages are not stored.

use std::collections::HashMap;

use super::CollationError;

/// Characters per page.
const PAGE: usize = 256;
/// Slot of a code that is no character of the set.
pub(crate) const NO_CHARACTER: u32 = 31 << COUNT_SHIFT;
/// Slot flag: the character starts a contraction.
pub(crate) const HEAD: u32 = 1 << 31;
/// Most units one character may have.
const UNITS_MAX: usize = 30;
const COUNT_SHIFT: u32 = 24;
const VALUE_MASK: u32 = (1 << COUNT_SHIFT) - 1;
/// Page reference: weights are computed, the low 16 bits are the first unit.
const COMPUTED: u32 = 1 << 31;

/// Weights of a collation's characters, by code: the byte in 8-bit sets, else the code point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    pub(super) unit_bytes: u8,
    pub(super) pages: Vec<u32>,
    pub(super) slots: Vec<u32>,
    pub(super) pool: Vec<u32>,
}

/// Units of one character or contraction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Units<'a> {
    /// At most two, of which the first `n`.
    Few([u32; 2], u8),
    /// Any number.
    Many(&'a [u32]),
}

impl Units<'_> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Units::Few(_, n) => usize::from(*n),
            Units::Many(units) => units.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, i: usize) -> u32 {
        match self {
            Units::Few(units, _) => units[i & 1],
            Units::Many(units) => units[i],
        }
    }
}

impl Weights {
    /// Slot of `code`: what the fast paths look at, [`NO_CHARACTER`] when it has none.
    #[inline]
    fn slot(&self, code: u32) -> Result<u32, u32> {
        match self.pages.get((code / PAGE as u32) as usize) {
            None => Ok(NO_CHARACTER),
            Some(&page) if page & COMPUTED != 0 => Err(page & 0xffff),
            Some(&page) => Ok(self.slots[page as usize * PAGE + code as usize % PAGE]),
        }
    }

    /// The unit of `code` if it has exactly one and starts no contraction.
    #[inline]
    pub(crate) fn single_unit(&self, code: u32) -> Option<u32> {
        let &page = self.pages.get((code / PAGE as u32) as usize)?;
        // A computed page's reference is past the end of the slots.
        let &slot = self.slots.get((page as usize).wrapping_mul(PAGE) + code as usize % PAGE)?;
        (slot >> COUNT_SHIFT == 1).then_some(slot & VALUE_MASK)
    }

    /// Units of `code` and whether it starts a contraction; None when it is no character.
    #[inline]
    pub(crate) fn get(&self, code: u32) -> Option<(Units<'_>, bool)> {
        let slot = match self.slot(code) {
            Ok(slot) => slot,
            Err(first) => return Some((Units::Few([first, computed_tail(code)], 2), false)),
        };
        let value = slot & VALUE_MASK;
        let units = match (slot & !HEAD) >> COUNT_SHIFT {
            0 => Units::Few([0, 0], 0),
            1 => Units::Few([value, 0], 1),
            count if count as usize <= UNITS_MAX => {
                Units::Many(&self.pool[value as usize..(value + count) as usize])
            }
            _ => return None,
        };
        Some((units, slot & HEAD != 0))
    }

    /// Bytes of a unit: 1 to 3.
    pub fn unit_bytes(&self) -> usize {
        usize::from(self.unit_bytes)
    }

    /// Bytes of memory (and about the bytes in a cache file).
    pub fn bytes(&self) -> usize {
        4 * (self.pages.len() + self.slots.len() + self.pool.len())
    }

    /// True if any weight contains a unit of zero.
    pub(crate) fn has_zero_unit(&self) -> bool {
        let zero_slot = self.slots.iter().any(|&slot| slot & !HEAD == 1 << COUNT_SHIFT);
        zero_slot || self.pool.contains(&0)
    }

    /// True if every character has exactly one unit.
    pub(crate) fn is_uniform(&self) -> bool {
        let one = |&slot: &u32| slot == NO_CHARACTER || (slot & !HEAD) >> COUNT_SHIFT == 1;
        self.slots.iter().all(one) && self.pages.iter().all(|page| page & COMPUTED == 0)
    }

    /// Marks `code` as one that starts contractions, in a page of its own if it shared one.
    pub(crate) fn mark_head(&mut self, code: u32) {
        let page_no = (code / PAGE as u32) as usize;
        let Some(&page) = self.pages.get(page_no) else { return };
        let own = self.pages.iter().filter(|&&other| other == page).count() == 1;
        if page & COMPUTED != 0 || !own {
            let base = (page_no * PAGE) as u32;
            let slots: Vec<u32> = (base..base + PAGE as u32).map(|c| self.stored_slot(c)).collect();
            self.pages[page_no] = (self.slots.len() / PAGE) as u32;
            self.slots.extend(slots);
        }
        let at = self.pages[page_no] as usize * PAGE + code as usize % PAGE;
        self.slots[at] |= HEAD;
    }

    /// Slot of `code` for a stored page, computed weights put into the pool.
    fn stored_slot(&mut self, code: u32) -> u32 {
        match self.slot(code) {
            Ok(slot) => slot & !HEAD,
            Err(first) => {
                let offset = self.pool.len() as u32;
                self.pool.extend([first, computed_tail(code)]);
                (2 << COUNT_SHIFT) | offset
            }
        }
    }

    /// Checks what an intact table has by construction: every reference points inside.
    pub(super) fn check(&self) -> bool {
        let pages = self.slots.len() / PAGE;
        let page_ok = |&page: &u32| page & COMPUTED != 0 || (page as usize) < pages;
        let slot_ok = |&slot: &u32| match (slot & !HEAD) >> COUNT_SHIFT {
            0 | 1 | 31 => true,
            count => ((slot & VALUE_MASK) + count) as usize <= self.pool.len() && count < 31,
        };
        (1..=3).contains(&self.unit_bytes)
            && self.slots.len().is_multiple_of(PAGE)
            && self.pages.iter().all(page_ok)
            && self.slots.iter().all(slot_ok)
    }
}

/// Second unit of a computed weight. Source: UCA 10.1.3, implicit weights.
#[inline]
fn computed_tail(code: u32) -> u32 {
    (code & 0x7fff) | 0x8000
}

/// Collects weights in ascending order of code.
#[derive(Debug)]
pub struct WeightsBuilder {
    weights: Weights,
    /// Slots of the open page; units of expansions are in `page_pool`.
    page: Vec<u32>,
    page_pool: Vec<u32>,
    page_no: usize,
    known_pages: HashMap<Vec<u32>, u32>,
    known_expansions: HashMap<Vec<u32>, u32>,
}

impl WeightsBuilder {
    /// An empty table whose units have `unit_bytes` bytes (1 to 3).
    pub fn new(unit_bytes: u8) -> WeightsBuilder {
        let weights =
            Weights { unit_bytes, pages: Vec::new(), slots: Vec::new(), pool: Vec::new() };
        WeightsBuilder {
            weights,
            page: vec![NO_CHARACTER; PAGE],
            page_pool: Vec::new(),
            page_no: 0,
            known_pages: HashMap::new(),
            known_expansions: HashMap::new(),
        }
    }

    /// Adds the weight of `code`, which must exceed all codes before it; codes left out are no
    /// characters. `weight` is what `WEIGHT_STRING` gave.
    ///
    /// Errors: a weight that is not a whole number of units, or has more than 30.
    pub fn push(&mut self, code: u32, weight: &[u8]) -> Result<(), CollationError> {
        let page_no = (code / PAGE as u32) as usize;
        assert!(page_no >= self.page_no, "codes ascend");
        while self.page_no < page_no {
            self.close_page();
        }
        let offset = self.page_pool.len();
        self.page_pool.extend(units_of(weight, self.weights.unit_bytes));
        let count = self.page_pool.len() - offset;
        if count > UNITS_MAX || count * self.weights.unit_bytes() != weight.len() {
            return Err(CollationError::Weight { code, bytes: weight.len() });
        }
        let value = match count {
            1 => self.page_pool[offset],
            _ => offset as u32,
        };
        if count < 2 {
            self.page_pool.truncate(offset);
        }
        let value = if count == 0 { 0 } else { value };
        self.page[code as usize % PAGE] = ((count as u32) << COUNT_SHIFT) | value;
        Ok(())
    }

    fn close_page(&mut self) {
        let reference = match self.computed_first() {
            Some(first) => COMPUTED | first,
            None => self.store_page(),
        };
        self.weights.pages.push(reference);
        self.page.fill(NO_CHARACTER);
        self.page_pool.clear();
        self.page_no += 1;
    }

    /// First unit of the open page if all its weights follow the rule for computed ones.
    fn computed_first(&self) -> Option<u32> {
        let base = (self.page_no * PAGE) as u32;
        let &first = self.page_pool.first()?;
        let follows = |(i, &slot): (usize, &u32)| {
            let at = (slot & VALUE_MASK) as usize;
            slot >> COUNT_SHIFT == 2
                && self.page_pool[at..at + 2] == [first, computed_tail(base + i as u32)]
        };
        (self.weights.unit_bytes == 2 && self.page.iter().enumerate().all(follows)).then_some(first)
    }

    /// Moves the open page into the table, or finds the equal one.
    fn store_page(&mut self) -> u32 {
        let pool = &mut self.weights.pool;
        for slot in &mut self.page {
            let (count, at) = ((*slot >> COUNT_SHIFT) as usize, (*slot & VALUE_MASK) as usize);
            if (2..=UNITS_MAX).contains(&count) {
                let units = &self.page_pool[at..at + count];
                let offset = *self.known_expansions.entry(units.to_vec()).or_insert_with(|| {
                    pool.extend_from_slice(units);
                    (pool.len() - count) as u32
                });
                *slot = ((count as u32) << COUNT_SHIFT) | offset;
            }
        }
        let slots = &mut self.weights.slots;
        *self.known_pages.entry(self.page.clone()).or_insert_with(|| {
            slots.extend_from_slice(&self.page);
            (slots.len() / PAGE - 1) as u32
        })
    }

    /// The finished table.
    pub fn finish(mut self) -> Weights {
        self.close_page();
        self.weights
    }
}

/// Units of a weight string; a rest that is no whole unit is left out.
pub(super) fn units_of(weight: &[u8], unit_bytes: u8) -> impl Iterator<Item = u32> {
    let number = |part: &[u8]| part.iter().fold(0, |n, &byte| (n << 8) | u32::from(byte));
    weight.chunks_exact(usize::from(unit_bytes)).map(number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn units(weights: &Weights, code: u32) -> Option<Vec<u32>> {
        weights.get(code).map(|(units, _)| (0..units.len()).map(|i| units.get(i)).collect())
    }

    #[test]
    fn computed_and_equal_pages_take_no_room() {
        let mut builder = WeightsBuilder::new(2);
        for code in 0..0x500_u32 {
            let tail = ((code & 0x7fff) | 0x8000).to_be_bytes();
            match code {
                0..0x200 => builder.push(code, &[0x12, 0x34]).unwrap(),
                0x200..0x400 => builder.push(code, &[0xfb, 0x40, tail[2], tail[3]]).unwrap(),
                0x480 => builder.push(code, &[0, 1, 0, 2, 0, 3]).unwrap(),
                0x481 => builder.push(code, &[]).unwrap(),
                _ => (),
            }
        }
        let mut weights = builder.finish();
        assert!(weights.check());
        assert_eq!(weights.slots.len(), 2 * PAGE);
        for head in [0x123, 0x234, 0x480] {
            let before: Vec<_> = (0..0x600).map(|code| units(&weights, code)).collect();
            weights.mark_head(head);
            assert!(weights.check());
            let after: Vec<_> = (0..0x600).map(|code| units(&weights, code)).collect();
            assert_eq!(before, after);
            assert!(weights.get(head).unwrap().1);
        }
        assert_eq!((0..0x600).filter(|&c| weights.get(c).is_some_and(|(_, head)| head)).count(), 3);
        assert_eq!(units(&weights, 0x3ff), Some(vec![0xfb40, 0x83ff]));
        assert_eq!(units(&weights, 0x480), Some(vec![1, 2, 3]));
        assert_eq!(units(&weights, 0x481), Some(vec![]));
        assert_eq!(units(&weights, 0x482), None);
        assert_eq!(units(&weights, 0x10_ffff), None);
    }

    #[test]
    fn a_weight_of_half_a_unit_is_an_error() {
        let mut builder = WeightsBuilder::new(2);
        assert!(builder.push(7, &[1, 2, 3]).is_err());
        assert!(builder.push(8, &[0; 62]).is_err());
    }
}
