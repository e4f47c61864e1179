//! The load on a server: sampled by a session of its own.

use std::collections::HashMap;
use std::time::Instant;

use server::replicas::Replica;
use server::replication::lag::Lag;
use server::version::Flavor;
use server::{ConnectOptions, Interrupt, Result, Row, Session};

/// Status variables that are read, of MariaDB, Galera and MySQL.
const STATUS: [&str; 7] = [
    "Threads_running",
    "Innodb_checkpoint_age",
    "Innodb_checkpoint_max_age",
    "Innodb_redo_log_current_lsn",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_redo_log_capacity_resized",
    "wsrep_flow_control_paused_ns",
];

/// The longest queue of a member, by its threshold.
const GROUP_QUEUE: &str = "SELECT GREATEST(MAX(COUNT_TRANSACTIONS_IN_QUEUE) / \
    GREATEST(@@GLOBAL.group_replication_flow_control_certifier_threshold, 1), \
    MAX(COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE) / \
    GREATEST(@@GLOBAL.group_replication_flow_control_applier_threshold, 1)) \
    FROM performance_schema.replication_group_member_stats";

/// One sample. Values that the server does not tell, or the account may not see, are None.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pressure {
    /// Redo log not yet covered by a checkpoint, as a share of what the log may hold before InnoDB
    /// makes writers wait until pages are flushed.
    pub(crate) checkpoint: Option<f64>,
    /// Statements running now, ours and the one that asks included.
    pub(crate) threads_running: Option<u64>,
    /// Share of the time since the sample before in which Galera's flow control stopped writes.
    pub(crate) flow_control: Option<f64>,
    /// Transactions that wait at a member of the replication group, as a share of how many there may be
    /// before its flow control holds writers up.
    pub(crate) group_queue: Option<f64>,
    /// The replica that is furthest behind.
    pub(crate) lag: Option<Lag>,
}

/// Takes samples of a server and of its replicas.
#[derive(Debug)]
pub(crate) struct Gauge {
    options: ConnectOptions,
    session: Option<Session>,
    replicas: Vec<Replica>,
    /// Flow control's counter at the sample before.
    paused: Option<(u64, Instant)>,
    /// True if the server is in no replication group, or does not tell.
    is_alone: bool,
}

impl Gauge {
    /// A gauge of the server of `options` and of `replicas`. Connects when it is first asked.
    pub(crate) fn new(options: &ConnectOptions, replicas: Vec<Replica>) -> Gauge {
        // What stops the load's statements need not stop these: they are short.
        let options = ConnectOptions { interrupt: Interrupt::default(), ..options.clone() };
        Gauge { options, session: None, replicas, paused: None, is_alone: false }
    }

    /// The state of this moment. A server that does not answer has nothing to say; it is asked over
    /// a new connection the next time.
    pub(crate) fn sample(&mut self) -> Pressure {
        let status = self.status().unwrap_or_else(|_| {
            self.session = None;
            HashMap::new()
        });
        let flow_control = self.flow_control(&status);
        let group_queue = self.group_queue();
        let lags = self.replicas.iter_mut().filter_map(Replica::lag);
        Pressure {
            checkpoint: checkpoint(&status),
            threads_running: status.get("threads_running").copied(),
            flow_control,
            group_queue,
            lag: lags.max_by_key(|lag| lag.following),
        }
    }

    fn status(&mut self) -> Result<HashMap<String, u64>> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::connect(&self.options)?),
        };
        let names = STATUS.map(|name| format!("'{name}'")).join(",");
        let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})");
        let rows = session.query(&sql)?;
        let value = |row: &Row| Some((row.text(0).ok()?.to_ascii_lowercase(), row.number(1).ok()?));
        Ok(rows.iter().filter_map(value).collect())
    }

    /// The longest queue of a member: of transactions to be certified, and to be applied. Source: MySQL
    /// 9 manual, "Group Replication flow control": a member's quota shrinks when one is above its
    /// threshold.
    fn group_queue(&mut self) -> Option<f64> {
        let session = self.session.as_mut().filter(|_| !self.is_alone)?;
        if session.version().flavor != Flavor::MySql {
            self.is_alone = true;
            return None;
        }
        match session.query(GROUP_QUEUE) {
            Ok(rows) => {
                let share = rows.first().and_then(|row| row.text_lossy(0).parse().ok());
                self.is_alone = share.is_none();
                share
            }
            Err(error) if error.is_cut() => None,
            Err(_) => {
                self.is_alone = true;
                None
            }
        }
    }

    fn flow_control(&mut self, status: &HashMap<String, u64>) -> Option<f64> {
        let paused_ns = *status.get("wsrep_flow_control_paused_ns")?;
        let (before_ns, at) = self.paused.replace((paused_ns, Instant::now()))?;
        let elapsed_ns = at.elapsed().as_nanos().max(1) as f64;
        // FLUSH STATUS sets the counter back.
        Some((paused_ns.saturating_sub(before_ns) as f64 / elapsed_ns).min(1.0))
    }
}

/// The share of the redo log that is in use.
fn checkpoint(status: &HashMap<String, u64>) -> Option<f64> {
    let of = |name: &str| status.get(name).copied();
    let mariadb = || Some((of("innodb_checkpoint_age")?, of("innodb_checkpoint_max_age")?));
    let mysql = || {
        let age = of("innodb_redo_log_current_lsn")?
            .checked_sub(of("innodb_redo_log_checkpoint_lsn")?)?;
        Some((age, of("innodb_redo_log_capacity_resized")?))
    };
    let (age, most) = mariadb().or_else(mysql)?;
    (most > 0).then(|| age as f64 / most as f64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use testkit::TestServer;

    use super::*;

    fn status(values: &[(&str, u64)]) -> HashMap<String, u64> {
        values.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn the_checkpoint_age_is_read_of_both_servers() {
        let mariadb = status(&[("innodb_checkpoint_age", 40), ("innodb_checkpoint_max_age", 80)]);
        assert_eq!(checkpoint(&mariadb), Some(0.5));
        let mysql = status(&[
            ("innodb_redo_log_current_lsn", 1000),
            ("innodb_redo_log_checkpoint_lsn", 900),
            ("innodb_redo_log_capacity_resized", 400),
        ]);
        assert_eq!(checkpoint(&mysql), Some(0.25));
        assert_eq!(checkpoint(&status(&[])), None);
        assert_eq!(
            checkpoint(&status(&[("innodb_checkpoint_age", 4), ("innodb_checkpoint_max_age", 0)])),
            None
        );
    }

    #[test]
    fn servers_tell_their_pressure() {
        let servers = [TestServer::start(), TestServer::mysql(Vec::new())];
        for server in servers.into_iter().flatten() {
            let pressure = Gauge::new(&server.options(), Vec::new()).sample();
            let is_share = |share: f64| (0.0..1.2).contains(&share);
            assert!(pressure.checkpoint.is_some_and(is_share), "{pressure:?}");
            assert!(pressure.threads_running.is_some_and(|running| running >= 1), "{pressure:?}");
            assert_eq!((pressure.flow_control, pressure.group_queue), (None, None));
        }
        let nowhere = ConnectOptions::for_socket("/nowhere/at/all.sock");
        assert_eq!(Gauge::new(&nowhere, Vec::new()).sample(), Pressure::default());
    }

    #[test]
    fn flow_control_is_the_share_of_the_time_between_samples() {
        let mut gauge = Gauge::new(&ConnectOptions::default(), Vec::new());
        let at = |ns| status(&[("wsrep_flow_control_paused_ns", ns)]);
        assert_eq!(gauge.flow_control(&at(5_000_000_000)), None);
        std::thread::sleep(Duration::from_millis(20));
        let share = gauge.flow_control(&at(5_010_000_000));
        assert!(share.is_some_and(|share| share > 0.0 && share <= 0.5), "{share:?}");
        assert_eq!(gauge.flow_control(&at(0)), Some(0.0), "after FLUSH STATUS");
        assert_eq!(gauge.flow_control(&status(&[])), None);
    }
}
