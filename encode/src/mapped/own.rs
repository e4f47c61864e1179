//! Which lines stand for the rows of an entity.

use std::sync::Arc;

use super::LinePlace;

/// Lines that stand for rows, in their order, with the ids of these.
#[derive(Debug, Default)]
pub struct OwnLines {
    lines: Vec<(LinePlace, u64)>,
}

impl OwnLines {
    /// These lines, in any order.
    pub fn new(mut lines: Vec<(LinePlace, u64)>) -> OwnLines {
        lines.sort_unstable();
        OwnLines { lines }
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> u64 {
        (self.lines.len() * size_of::<(LinePlace, u64)>()) as u64
    }
}

/// Goes through them beside the lines of an input.
#[derive(Debug)]
pub(super) struct Cursor {
    own: Arc<OwnLines>,
    /// The first that does not come before the line looked at last.
    next: usize,
    last: LinePlace,
}

/// A line that stands for a row does not begin where it did.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moved;

impl Cursor {
    pub(super) fn new(own: &Arc<OwnLines>) -> Cursor {
        Cursor { own: Arc::clone(own), next: 0, last: (u32::MAX, u64::MAX) }
    }

    /// Begins a batch, which may be of any lines.
    pub(super) fn begin(&mut self) {
        self.last = (u32::MAX, u64::MAX);
    }

    /// The id of the row that a line stands for; none if it stands for none. Lines of a batch come one
    /// after the other; none between them that stands for a row is left out.
    #[inline]
    pub(super) fn id_at(&mut self, place: LinePlace) -> Result<Option<u64>, Moved> {
        if place < self.last {
            self.next = self.own.lines.partition_point(|(line, _)| *line < place);
        }
        self.last = place;
        match self.own.lines.get(self.next) {
            Some(&(line, id)) if line == place => {
                self.next += 1;
                Ok(Some(id))
            }
            Some(&(line, _)) if line < place => Err(Moved),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(places: &[(u64, u64)]) -> Cursor {
        let lines = places.iter().map(|&(offset, id)| ((0, offset), id));
        Cursor::new(&Arc::new(OwnLines::new(lines.collect())))
    }

    #[test]
    fn lines_that_stand_for_rows_are_met_in_order_and_from_anywhere() {
        let mut cursor = cursor(&[(40, 3), (0, 1), (10, 2)]);
        let ids = |cursor: &mut Cursor, from: u64| -> Vec<_> {
            cursor.begin();
            (from / 10..6).map(|line| cursor.id_at((0, line * 10)).ok().flatten()).collect()
        };
        assert_eq!(ids(&mut cursor, 0), [Some(1), Some(2), None, None, Some(3), None]);
        assert_eq!(ids(&mut cursor, 20), [None, None, Some(3), None]);
        assert_eq!(cursor.id_at((0, 10)), Ok(Some(2)), "another file of the same chunk");
    }

    #[test]
    fn a_line_that_begins_elsewhere_now_is_noticed() {
        let mut cursor = cursor(&[(10, 1)]);
        assert_eq!(cursor.id_at((0, 0)), Ok(None));
        assert_eq!(cursor.id_at((0, 12)), Err(Moved));
    }
}
