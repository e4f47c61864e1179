//! Progress of several tables: the one that is built, and the time left for all.

use job::progress::{Progress, Snapshot};

/// Passes on what is told of the table that is built.
pub(super) struct Watched<'a> {
    pub(super) progress: &'a dyn Progress,
    /// Seconds that the tables behind it are expected to take.
    pub(super) later_seconds: f64,
}

impl Progress for Watched<'_> {
    fn update(&self, snapshot: Snapshot) {
        let seconds_left = snapshot.seconds_left.map(|seconds| seconds + self.later_seconds);
        self.progress.update(Snapshot { seconds_left, ..snapshot });
    }

    fn waiting(&self, text: &str) {
        self.progress.waiting(text);
    }

    fn note(&self, text: &str) {
        self.progress.note(text);
    }
}
