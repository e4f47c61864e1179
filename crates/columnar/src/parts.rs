//! Parts of files that readers have open together: each is opened once, and left when all of its rows were read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use face::option::MEMORY;
use locks::Mutex;

use crate::file::{Decoded, OpenPart, TypedFile};
use crate::guard::{Problem, guard};
use crate::room::{Room, Share};

/// Parts that stay open: the one at hand, and the one that slower readers still read.
pub(crate) const OPEN_MAX: usize = 2;

/// Columns of a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartKey {
    pub(crate) file: u32,
    pub(crate) part: usize,
    /// Columns of that file, ascending.
    pub(crate) columns: Vec<usize>,
}

/// The open ones.
pub(crate) struct Parts {
    room: Room,
    open: Mutex<Vec<Arc<SharedPart>>>,
}

/// A part, opened by the first who wants its rows.
struct SharedPart {
    key: PartKey,
    opened: Mutex<Option<Arc<Opened>>>,
}

struct Opened {
    part: Box<dyn OpenPart>,
    rows_left: AtomicU64,
    /// Memory that it takes.
    _share: Share,
}

impl Parts {
    /// `room` is what all parts may take.
    pub(crate) fn new(room: Room) -> Parts {
        Parts { room, open: Mutex::default() }
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// Rows of a part of a file: those of each of the key's columns.
    ///
    /// Errors: data that is damaged, or takes more memory than there is.
    pub(crate) fn read(
        &self,
        key: &PartKey,
        file: &dyn TypedFile,
        rows: Range<u64>,
    ) -> Result<Vec<Decoded>, Problem> {
        if key.columns.is_empty() {
            return Ok(Vec::new());
        }
        let count = rows.end - rows.start;
        let shared = self.find(key);
        let opened = self.opened(&shared, file)?;
        let bytes = guard(|| opened.part.read_bytes(&rows))?;
        let _share = self.share(bytes, &shared)?;
        let decoded = guard(|| opened.part.read(rows))?;
        if opened.rows_left.fetch_sub(count, Ordering::Relaxed) <= count {
            self.leave(|it| Arc::ptr_eq(it, &shared));
        }
        Ok(decoded)
    }

    fn find(&self, key: &PartKey) -> Arc<SharedPart> {
        let mut open = self.open.lock();
        if let Some(shared) = open.iter().find(|it| it.key == *key) {
            return Arc::clone(shared);
        }
        if open.len() >= OPEN_MAX {
            open.remove(0);
        }
        let shared = Arc::new(SharedPart { key: key.clone(), opened: Mutex::default() });
        open.push(Arc::clone(&shared));
        shared
    }

    /// Leaves some parts; each is closed when those who read it have done so.
    fn leave(&self, is_left: impl Fn(&Arc<SharedPart>) -> bool) {
        let mut open = self.open.lock();
        open.retain(|shared| !is_left(shared));
    }

    fn opened(
        &self,
        shared: &Arc<SharedPart>,
        file: &dyn TypedFile,
    ) -> Result<Arc<Opened>, Problem> {
        let mut opened = shared.opened.lock();
        if let Some(opened) = &*opened {
            return Ok(Arc::clone(opened));
        }
        let PartKey { part, columns, .. } = &shared.key;
        let share = self.share(file.part_bytes(*part, columns)?, shared)?;
        let rows = file.part(*part, columns)?.map_or(0, |part| part.rows);
        let part = file.open_part(*part, columns)?;
        let new = Opened { part, rows_left: AtomicU64::new(rows), _share: share };
        Ok(Arc::clone(opened.insert(Arc::new(new))))
    }

    /// Memory for a part. The others are left where they have it; nobody waits for memory who keeps some.
    fn share(&self, bytes: u64, shared: &Arc<SharedPart>) -> Result<Share, Problem> {
        if bytes > self.room.bytes() {
            return Err(format!(
                "decoding it takes {} MiB, and {} MiB are left for it: use more {MEMORY}",
                bytes.div_ceil(1 << 20),
                self.room.bytes() >> 20
            ));
        }
        loop {
            if let Some(share) = self.room.take(bytes) {
                return Ok(share);
            }
            self.leave(|it| !Arc::ptr_eq(it, shared));
            self.room.wait(bytes);
        }
    }
}
