//! The ways a dump is played.

use serde::Serialize;

/// A way of replaying a dump into a server without its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// `mariadb < dump.sql`.
    Client,
    /// `inrush replay dump.sql --as statements`, from the start of the process to its end.
    Statements,
    /// `inrush replay dump.sql`.
    Rows,
}

impl Way {
    /// Every way, in the order of printing.
    pub const ALL: [Way; 3] = [Way::Client, Way::Statements, Way::Rows];

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Way::Client => "mariadb < dump.sql",
            Way::Statements => "Inrush as statements",
            Way::Rows => "Inrush as rows",
        }
    }

    /// Name on the command line.
    pub fn short(self) -> &'static str {
        match self {
            Way::Client => "client",
            Way::Statements => "statements",
            Way::Rows => "rows",
        }
    }
}
