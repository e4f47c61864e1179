//! A check that all keys of one table are in another, by going through both once.

use std::cmp::Ordering;

use crate::key_run::read::KeyRows;
use crate::key_run::{KeyReader, KeyRun};
use schema::{Reference, TableName};
use server::error::Result;
use server::session::Session;

/// Goes through the keys of a child as those of its parent pass.
struct Merge<'r> {
    keys: KeyReader<'r>,
    /// The least key that was not met yet; none when all were.
    open: Option<Vec<u8>>,
    /// The last key of the parent.
    last: Vec<u8>,
    /// True if a key was passed that the parent lacks, or the parent's were in no order.
    is_broken: bool,
}

impl<'r> Merge<'r> {
    fn new(child: &'r KeyRun) -> Result<Merge<'r>> {
        let mut keys = child.reader();
        let open = keys.next()?.map(<[u8]>::to_vec);
        Ok(Merge { keys, open, last: Vec::new(), is_broken: false })
    }

    fn pass(&mut self, key: &[u8]) -> Result<()> {
        self.is_broken |= !self.last.is_empty() && key < self.last.as_slice();
        self.last.clear();
        self.last.extend_from_slice(key);
        let Some(open) = &mut self.open else { return Ok(()) };
        match open.as_slice().cmp(key) {
            Ordering::Greater => {}
            Ordering::Less => self.is_broken = true,
            Ordering::Equal => match self.keys.next()? {
                Some(next) => {
                    open.clear();
                    open.extend_from_slice(next);
                }
                None => self.open = None,
            },
        }
        Ok(())
    }

    fn has_met_all(&self) -> bool {
        self.open.is_none() && !self.is_broken
    }
}

/// True if the keys of a table are all in one that was built too.
pub(super) fn by_run(child: &KeyRun, parent: &KeyRun) -> Result<bool> {
    if !child.shape().is_like(parent.shape()) {
        return Ok(false);
    }
    let (mut merge, mut keys) = (Merge::new(child)?, parent.reader());
    while let Some(key) = keys.next()? {
        merge.pass(key)?;
    }
    Ok(merge.has_met_all())
}

/// True if the keys of a table are all in one that exists, and is locked.
pub(super) fn by_table(
    session: &mut Session,
    child: &KeyRun,
    reference: &Reference,
    parent: &TableName,
) -> Result<bool> {
    let Some(mut rows) = KeyRows::new(session, child.shape(), reference, parent)? else {
        return Ok(false);
    };
    let (mut merge, mut key) = (Merge::new(child)?, Vec::new());
    session.for_each(&rows.statement(parent), |row| {
        // What is no value of the child's column is nothing that it refers to.
        if rows.read(&row, &mut key) { merge.pass(&key) } else { Ok(()) }
    })?;
    Ok(merge.has_met_all())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key_run::KeyWriter;
    use crate::key_run::shape::KeyShape;

    fn run(keys: &std::collections::BTreeSet<u16>) -> KeyRun {
        let folder = tempfile::tempdir().unwrap();
        let shape = KeyShape::plain(2);
        let mut writer = KeyWriter::create(shape, folder.path()).unwrap();
        keys.iter().for_each(|key| writer.push_all(&key.to_be_bytes()).unwrap());
        writer.finish().unwrap()
    }

    proptest! {
        #[test]
        fn a_set_is_covered_by_those_that_hold_it(
            child in proptest::collection::btree_set(0u16..40, 0..20),
            parent in proptest::collection::btree_set(0u16..40, 0..40),
        ) {
            let is_covered = by_run(&run(&child), &run(&parent)).unwrap();
            prop_assert_eq!(is_covered, child.is_subset(&parent));
            let both: std::collections::BTreeSet<u16> = child.union(&parent).copied().collect();
            prop_assert!(by_run(&run(&child), &run(&both)).unwrap());
        }
    }
}
