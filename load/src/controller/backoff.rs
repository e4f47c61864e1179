//! Fewer connections while the server is in trouble; more again when it is over.

use std::collections::BTreeMap;
use std::time::Duration;

use server::pressure::Pressure;

use super::settled::HeldBack;

/// Why a portion has to be loaded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// Error 1213.
    Deadlock,
    /// Error 1205.
    LockWait,
    /// The connection broke, or the server went away.
    Lost,
}

/// What connections are taken away for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    Deadlock,
    LockWait,
    Lost,
    Lag,
    FlowControl,
    Busy,
}

impl Cause {
    pub(super) fn name(self) -> &'static str {
        match self {
            Cause::Deadlock => "deadlocks",
            Cause::LockWait => "lock waits",
            Cause::Lost => "lost connections",
            Cause::Lag => "replica lag",
            Cause::FlowControl => "Galera flow control",
            Cause::Busy => "other statements on the server",
        }
    }
}

impl From<Trouble> for Cause {
    fn from(trouble: Trouble) -> Cause {
        match trouble {
            Trouble::Deadlock => Cause::Deadlock,
            Trouble::LockWait => Cause::LockWait,
            Trouble::Lost => Cause::Lost,
        }
    }
}

/// What is allowed of what the search wants, by cause.
#[derive(Debug)]
pub(super) struct Backoff {
    /// Connections that are allowed for the worst cause; no limit where nothing is wrong.
    caps: BTreeMap<Cause, f64>,
    /// When each was last lowered or raised.
    moved_at: BTreeMap<Cause, Duration>,
    held: BTreeMap<Cause, HeldBack>,
    most: f64,
}

impl Backoff {
    pub(super) fn new(most: usize) -> Backoff {
        Backoff {
            caps: BTreeMap::new(),
            moved_at: BTreeMap::new(),
            held: BTreeMap::new(),
            most: most as f64,
        }
    }

    /// Connections that may be at work; 0 is a pause.
    pub(super) fn allowed(&self) -> usize {
        self.caps.values().fold(self.most, |least, &cap| least.min(cap)) as usize
    }

    pub(super) fn observe(&mut self, _pressure: &Pressure, _connections: usize, _now: Duration) {}
    pub(super) fn troubled(&mut self, _trouble: Trouble, _connections: usize, _now: Duration) {}
    pub(super) fn done(&mut self, _now: Duration) {}
    pub(super) fn holding(&self) -> Option<String> {
        None
    }
    pub(super) fn held(&self) -> Vec<HeldBack> {
        self.held.values().cloned().collect()
    }
}
