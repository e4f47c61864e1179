//! What was done to files, in order, and what of it a power cut leaves.
//!
//! ```text
//! names, sizes, modes   in the order in which they were changed, up to somewhere: a prefix. It ends behind the last
//!                       change of each file that was synced, and of each folder
//! contents              synced: sure. Else none, all, or any sectors of 512 bytes of each write
//! ```
//!
//! So ext4 and XFS do it: their journal is a log, and a sync writes the log up to the file's last change.
//! POSIX allows more to be lost; what our own program does there, `crashes/power.rs` has as strict as POSIX.
//! Sources: Linux, Documentation/filesystems/ext4/journal.rst; fs/xfs/xfs_file.c, `xfs_file_fsync`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::ops::Range;

use super::files::{Body, Files};
use crate::random::Random;

/// What a disk writes whole.
const SECTOR: usize = 512;

/// Something that was done to a file or a folder, by its number.
#[derive(Clone)]
pub(super) enum Operation {
    Create {
        parent: u64,
        name: OsString,
        number: u64,
        body: Body,
        mode: u32,
    },
    Link {
        number: u64,
        parent: u64,
        name: OsString,
    },
    Unlink {
        parent: u64,
        name: OsString,
        number: u64,
    },
    Rename {
        from: (u64, OsString),
        to: (u64, OsString),
        number: u64,
    },
    Exchange {
        one: (u64, OsString),
        other: (u64, OsString),
        numbers: [u64; 2],
    },
    Resize {
        number: u64,
        size: u64,
    },
    Zero {
        number: u64,
        offset: u64,
        length: u64,
    },
    Mode {
        number: u64,
        mode: u32,
    },
    /// `grows` if the file was shorter.
    Write {
        number: u64,
        offset: u64,
        data: Vec<u8>,
        grows: bool,
    },
    Sync {
        number: u64,
    },
}

impl Operation {
    /// Whose sync makes sure of it; none of a write that leaves the size as it is.
    fn touched(&self) -> Vec<u64> {
        match self {
            Operation::Create { parent, number, .. }
            | Operation::Link { parent, number, .. }
            | Operation::Unlink { parent, number, .. } => vec![*parent, *number],
            Operation::Rename { from, to, number } => vec![from.0, to.0, *number],
            Operation::Exchange { one, other, numbers } => {
                vec![one.0, other.0, numbers[0], numbers[1]]
            }
            Operation::Resize { number, .. }
            | Operation::Zero { number, .. }
            | Operation::Mode { number, .. }
            | Operation::Write { number, grows: true, .. } => vec![*number],
            Operation::Write { .. } | Operation::Sync { .. } => Vec::new(),
        }
    }
}

/// A moment, and what is lost then.
#[derive(Clone, Copy, Debug)]
pub struct PowerCut {
    /// So many operations are done.
    pub done: usize,
    /// What decides what is lost of those that are not synced.
    pub seed: u64,
    /// True if what was renamed keeps its new name: MariaDB 10.11 does not start, or has lost a table's
    /// name, where the file system takes back one of the two renames of a swap, and syncs neither.
    pub keeps_renames: bool,
}

/// How much of what was not synced is lost.
#[derive(Clone, Copy, Debug)]
enum Loss {
    All,
    Nothing,
    Some,
}

/// What was done to files, in order.
pub struct Operations {
    all: Vec<Operation>,
}

impl Operations {
    pub(super) fn of(all: Vec<Operation>) -> Operations {
        Operations { all }
    }

    /// The moments behind which something had just been made sure of, or was about to be: each sync's begin
    /// and end.
    pub fn syncs(&self) -> Vec<usize> {
        let is_sync = |at: &usize| matches!(self.all[*at], Operation::Sync { .. });
        (0..self.all.len()).filter(is_sync).flat_map(|at| [at, at + 1]).collect()
    }

    /// From the first rename of a file to or from one whose name begins so, to the next sync behind the last.
    pub fn renames(&self, begin: &str) -> Range<usize> {
        let is_one = |(_, name): &(u64, OsString)| name.to_string_lossy().starts_with(begin);
        let renames = |one: &Operation| match one {
            Operation::Rename { from, to, .. } => is_one(from) || is_one(to),
            _ => false,
        };
        let first = self.all.iter().position(renames).unwrap_or(0);
        let last = self.all.iter().rposition(renames).unwrap_or(0);
        let is_sync = |one: &Operation| matches!(one, Operation::Sync { .. });
        let synced = self.all[last..].iter().position(is_sync).unwrap_or(0);
        first..last + synced + 1
    }

    /// The files that a machine finds that had `start`, whose power went after so many operations, by a seed.
    pub fn after_power_cut(&self, start: &Files, cut: &PowerCut) -> Files {
        let mut random = Random::new(cut.seed);
        let done = &self.all[..cut.done];
        let (synced, mut sure) = made_sure(done);
        let is_rename = |one: &Operation| matches!(one, Operation::Rename { .. });
        if cut.keeps_renames {
            sure = sure.max(done.iter().rposition(is_rename).map_or(0, |at| at + 1));
        }
        let loss = random.pick(&[Loss::All, Loss::Nothing, Loss::Some, Loss::Some]);
        let kept = match loss {
            Loss::All => sure,
            Loss::Nothing => done.len(),
            Loss::Some => random.between(sure, done.len()),
        };
        let mut files = start.clone();
        for (at, operation) in done.iter().enumerate() {
            match operation {
                Operation::Write { number, offset, data, .. } => {
                    let is_synced = synced.get(number).is_some_and(|&sync| at < sync);
                    match if is_synced { Loss::Nothing } else { loss } {
                        Loss::All => {}
                        Loss::Nothing => files.write(*number, *offset, data),
                        Loss::Some => write_some(&mut files, *number, *offset, data, &mut random),
                    }
                }
                _ if at < kept => files.apply(operation),
                _ => {}
            }
        }
        files.drop_unreachable();
        files
    }
}

/// The last sync of each file, and the number of operations whose names and sizes are sure.
fn made_sure(done: &[Operation]) -> (HashMap<u64, usize>, usize) {
    let (mut synced, mut sure) = (HashMap::new(), 0);
    // The end of the last change of each.
    let mut touched: HashMap<u64, usize> = HashMap::new();
    for (at, operation) in done.iter().enumerate() {
        if let Operation::Sync { number } = operation {
            synced.insert(*number, at);
            sure = sure.max(touched.get(number).copied().unwrap_or(0));
        }
        for number in operation.touched() {
            touched.insert(number, at + 1);
        }
    }
    (synced, sure)
}

/// Any sectors of a write, half of them on average; sometimes none or all.
fn write_some(files: &mut Files, number: u64, offset: u64, data: &[u8], random: &mut Random) {
    match random.below(4) {
        0 => {}
        1 => files.write(number, offset, data),
        _ => {
            let mut from = 0;
            while from < data.len() {
                let place = offset + from as u64;
                let rest = SECTOR - usize::try_from(place).unwrap() % SECTOR;
                let end = (from + rest).min(data.len());
                if random.chance(2) {
                    files.write(number, place, &data[from..end]);
                }
                from = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::super::files::ROOT;
    use super::*;

    fn create(name: &str, number: u64) -> Operation {
        let name = OsString::from(name);
        Operation::Create { parent: ROOT, name, number, body: Body::file(), mode: 0o600 }
    }

    fn content(files: &Files, name: &str) -> Option<Vec<u8>> {
        match &files.node(files.entry(ROOT, OsStr::new(name))?)?.body {
            Body::File(bytes) => Some(bytes.to_vec()),
            _ => None,
        }
    }

    /// Whatever a file has after a power cut, by many seeds.
    fn found(
        operations: Vec<Operation>,
        name: &str,
    ) -> std::collections::BTreeSet<Option<Vec<u8>>> {
        let operations = Operations::of(operations);
        let done = operations.all.len();
        let cut = |seed| PowerCut { done, seed, keeps_renames: false };
        let found = |seed| operations.after_power_cut(&Files::default(), &cut(seed));
        (0..400).map(|seed| content(&found(seed), name)).collect()
    }

    #[test]
    fn a_synced_file_is_sure_and_another_may_be_lost_torn_or_there() {
        let write = |number, byte| Operation::Write {
            number,
            offset: 0,
            data: vec![byte; 1024],
            grows: false,
        };
        let all = vec![create("a", 2), write(2, 1), Operation::Sync { number: 2 }, write(2, 2)];
        let seen = found(all.clone(), "a");
        let torn = |first, second| Some([[first; 512], [second; 512]].concat());
        assert_eq!(seen, [torn(1, 1), torn(1, 2), torn(2, 1), torn(2, 2)].into());
        let seen = found(vec![create("a", 2), write(2, 1)], "a");
        assert!(seen.contains(&None) && seen.contains(&torn(1, 1)), "{seen:?}");
        assert!(seen.contains(&Some(Vec::new())), "{seen:?}");
    }

    #[test]
    fn names_are_lost_from_the_end_and_a_sync_keeps_all_before_the_change_of_its_file() {
        let rename = |number, from: &str, to: &str| Operation::Rename {
            from: (ROOT, from.into()),
            to: (ROOT, to.into()),
            number,
        };
        let all = vec![create("a", 2), create("b", 3), rename(2, "a", "c")];
        let synced = [all.clone(), vec![Operation::Sync { number: 3 }]].concat();
        assert_eq!(found(synced.clone(), "b"), [Some(Vec::new())].into());
        // The rename came behind the change of b.
        assert_eq!(found(synced, "c"), [None, Some(Vec::new())].into());
        let folder = [all, vec![Operation::Sync { number: ROOT }]].concat();
        assert_eq!(found(folder.clone(), "c"), [Some(Vec::new())].into());
        assert_eq!(found(folder, "a"), [None].into());
    }

    #[test]
    fn a_lost_name_leaves_no_file_with_the_writes_of_it() {
        let write = Operation::Write { number: 2, offset: 0, data: vec![1; 10], grows: true };
        let unlink = Operation::Unlink { parent: ROOT, name: "a".into(), number: 2 };
        let seen = found(vec![create("a", 2), write, Operation::Sync { number: 2 }, unlink], "a");
        assert_eq!(seen, [None, Some(vec![1; 10])].into());
    }
}
