//! What a server suffers while it is loaded: sampled by a session of its own.

use std::fmt;
use std::time::Duration;

/// One sample. What the server does not say, or the account may not see, is None.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Redo log not yet covered by a checkpoint, as a share of what the log can hold. At about
    /// 0.9 InnoDB makes writers wait until pages are flushed.
    pub checkpoint: Option<f64>,
    /// Statements running now, ours included.
    pub threads_running: Option<u64>,
    /// Share of the time since the sample before in which Galera's flow control stopped writes.
    pub flow_control: Option<f64>,
    /// The replica that is furthest behind.
    pub lag: Option<Lag>,
}

/// How far a replica is behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// `host:port`.
    pub replica: String,
    /// Without the delay it was told to keep; None when it does not apply anything at all.
    pub behind: Option<Duration>,
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.behind {
            Some(behind) => write!(f, "{} is {} s behind", self.replica, behind.as_secs()),
            None => write!(f, "{} does not apply what it gets", self.replica),
        }
    }
}
