//! How much a setting may take from others while it is set.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The safety that is given up while a load runs. Each class allows everything that those before it
/// allow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Nothing: what was committed stays, and the server comes back from any crash. Only the disk is busier.
    #[default]
    Safe,
    /// A power cut may lose the commits of the last second, of everybody on the server.
    Relaxed,
    /// The server may not come back from a crash.
    Unsafe,
}

impl Class {
    /// All, from the one that gives up least.
    pub const ALL: [Class; 3] = [Class::Safe, Class::Relaxed, Class::Unsafe];

    /// As `--tune` has it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Safe => "safe",
            Class::Relaxed => "relaxed",
            Class::Unsafe => "unsafe",
        }
    }

    /// The risk, for people.
    pub fn risk(self) -> &'static str {
        match self {
            Class::Safe => "none",
            Class::Relaxed => {
                "a power cut, or a crash of the system, during the load loses the commits of the \
                 last second, of everybody on the server"
            }
            Class::Unsafe => "after a crash during the load, the server may not start again",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
