//! Rules between the pages of one tree: siblings, levels, node pointers, counts.
//!
//! Siblings are checked on the summaries alone. Then each level above the leaves is read once, from left to right,
//! which must name the pages of the level below in the order of their links: so each page has one parent, and none is
//! left over. A node pointer and the first key of its child are compared by checksum; only where a server has changed
//! the child since are keys compared.

use core::cmp::Ordering;

use crate::ids::FIL_NULL;
use crate::index_page::{INFIMUM, SUPREMUM, index_header, next_record};
use crate::page::{PageBytes, u32_at};
use crate::page_kind::PageKind;
use crate::record::CHILD;
use crate::source::{ReadError, page_buffer, read_page};
use crate::verify::corrupt::{Corrupt, Rule, Violations};
use crate::verify::plan::RecordPlan;
use crate::verify::records::is_minimum;
use crate::verify::summary::PageSummary;
use crate::verify::{IndexReport, Verifier, Writer};

/// Checks the tree of one index.
pub(crate) struct Tree<'a> {
    verifier: &'a Verifier<'a>,
    index: usize,
    summaries: &'a [PageSummary],
    /// One bit a page: reached already, on any path.
    seen: &'a mut [u64],
    violations: &'a mut Violations,
}

/// A node pointer.
#[derive(Clone, Copy)]
struct Pointer {
    page_no: u32,
    origin: usize,
    level: u8,
    child: u32,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(
        verifier: &'a Verifier<'a>,
        index: usize,
        summaries: &'a [PageSummary],
        seen: &'a mut [u64],
        violations: &'a mut Violations,
    ) -> Tree<'a> {
        Tree { verifier, index, summaries, seen, violations }
    }

    /// Checks the node pointers, level by level, if the columns are known.
    ///
    /// Errors: a page that cannot be read again.
    pub(crate) fn check(&mut self, report: &IndexReport) -> Result<(), ReadError> {
        let rules = &self.verifier.rules.indexes[self.index];
        let Some(plan) = &rules.node else { return Ok(()) };
        let Some(root) = self.summary(rules.root).filter(|root| self.is_own(root)) else {
            return Ok(());
        };
        let mut leftmost = rules.root;
        for level in (1..=root.level).rev() {
            match self.check_level(plan, level, leftmost)? {
                Some(first) => leftmost = first,
                None => return Ok(()),
            }
        }
        if !report.is_damaged {
            self.check_orphans(rules.root);
        }
        Ok(())
    }

    fn summary(&self, page_no: u32) -> Option<&'a PageSummary> {
        self.summaries.get(page_no as usize)
    }

    fn is_own(&self, summary: &PageSummary) -> bool {
        summary.kind == PageKind::Index && usize::from(summary.index) == self.index
    }

    /// Reads a level from its leftmost page; gives the leftmost page of the level below, or
    /// `None` when the way is broken.
    fn check_level(
        &mut self,
        plan: &RecordPlan,
        level: u8,
        leftmost: u32,
    ) -> Result<Option<u32>, ReadError> {
        let mut page = page_buffer();
        let mut page_no = leftmost;
        let mut first_child = None;
        let mut prev_child = FIL_NULL;
        // Links were found to be symmetrical, but not that this page is on a level that ends.
        for _ in 0..self.summaries.len() {
            let whole = self.summary(page_no).filter(|summary| self.is_own(summary));
            let Some(whole) = whole.filter(|summary| summary.level == level) else {
                return Ok(None);
            };
            read_page(self.verifier.source, page_no, &mut page)?;
            for origin in Origins::new(&page) {
                let Some(extent) = plan.extent(&page, origin) else { return Ok(None) };
                let child = u32_at(&page, extent.end - CHILD);
                let pointer = Pointer { page_no, origin, level, child };
                if !self.check_child(pointer, &page, plan, prev_child)? {
                    return Ok(None);
                }
                first_child.get_or_insert(child);
                prev_child = child;
            }
            page_no = whole.next;
            if page_no == FIL_NULL {
                self.check_last_child(prev_child);
                break;
            }
        }
        Ok(first_child)
    }

    /// Checks one child; false if the level below cannot be followed.
    fn check_child(
        &mut self,
        pointer: Pointer,
        page: &PageBytes,
        plan: &RecordPlan,
        prev_child: u32,
    ) -> Result<bool, ReadError> {
        let Pointer { page_no, origin, level, child } = pointer;
        let Some(summary) = self.summary(child) else {
            let seen = format!("node pointer leads to page {child}");
            let expected = format!("one of the {} pages of the file", self.summaries.len());
            self.bad(pointer, Rule::NodePointer, seen, expected);
            return Ok(true);
        };
        if summary.kind == PageKind::Corrupt {
            return Ok(true);
        }
        if !self.is_own(summary) || child == self.verifier.rules.indexes[self.index].root {
            let seen = format!("node pointer leads to page {child}, {}", summary.kind.name());
            self.bad(pointer, Rule::NodePointer, seen, "another page of the same index");
            return Ok(true);
        }
        if summary.level + 1 != level {
            let seen = format!("node pointer leads to page {child} of level {}", summary.level);
            self.bad(pointer, Rule::Level, seen, format!("level {}", level - 1));
            return Ok(true);
        }
        if !self.take(child) {
            let seen = format!("a second node pointer leads to page {child}");
            self.bad(pointer, Rule::NodePointer, seen, "one node pointer for each page");
            return Ok(true);
        }
        if summary.prev != prev_child && !self.is_corrupt(prev_child) {
            let seen = format!("page {child} has left sibling {}", link(summary.prev));
            let expected = format!(
                "{}, the child of the node pointer before the one at byte {origin} of page \
                 {page_no}",
                link(prev_child)
            );
            let corrupt = Corrupt::at(child, 8, Rule::Sibling, seen, expected);
            self.violations.push(corrupt);
        }
        self.check_key(pointer, page, plan, prev_child, summary)?;
        Ok(true)
    }

    fn check_last_child(&mut self, last: u32) {
        let Some(summary) = self.summary(last).filter(|summary| self.is_own(summary)) else {
            return;
        };
        if summary.next != FIL_NULL {
            let seen = format!("page {last} has right sibling {}", summary.next);
            let expected = "none, because the page's node pointer is the last one";
            self.violations.push(Corrupt::at(last, 12, Rule::Sibling, seen, expected));
        }
    }

    fn is_corrupt(&self, page_no: u32) -> bool {
        self.summary(page_no).is_some_and(|summary| summary.kind == PageKind::Corrupt)
    }

    fn take(&mut self, page_no: u32) -> bool {
        let word = &mut self.seen[page_no as usize / 64];
        let bit = 1 << (page_no % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn bad(&mut self, pointer: Pointer, rule: Rule, seen: String, expected: impl Into<String>) {
        self.violations.push(Corrupt::at(pointer.page_no, pointer.origin, rule, seen, expected));
    }

    /// The key of a node pointer is the first key of its child. A server leaves it when it deletes that record: then it
    /// lies above all keys of the page before, and not above any of the child. On the left edge it means nothing.
    fn check_key(
        &mut self,
        pointer: Pointer,
        page: &PageBytes,
        plan: &RecordPlan,
        prev_child: u32,
        child: &PageSummary,
    ) -> Result<(), ReadError> {
        let order = &self.verifier.rules.indexes[self.index].order;
        let mut spans = Vec::new();
        plan.key_spans(page, pointer.origin, &mut spans);
        if !child.has_first_key || order.checksum(page, &spans) == child.first_key {
            return Ok(());
        }
        let is_left_edge = prev_child == FIL_NULL;
        let fits = match self.verifier.rules.writer {
            Writer::Loader => false,
            Writer::Server if is_left_edge => true,
            Writer::Server => {
                let above_child = self.compare_with(pointer.child, page, &spans, Origins::first)?;
                let above_prev = self.compare_with(prev_child, page, &spans, Origins::last)?;
                above_child != Some(Ordering::Greater)
                    && !matches!(above_prev, Some(Ordering::Less | Ordering::Equal))
            }
        };
        if !fits {
            let seen =
                format!("key of the node pointer is not the first of page {}", pointer.child);
            let expected = "that first key, or a key between the page before and that first key";
            self.bad(pointer, Rule::NodePointer, seen, expected);
        }
        Ok(())
    }

    /// Compares a key with that of one record of another page; `None` where it cannot be known.
    fn compare_with(
        &self,
        page_no: u32,
        key_page: &PageBytes,
        key: &[crate::record::FieldSpan],
        pick: impl Fn(&PageBytes) -> Option<usize>,
    ) -> Result<Option<Ordering>, ReadError> {
        let rules = &self.verifier.rules.indexes[self.index];
        let Some(summary) = self.summary(page_no).filter(|summary| self.is_own(summary)) else {
            return Ok(None);
        };
        let plan = if summary.level == 0 { &rules.leaf } else { &rules.node };
        let mut page = page_buffer();
        read_page(self.verifier.source, page_no, &mut page)?;
        let mut spans = Vec::new();
        let picked = pick(&page).filter(|origin| !is_minimum(&page, *origin));
        let found = plan.as_ref().zip(picked);
        if !found.is_some_and(|(plan, origin)| plan.key_spans(&page, origin, &mut spans)) {
            return Ok(None);
        }
        Ok(rules.order.compare(key_page, key, &page[..], &spans).ordering)
    }

    /// Every page of the index but its root was reached.
    fn check_orphans(&mut self, root: u32) {
        for (page_no, summary) in self.summaries.iter().enumerate() {
            let is_seen = self.seen[page_no / 64] & (1 << (page_no % 64)) != 0;
            if self.is_own(summary) && page_no as u32 != root && !is_seen {
                let seen = format!("page of level {} is not in the tree", summary.level);
                let expected = format!("a node pointer on level {}", summary.level + 1);
                let page_no = page_no as u32;
                self.violations.push(Corrupt::page(page_no, Rule::NodePointer, seen, expected));
            }
        }
    }
}

/// Siblings point at each other; each level has one left and one right end, and all its pages in between.
pub(crate) fn check_links(
    reports: &[IndexReport],
    summaries: &[PageSummary],
    violations: &mut Violations,
) {
    let mut left_ends: Vec<Vec<u32>> =
        reports.iter().map(|report| vec![FIL_NULL; report.levels.len()]).collect();
    // R-trees have siblings too, but no order among them.
    let mut is_ordered = vec![false; reports.len()];
    for (page_no, summary) in summaries.iter().enumerate() {
        if summary.kind != PageKind::Index {
            continue;
        }
        is_ordered[usize::from(summary.index)] = true;
        let page_no = page_no as u32;
        check_sibling(page_no, summary, summary.next, summaries, violations, Side::Right);
        check_sibling(page_no, summary, summary.prev, summaries, violations, Side::Left);
        let end = &mut left_ends[usize::from(summary.index)][usize::from(summary.level)];
        if summary.prev == FIL_NULL && core::mem::replace(end, page_no) != FIL_NULL {
            let seen = format!("level {} has a second leftmost page", summary.level);
            violations.push(Corrupt::at(page_no, 8, Rule::Sibling, seen, "one"));
        }
    }
    for ((report, ends), is_ordered) in reports.iter().zip(&left_ends).zip(is_ordered) {
        if report.is_damaged || !is_ordered {
            continue;
        }
        for (level, end) in ends.iter().enumerate() {
            check_level_length(report, level, *end, summaries, violations);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

fn check_sibling(
    page_no: u32,
    summary: &PageSummary,
    other: u32,
    summaries: &[PageSummary],
    violations: &mut Violations,
    side: Side,
) {
    if other == FIL_NULL {
        return;
    }
    let (offset, name) = match side {
        Side::Left => (8, "left"),
        Side::Right => (12, "right"),
    };
    let found = summaries.get(other as usize);
    let what = match found {
        Some(found) if found.kind == PageKind::Corrupt => return,
        Some(found) if found.kind != PageKind::Index => found.kind.name(),
        Some(found) if found.index != summary.index => "a page of another index",
        Some(found) if found.level != summary.level => "a page of another level",
        Some(found) => {
            let back = if side == Side::Left { found.next } else { found.prev };
            if back == page_no {
                return;
            }
            "which does not point back"
        }
        None => "outside the file",
    };
    let seen = format!("{name} sibling is page {other}, {what}");
    let expected = "a page of the same level that points back";
    violations.push(Corrupt::at(page_no, offset, Rule::Sibling, seen, expected));
}

/// From the left end, the links must lead to every page of the level.
fn check_level_length(
    report: &IndexReport,
    level: usize,
    left_end: u32,
    summaries: &[PageSummary],
    violations: &mut Violations,
) {
    let pages = report.levels[level].pages;
    let mut linked = 0;
    let mut page_no = left_end;
    while let Some(summary) = summaries.get(page_no as usize).filter(|_| linked < pages) {
        linked += 1;
        page_no = summary.next;
    }
    if linked != pages {
        let seen = format!("level {level} has {linked} pages in its chain");
        let expected = format!("all its {pages} pages");
        violations.push(Corrupt::page(report.root, Rule::Sibling, seen, expected));
    }
}

fn link(page_no: u32) -> String {
    match page_no {
        FIL_NULL => "none".into(),
        page_no => page_no.to_string(),
    }
}

/// Origins of the records of a page, as many as its header counts.
pub(crate) struct Origins<'a> {
    page: &'a PageBytes,
    at: usize,
    rest: u16,
}

impl<'a> Origins<'a> {
    pub(crate) fn new(page: &'a PageBytes) -> Origins<'a> {
        Origins { page, at: INFIMUM, rest: index_header(page).records.get() }
    }

    pub(crate) fn first(page: &PageBytes) -> Option<usize> {
        Origins::new(page).next()
    }

    fn last(page: &PageBytes) -> Option<usize> {
        Origins::new(page).last()
    }
}

impl Iterator for Origins<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.rest = self.rest.checked_sub(1)?;
        self.at = next_record(self.page, self.at);
        (self.at > SUPREMUM).then_some(self.at)
    }
}
