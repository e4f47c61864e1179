//! What a refusal of the server means for the rows that were sent.

use std::time::Duration;

use encode::rejects::Reject;
use job::error::Error;
use job::position::Position;

use crate::controller;

/// Why a portion did not go in.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It can be sent again. [`super::Sender::send`] does so itself and does not give this, except
    /// where all portions are one transaction, which is lost: the load can only begin anew.
    Again(Again),
    /// A row has the key of another one, and that is to fail the load.
    Duplicate {
        /// Where the row is.
        position: Position,
        /// The server's words: which key of which index.
        message: String,
    },
    /// The portion alone has more rows that are refused than may be; these are the first ones, in
    /// order. Nothing of it is in.
    Rejected(Vec<Reject>),
    /// Anything else that ends the load.
    Failed(Error),
}

impl Trouble {
    /// As the error that ends the load, or the rows of the portion that were refused.
    pub(crate) fn into_error(self) -> Result<Error, Vec<Reject>> {
        match self {
            Trouble::Again(again) => Ok(again.error.into()),
            Trouble::Duplicate { position, message } => {
                Ok(Error::DuplicateRow { position: Box::new(position), message })
            }
            Trouble::Rejected(rejects) => Err(rejects),
            Trouble::Failed(error) => Ok(error),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Failed(error)
    }
}

/// A try that failed for a reason that passes.
#[derive(Debug)]
pub(crate) struct Again {
    /// Of what kind.
    pub(crate) cause: Cause,
    /// Tries of this portion that failed so far, from 1.
    pub(crate) tries: u32,
    /// Time until the next one.
    pub(crate) pause: Duration,
    /// What the server or the driver said.
    pub(crate) error: server::Error,
}

/// Reasons that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// Two transactions waited for each other, and ours was the one to give way.
    Deadlock,
    /// A row's or a table's lock did not come in time.
    LockWait,
    /// The connection broke, or the server went away.
    Lost,
    /// The server, or the cluster behind it, cannot do it now.
    Busy,
}

impl From<Cause> for controller::Trouble {
    fn from(cause: Cause) -> controller::Trouble {
        match cause {
            Cause::Deadlock => controller::Trouble::Deadlock,
            Cause::LockWait => controller::Trouble::LockWait,
            Cause::Lost | Cause::Busy => controller::Trouble::Lost,
        }
    }
}

/// What an error says of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// One of its rows is at fault.
    Row,
    /// One of its rows has a key that another row has.
    Duplicate,
    /// It may be done again.
    Again(Cause),
    /// It will not go through, whatever its rows.
    Fatal,
}

/// Sorts an error by what it means. What is not known is fatal: a row is refused only for a
/// reason that is surely its own.
///
/// Numbers: MariaDB 10.11 `mysqld_error.h`, MySQL 9 `mysqlclient` and server error references,
/// TiDB's error codes.
pub(crate) fn classify(error: &server::Error) -> Class {
    match error {
        server::Error::Lost { .. } => Class::Again(Cause::Lost),
        server::Error::Statement { errno, sqlstate, .. } => of_number(*errno, sqlstate),
        _ => Class::Fatal,
    }
}

fn of_number(errno: u16, sqlstate: &str) -> Class {
    match errno {
        // Duplicate entry, also as foreign keys' cascades and MySQL's newer words have it.
        1062 | 1169 | 1557 | 1586 | 1761 | 1762 => Class::Duplicate,
        // Deadlock; group replication's and Galera's conflicts, at COMMIT too; a read row that
        // has changed; TiDB's write conflicts.
        1213 | 1614 | 3101 | 1020 | 9007 | 8002 | 8022 | 8028 => Class::Again(Cause::Deadlock),
        // Lock wait; no room for more locks; NOWAIT.
        1205 | 1206 | 3572 => Class::Again(Cause::LockWait),
        // Shutdown, killed, packets that did not come or go, the client's own two, idle too long.
        1053 | 1927 | 1152 | 1158..=1161 | 1184 | 2006 | 2013 | 3169 | 4031 => {
            Class::Again(Cause::Lost)
        }
        // A statement that somebody ended, a Galera node that has lost its cluster, too many
        // connections; TiKV and PD that do not answer.
        1317 | 1047 | 1040 | 1203 | 1226 | 9001..=9006 => Class::Again(Cause::Busy),
        // NULL in NOT NULL, no such partition, row too large, NOT NULL geometry, out of the
        // partitions named, CHECK in MariaDB and MySQL, JSON, character sets, geometry, UUID and
        // other types' values; a view's CHECK OPTION; a division by zero; an AUTO_INCREMENT
        // column that is full.
        1048
        | 1118
        | 139
        | 1138
        | 1263
        | 1264
        | 1265
        | 1292
        | 1300
        | 1364
        | 1365
        | 1366
        | 1367
        | 1369
        | 1406
        | 1411
        | 1416
        | 1425
        | 1426
        | 1467
        | 1526
        | 1591
        | 1690
        | 1748
        | 1977
        | 3819
        | 3140..=3158
        | 3617
        | 3661..=3675
        | 3732
        | 3854
        | 4025
        | 4078
        | 4079 => Class::Row,
        // A trigger's SIGNAL, whatever it says; foreign keys; other data of the row's.
        1644 | 1216 | 1217 | 1451 | 1452 => Class::Row,
        // A trigger or function that refuses by a made-up error, or by one of those classes.
        _ if ["22", "23", "44", "45"].iter().any(|class| sqlstate.starts_with(class)) => Class::Row,
        _ => Class::Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(errno: u16, sqlstate: &str) -> Class {
        let (message, statement) = (String::new(), String::new());
        classify(&server::Error::Statement { errno, sqlstate: sqlstate.into(), message, statement })
    }

    #[test]
    fn errors_are_of_the_row_or_pass_or_end_the_load() {
        assert_eq!(of(1062, "23000"), Class::Duplicate);
        assert_eq!(of(1213, "40001"), Class::Again(Cause::Deadlock));
        assert_eq!(of(1205, "HY000"), Class::Again(Cause::LockWait));
        assert_eq!(of(1053, "08S01"), Class::Again(Cause::Lost));
        assert_eq!(of(1366, "22007"), Class::Row);
        assert_eq!(of(4025, "23000"), Class::Row);
        assert_eq!(of(1452, "23000"), Class::Row);
        assert_eq!(of(1644, "45000"), Class::Row);
        assert_eq!(of(1644, "02TRG"), Class::Row);
        // A full disk, a missing right, a missing table, a read-only server, bad SQL.
        for errno in [1021, 1114, 1142, 1146, 1290, 1064] {
            assert_eq!(of(errno, "HY000"), Class::Fatal, "{errno}");
        }
    }
}
