//! Trying again what failed for a reason that passes: a deadlock, a lock that did not come, a
//! connection that was lost.

use std::time::{Duration, Instant};

use server::identifier::digest;

/// First pause before something is tried again, doubled up to the second.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Tries that are made however long they take.
pub(crate) const TRIES_MIN: u32 = 10;

/// Reasons that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Two transactions waited for each other, and ours was the one to give way.
    Deadlock,
    /// A row's or a table's lock did not come in time.
    LockWait,
    /// The connection broke, or the server went away.
    Lost,
    /// The server, or the cluster behind it, takes no connection or statement now.
    Refused,
}

/// The meaning of an error for its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One of its rows is at fault.
    Row,
    /// One of its rows has a key that another row has.
    Duplicate,
    /// It may be done again.
    Again(Cause),
    /// It will not go through, whatever its rows.
    Fatal,
}

/// Sorts an error by its meaning. Unknown errors are fatal: a row is rejected only for a reason
/// that is surely its own.
///
/// Numbers: MariaDB 10.11 `mysqld_error.h`, MySQL 9 `mysqlclient` and server error references,
/// TiDB's error codes.
pub fn classify(error: &server::Error) -> Class {
    match error {
        error if error.is_cut() => Class::Again(Cause::Lost),
        // vtgate's words about a value that has no shard: Vitess 24, go/vt/vterrors/code.go.
        server::Error::Statement { errno: 1105, message, .. } if message.contains("VT09023") => {
            Class::Row
        }
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
        // Packets that did not come or go, idle too long.
        1152 | 1158..=1161 | 1184 | 4031 => Class::Again(Cause::Lost),
        // A statement that somebody ended, a Galera node that has lost its cluster, too many
        // connections; TiKV and PD that do not answer.
        1317 | 1047 | 1040 | 1203 | 1226 | 9001..=9006 => Class::Again(Cause::Refused),
        // A row that is larger than TiDB's largest entry.
        8025 => Class::Row,
        // NULL in NOT NULL, no such partition, row too large, NOT NULL geometry, out of the
        // partitions named, CHECK in MariaDB and MySQL, JSON, character sets, geometry and its SRID, UUID,
        // VECTOR and other types' values; a view's CHECK OPTION; a division by zero; an AUTO_INCREMENT
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
        | 3643
        | 3661..=3675
        | 3732
        | 3854
        | 4025
        | 4078
        | 4079
        | 6136 => Class::Row,
        // A trigger's SIGNAL, whatever it says; foreign keys; other data of the row's.
        1644 | 1216 | 1217 | 1451 | 1452 => Class::Row,
        // A trigger or function that refuses by a made-up error, or by one of those classes.
        _ if ["22", "23", "44", "45"].iter().any(|class| sqlstate.starts_with(class)) => Class::Row,
        _ => Class::Fatal,
    }
}

/// The tries of one thing that somebody has sent, or is to send.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    begun: Instant,
    failed: u32,
}

impl Tries {
    /// The first one begins.
    pub fn begin() -> Tries {
        Tries { begun: Instant::now(), failed: 0 }
    }

    /// One has failed, over `connection`; gives the pause before the next one.
    pub fn fail(&mut self, connection: Option<u64>) -> Duration {
        self.failed += 1;
        pause(self.failed, connection)
    }

    /// Those that failed.
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// Time since the first one began.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// True if there were enough of them, and they have taken as long as `wait`.
    pub fn are_over(&self, wait: Duration) -> bool {
        self.failed >= TRIES_MIN && self.elapsed() >= wait
    }
}

/// The pause before try `tries` + 1, longer each time, and not the same for two connections that
/// have hit each other.
fn pause(tries: u32, connection: Option<u64>) -> Duration {
    let longest = (PAUSE_MIN * 2u32.saturating_pow(tries.min(16))).min(PAUSE_MAX);
    let seed = format!("{connection:?} {tries}");
    // Between a half and the whole.
    let share = 512 + (digest(seed.as_bytes()) >> 32) % 512;
    longest * u32::try_from(share).unwrap_or(1024) / 1024
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
        for errno in [1040, 1203, 1226, 1317] {
            assert_eq!(of(errno, "HY000"), Class::Again(Cause::Refused), "{errno}");
        }
        assert_eq!(of(1366, "22007"), Class::Row);
        assert_eq!(of(4025, "23000"), Class::Row);
        assert_eq!(of(1452, "23000"), Class::Row);
        let message = "VT09023: could not map [NULL] to a keyspace id".to_owned();
        let (sqlstate, statement) = ("HY000".into(), String::new());
        let unmapped = server::Error::Statement { errno: 1105, sqlstate, message, statement };
        assert_eq!((classify(&unmapped), of(1105, "HY000")), (Class::Row, Class::Fatal));
        assert_eq!(of(1644, "45000"), Class::Row);
        assert_eq!(of(1644, "02TRG"), Class::Row);
        // A full disk, a missing right, a missing table, a read-only server, bad SQL.
        for errno in [1021, 1114, 1142, 1146, 1290, 1064] {
            assert_eq!(of(errno, "HY000"), Class::Fatal, "{errno}");
        }
    }

    #[test]
    fn pauses_grow_and_differ_between_connections() {
        assert!(pause(1, Some(1)) <= PAUSE_MIN * 2);
        assert!(pause(40, Some(1)) >= PAUSE_MAX / 2 && pause(40, Some(1)) <= PAUSE_MAX);
        assert_ne!(pause(5, Some(1)), pause(5, Some(2)));
    }
}
