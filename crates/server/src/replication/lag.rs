//! How far a replica is behind.

use std::fmt;
use std::time::Duration;

/// How a replica follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// `host:port`.
    pub replica: String,
    /// How far it is behind, or why that is not known.
    pub following: Following,
}

/// How far a replica is behind. Ordered from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Following {
    /// By so much, without the delay that it was told to keep (`MASTER_DELAY`).
    Behind(Duration),
    /// It runs and applies nothing: a thread of its was stopped, or stopped by an error.
    Stopped,
    /// It does not answer.
    Unreachable,
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.following {
            Following::Behind(behind) => {
                write!(f, "{} is {} s behind", self.replica, behind.as_secs())
            }
            Following::Stopped => write!(f, "{} has stopped replicating", self.replica),
            Following::Unreachable => write!(f, "{} does not answer", self.replica),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_follow_is_worse_than_any_lag() {
        let behind = |seconds| Following::Behind(Duration::from_secs(seconds));
        assert!(behind(3) < behind(100_000) && behind(100_000) < Following::Stopped);
        let lag = Lag { replica: "db2:3306".to_owned(), following: behind(94) };
        assert_eq!(lag.to_string(), "db2:3306 is 94 s behind");
    }
}
