//! The progress of a load.

use std::sync::mpsc::{Sender, channel};

use serde::{Deserialize, Serialize};

use crate::failpoint;

/// The stages of a direct load, in order. Report, progress and journal use these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Server, table, privileges and files are looked at; leftovers of a killed load removed.
    Inspect,
    /// The empty staging table is made, its template exported, its tablespace discarded.
    Staging,
    /// The server writes out a table whose rows are to be kept, which nobody writes to from then on; its
    /// file is checked.
    Export,
    /// Input out of key order is sorted, for a path that sends rows to the server.
    Sort,
    /// Input is parsed, converted and encoded; the clustered index is built if it comes in order.
    Rows,
    /// Sorted runs are merged into the remaining indexes.
    Indexes,
    /// Rows that share keys were met, and those that are to be left out are found.
    Duplicates,
    /// Every page of the finished file is checked.
    Verify,
    /// The server adopts the file.
    Import,
    /// The adopted file is read back, and its rows are compared with those of the input.
    Compare,
    /// The pages of the adopted file get the server's LSN, so that incremental backups copy them.
    Stamp,
    /// The new table takes the old one's name.
    Publish,
}

impl Stage {
    /// Name in reports and the journal.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Inspect => "inspect",
            Stage::Staging => "staging",
            Stage::Export => "export",
            Stage::Sort => "sort",
            Stage::Rows => "rows",
            Stage::Indexes => "indexes",
            Stage::Duplicates => "duplicates",
            Stage::Verify => "verify",
            Stage::Import => "import",
            Stage::Compare => "compare",
            Stage::Stamp => "stamp",
            Stage::Publish => "publish",
        }
    }
}

/// State of a running load at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// The current stage.
    pub stage: Stage,
    /// Rows taken so far.
    pub rows: u64,
    /// Work of this stage done, in bytes of input or of the file.
    pub done_bytes: u64,
    /// Work of this stage in all, where it is known.
    pub total_bytes: Option<u64>,
    /// Seconds that the whole load still takes, where that can be told; a stage leaves it to who
    /// conducts them.
    pub seconds_left: Option<f64>,
}

impl Snapshot {
    /// The state of a stage.
    pub fn of(stage: Stage, rows: u64, done_bytes: u64, total_bytes: Option<u64>) -> Snapshot {
        Snapshot { stage, rows, done_bytes, total_bytes, seconds_left: None }
    }
}

/// Somebody who wants to know how far a load is. Called from several threads, often: be quick.
pub trait Progress: Sync {
    /// The load is at `snapshot` now.
    fn update(&self, snapshot: Snapshot);

    /// Begins the build of a table: number so many `of` those of the load.
    fn table(&self, name: &str, number: usize, of: usize) {
        let _ = (name, number, of);
    }

    /// The load waits for a lock of the server; a sentence says for whose. Said again every few
    /// seconds.
    fn waiting(&self, text: &str) {
        let _ = text;
    }

    /// A note or a warning for whoever began the load, of something besides it.
    fn note(&self, text: &str) {
        let _ = text;
    }
}

/// Nobody watches.
impl Progress for () {
    fn update(&self, _: Snapshot) {}
}

/// Does `work` while another thread says which locks `work` waits for.
pub fn telling<T>(progress: &dyn Progress, work: impl FnOnce(Sender<String>) -> T) -> T {
    std::thread::scope(|scope| {
        let (told, waits) = channel();
        let end = End(told.clone());
        let telling = scope.spawn(move || {
            failpoint::hit("thread.told");
            let sentences = waits.iter().take_while(|text: &String| !text.is_empty());
            sentences.for_each(|text| progress.waiting(&text));
        });
        let outcome = work(told);
        drop(end);
        // The work is done, whether or not its waits were said.
        let _ = telling.join();
        outcome
    })
}

/// Ends the thread that says waits by an empty sentence: options of connections keep senders for longer.
struct End(Sender<String>);

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.send(String::new());
    }
}
