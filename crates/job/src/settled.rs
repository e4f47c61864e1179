//! The controller's settings, as the report has them.

use serde::Serialize;

/// The settings at which a load of the logical path arrived.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Settled {
    /// Connections at the end of the load.
    pub connections: usize,
    /// Most connections that were at work at once.
    pub connections_max: usize,
    /// Rows of a statement; None where a statement is a whole chunk.
    pub batch_rows: Option<u64>,
    /// Bytes of such a statement, by the rows' average size in the input.
    pub batch_bytes: Option<u64>,
    /// Largest share of the redo log that was waiting for its pages to be flushed, as sampled each
    /// second. From about 0.9 on the server makes writers wait, however many they are.
    pub redo_log_max: f64,
    /// Reasons for fewer connections, or none, for a time.
    pub held_back: Vec<HeldBack>,
}

/// One reason for which a load went slower than it could have.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HeldBack {
    /// `deadlocks`, `replica lag`, ...
    pub cause: &'static str,
    /// How often it was seen.
    pub times: u64,
    /// How long connections were taken away for it.
    pub seconds: f64,
    /// How much of that nothing was loaded at all.
    pub paused_seconds: f64,
    /// The worst that was seen: `db2:3306 was 94 s behind`.
    pub worst: Option<String>,
}
