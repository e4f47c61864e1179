//! A table, as one worker sees it: its row of each line, and what good lines have said of its entities.

use std::ops::Range;

use encode::mapped::{
    Gathering, LineAt, LineOrigin, LineRow, Lines, LinesSaid, Mark, Recent, RowReference,
};
use encode::rejects::Also;
use sources::{Rows, TextRows};

use super::LinesCheck;
use super::candidate::{Entities, EntityRow};
use super::entity_digest::{Digester, Part, fields, parts, takes_last};
use super::fault::{Faults, no_row, not_there, unusable};
use super::keys::Keys;
use super::table::LineTable;
use crate::judge::Judge;

/// Lines whose marks are made before the first of them is looked at: so many waits for memory at once.
pub(super) const BLOCK_LINES: usize = 64;

/// A table, as one worker sees it.
pub(super) struct Seat<'a> {
    pub(super) table: &'a LineTable,
    /// Its number among the tables.
    number: usize,
    row: LineRow,
    judge: Judge<'a>,
    /// The values in which lines of one entity may differ; none where that does not matter.
    parts: Option<Vec<Part>>,
    /// Columns that must have a row of these keys, where values are judged.
    ids: Vec<(&'a str, usize)>,
    /// Numbers of the lookups of its rows.
    lookups: Vec<usize>,
    /// The keys that it asks about.
    slots: Vec<usize>,
    /// Lines of an entity that were good and taken down, by all that counts of them; none where each
    /// line counts.
    recent: Option<Recent<()>>,
    /// A mark for each line of a block, with its values of the entity.
    marks: Vec<Option<Mark>>,
    /// True if a good line before had exactly these values.
    is_known: bool,
    /// Digest of the current line's values, and of earlier lines' that are not gathered yet.
    digest: Option<u64>,
    said: LinesSaid,
    /// Bytes that this may take before it is gathered.
    said_bytes_max: usize,
}

impl<'a> Seat<'a> {
    pub(super) fn new(
        number: usize,
        table: &'a LineTable,
        check: &LinesCheck<'a>,
        lines: &Lines,
        keys: &Keys<'_>,
    ) -> sources::Result<Seat<'a>> {
        let entities = check.tables.iter().filter(|table| table.key.is_some()).count();
        let room = check.memory.chunk_bytes / entities.max(1);
        // Of that, a quarter is for what lines have said.
        let said_bytes_max = room / 4;
        let of_id = |(column, of): &'a (String, String)| Some((column.as_str(), keys.named(of)?));
        let mut seat = Seat {
            row: LineRow::new(&table.mapping, lines, &table.formats, &table.values)?,
            judge: Judge::new(&table.rules),
            parts: parts(table, |wanted| keys.wanted(wanted)),
            ids: table.ids.iter().filter(|_| check.judges).filter_map(of_id).collect(),
            lookups: lookups(table, check),
            slots: vec![number],
            recent: None,
            marks: Vec::new(),
            is_known: false,
            digest: None,
            said: LinesSaid::default(),
            said_bytes_max,
            table,
            number,
        };
        seat.slots.extend(seat.lookups.iter().map(|at| keys.looked_up(*at)));
        seat.slots.extend(seat.ids.iter().map(|(_, slot)| *slot));
        seat.slots.extend(seat.parts.iter().flatten().filter_map(Part::slot));
        if table.key.is_some() && !takes_last(table) {
            let fields = fields(table, check.tables, lines)?;
            seat.recent = Some(Recent::new(fields, room - said_bytes_max));
        }
        Ok(seat)
    }

    /// Digests the entity's values in the lines of a block.
    pub(super) fn mark(&mut self, rows: TextRows<'_>, block: Range<usize>, lines: &Lines) {
        let Seat { recent: Some(recent), marks, .. } = self else { return };
        marks.clear();
        for index in block {
            let line = rows.row(index);
            marks.push(lines.fit(line).then(|| recent.mark(line)));
        }
        recent.expect(marks.iter().copied().flatten());
    }

    /// Notes if a line has no new values of the entity.
    pub(super) fn recognise(&mut self, index: usize) {
        let Seat { recent, marks, is_known, .. } = self;
        if let (Some(recent), Some(Some(mark))) = (recent, marks.get(index % BLOCK_LINES)) {
            *is_known = recent.get(*mark).is_some();
        }
    }

    /// Knows from now on what a good line has said.
    pub(super) fn remember(&mut self, index: usize) {
        let mark = self.marks.get(index % BLOCK_LINES).copied().flatten();
        if let (Some(recent), Some(mark), false) = (&mut self.recent, mark, self.is_known) {
            recent.put(mark, ());
        }
    }

    /// The keys that it asks about in the line at hand.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().copied().filter(|_| !self.is_known)
    }

    /// True if the number of a line is part of its row.
    pub(super) fn has_line_number(&self) -> bool {
        self.row.has_line_number()
    }

    /// True if the line at hand may have a row here, whose values no good line before had.
    fn may_have_row(&self, keys: &Keys<'_>) -> bool {
        !self.is_known && !keys.has_no_row(self.number)
    }

    /// True if the line has a row here.
    pub(super) fn has_row(&mut self, rows: TextRows<'_>, index: usize, keys: &Keys<'_>) -> bool {
        !keys.has_no_row(self.number) && self.row.of(rows, index, LineOrigin::default()).is_some()
    }

    /// The entity that the row of the line at hand is one of; none of a row that is made from each line, and
    /// of a line that a value of the key makes a bad one.
    fn entity(&self, keys: &Keys<'_>) -> Option<usize> {
        keys.get(self.number).map(|_| self.number)
    }

    /// All that is wrong with the values of its row.
    pub(super) fn judge(
        &mut self,
        rows: TextRows<'_>,
        index: usize,
        origin: LineOrigin<'_>,
        keys: &Keys<'_>,
        faults: &mut Faults,
    ) {
        if !self.may_have_row(keys) {
            return;
        }
        let entity = self.entity(keys);
        let Seat { table, row, judge, .. } = self;
        let Some(row) = row.of(rows, index, origin) else { return };
        judge.judge(row, |fault| {
            let column = fault.column.map(|at| &table.rules.columns[at].column);
            let mut also = Also::new(&fault, row, column);
            also.column = also.column.map(|column| format!("{}.{column}", table.name()));
            faults.push(entity, (also, fault.kind.class()));
        });
    }

    /// Reports references of its row to missing rows.
    pub(super) fn look_up(
        &mut self,
        rows: TextRows<'_>,
        index: usize,
        lines: &Lines,
        keys: &Keys<'_>,
        faults: &mut Faults,
    ) {
        let is_idle = self.lookups.is_empty() && self.ids.is_empty();
        if is_idle
            || !self.may_have_row(keys)
            || self.row.of(rows, index, LineOrigin::default()).is_none()
        {
            return;
        }
        let entity = self.entity(keys);
        let Seat { table, ids, lookups, .. } = self;
        for looked in lookups.iter().filter_map(|at| keys.missed(*at)) {
            faults.push(entity, not_there(&looked.lookup, lines, rows.row(index)));
        }
        for (looked, reason) in lookups.iter().filter_map(|at| keys.unusable(*at, self.number)) {
            faults.push(entity, unusable(&looked.lookup, reason, lines, rows.row(index)));
        }
        for (column, _) in ids.iter().filter(|(_, slot)| keys.has_no_row(*slot)) {
            faults.push(entity, no_row(table.name(), column));
        }
    }

    /// The key of the line's entity, if that is not known yet, and a digest of what the line says of it.
    pub(super) fn digest<'k>(
        &mut self,
        rows: TextRows<'_>,
        index: usize,
        keys: &'k Keys<'_>,
        digester: &mut Digester,
    ) -> Option<(&'k [u8], u64)> {
        self.digest = None;
        if self.is_known {
            return None;
        }
        let key = keys.get(self.number)?;
        let Seat { row, parts, .. } = self;
        let said = match parts {
            None => 0,
            Some(parts) => {
                let row = row.of(rows, index, LineOrigin::default());
                row.map_or(0, |row| digester.digest(row, parts, |slot| keys.get(slot)))
            }
        };
        self.digest = Some(said);
        Some((key, said))
    }

    /// The entity's values in the current line, if they are new.
    pub(super) fn entity_row(&self, keys: &Keys<'_>, faults: &Faults) -> Option<EntityRow> {
        let (table, digest) = (self.number, self.digest?);
        let key = keys.get(table)?.into();
        Some(EntityRow { table, key, digest, is_faulty: faults.has_of(table) })
    }

    /// True if the row of the line at hand has a fault and is made from it, beside the good lines so far.
    pub(super) fn stands_with_fault(
        &self,
        keys: &Keys<'_>,
        faults: &Faults,
        at: LineAt,
        entities: &Entities,
    ) -> bool {
        faults.has_of(self.number)
            && keys.get(self.number).is_some_and(|key| entities.would_stand(self.number, key, at))
    }

    /// Takes down what the line at hand says of its entity.
    pub(super) fn take_down(&mut self, keys: &Keys<'_>, at: impl FnOnce() -> LineAt) {
        if let Some(digest) = self.digest
            && let Some(key) = keys.get(self.number)
        {
            self.said.push(key, at(), digest);
        }
    }

    /// Gathers what lines have said: all of it, or when it takes more than it may.
    pub(super) fn hand_over(&mut self, entities: &Gathering, is_all: bool) {
        let bytes_max = if is_all { 0 } else { self.said_bytes_max };
        if self.said.bytes() > bytes_max {
            entities.take_all(&mut self.said);
        }
    }
}

/// The numbers of what a table's rows look up.
fn lookups(table: &LineTable, check: &LinesCheck<'_>) -> Vec<usize> {
    let wanted = table.mapping.wanted();
    let number = |wanted: &RowReference| match wanted {
        RowReference::Looked(lookup) => {
            check.lookups.iter().position(|known| known.lookup == *lookup)
        }
        RowReference::Id(_) => None,
    };
    wanted.iter().filter_map(number).collect()
}
