//! A load that leaves replicas behind waits for them, and goes on when they have come after it.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use load::{HeldBack, LoadOptions, LoadPath, Mode, Progress, Report, Snapshot};
use server::Session;
use testkit::Cluster;

const ROWS: u64 = 40_000;

/// A primary with two replicas, an empty table, and a file for it.
struct Place {
    cluster: Cluster,
    file: PathBuf,
}

impl Place {
    fn new() -> Option<Place> {
        let cluster = Cluster::start(2).unwrap()?;
        let mut session = cluster.primary.connect().unwrap();
        session.exec("CREATE DATABASE d").unwrap();
        session.exec("CREATE TABLE d.t (id INT PRIMARY KEY, c VARCHAR(40)) ENGINE=InnoDB").unwrap();
        cluster.wait_until_even().unwrap();
        let file = cluster.primary.dir().join("rows");
        let lines: String = (0..ROWS).map(|n| format!("{n}\tthe text of row {n}\n")).collect();
        std::fs::write(&file, lines).unwrap();
        Some(Place { cluster, file })
    }

    /// Replaces the table's rows, which takes six seconds if nothing holds it back.
    fn load(&self, progress: &dyn Progress, lag_max: Option<Duration>) -> Report {
        let mut options = LoadOptions::new(vec![self.file.clone()], "d", "t");
        options.path = LoadPath::Stream;
        options.mode = Mode::Replace;
        options.state_dir = self.cluster.primary.dir().join("state");
        options.server.replicas.lag_max = lag_max;
        options.server.replicas.named =
            (0..2).map(|replica| self.cluster.address(replica)).collect();
        let bytes = std::fs::metadata(&self.file).unwrap().len();
        options.limits.batches.bytes_per_second_max = Some(bytes / 6);
        let report = load::load(&self.cluster.options(), &options, None, progress).unwrap();
        assert_eq!(report.rows, ROWS);
        report
    }

    /// All servers have all rows.
    fn check(&self) {
        self.cluster.wait_until_even().unwrap();
        let of = |session: &mut Session| {
            let sum = session.query_row("CHECKSUM TABLE d.t").unwrap().text(1).unwrap();
            (session.query_row("SELECT COUNT(*) FROM d.t").unwrap().number::<u64>(0).unwrap(), sum)
        };
        let expected = of(&mut self.cluster.primary.connect().unwrap());
        assert_eq!(expected.0, ROWS);
        for replica in 0..2 {
            assert_eq!(of(&mut self.cluster.replica(replica).unwrap()), expected);
        }
    }
}

/// Harms a replica when rows begin to come, and heals it when the load says that it waits.
struct Trouble {
    replica: Mutex<Session>,
    harm: Mutex<Option<&'static str>>,
    heal: Mutex<Option<&'static str>>,
    said: Mutex<Vec<String>>,
}

impl Trouble {
    fn new(replica: Session, harm: &'static str, heal: &'static str) -> Trouble {
        let (harm, heal) = (Mutex::new(Some(harm)), Mutex::new(Some(heal)));
        Trouble { replica: Mutex::new(replica), harm, heal, said: Mutex::default() }
    }

    fn once(&self, sql: &Mutex<Option<&'static str>>) {
        if let Some(sql) = sql.lock().unwrap().take() {
            self.replica.lock().unwrap().exec(sql).unwrap();
        }
    }
}

impl Progress for Trouble {
    fn update(&self, snapshot: Snapshot) {
        if snapshot.rows > 0 {
            self.once(&self.harm);
        }
    }

    fn waiting(&self, text: &str) {
        self.said.lock().unwrap().push(text.to_owned());
        if text.starts_with("loading is paused") {
            self.once(&self.heal);
        }
    }
}

fn lag(report: &Report) -> Option<&HeldBack> {
    report.logical.as_ref()?.settled.held_back.iter().find(|held| held.cause == "replica lag")
}

#[test]
fn a_load_waits_for_a_replica_that_is_behind_or_stopped() {
    let Some(place) = Place::new() else { return };
    let lag_max = Some(Duration::from_secs(2));
    for (replica, harm, heal, why) in [
        (1, "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES", "s behind"),
        (0, "STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD", "has stopped replicating"),
    ] {
        let trouble = Trouble::new(place.cluster.replica(replica).unwrap(), harm, heal);
        let report = place.load(&trouble, lag_max);
        let name = place.cluster.address(replica);
        let said = trouble.said.into_inner().unwrap();
        let expected = format!("loading is paused because of replica lag ({name} ");
        assert!(
            said.iter().any(|text| text.starts_with(&expected) && text.contains(why)),
            "{said:?}"
        );
        let held = lag(&report).unwrap();
        assert!(held.paused_seconds > 0.5 && held.paused_seconds <= held.seconds, "{held:?}");
        let worst = held.worst.as_deref().unwrap();
        assert!(worst.starts_with(&name) && worst.contains(why), "{worst}");
        assert!(report.seconds > 5.5 + held.paused_seconds * 0.5, "{}", report.seconds);
        place.check();
    }
}

/// Tells what a transaction that waits for a replica keeps others from: nothing, yet.
struct Writer {
    trouble: Trouble,
    session: Mutex<Session>,
    written: Mutex<bool>,
}

impl Progress for Writer {
    fn update(&self, _: Snapshot) {}

    fn waiting(&self, text: &str) {
        let mut written = self.written.lock().unwrap();
        if text.starts_with("loading is paused") && !*written {
            let mut session = self.session.lock().unwrap();
            session.exec("SET innodb_lock_wait_timeout=3").unwrap();
            session.exec("UPDATE d.t SET c='written meanwhile'").unwrap();
            session.exec("INSERT INTO d.t VALUES (-2, 'written meanwhile')").unwrap();
            *written = true;
        }
        self.trouble.waiting(text);
    }
}

#[test]
fn a_transaction_waits_for_a_replica_before_it_locks_rows() {
    let Some(place) = Place::new() else { return };
    let mut session = place.cluster.primary.connect().unwrap();
    // Rows of a table with a child are replaced by one transaction.
    session.exec("CREATE TABLE d.child (id INT REFERENCES d.t (id)) ENGINE=InnoDB").unwrap();
    session.exec("INSERT INTO d.t VALUES (-1, 'old')").unwrap();
    place.cluster.wait_until_even().unwrap();
    let mut replica = place.cluster.replica(0).unwrap();
    replica.exec("STOP SLAVE SQL_THREAD").unwrap();
    let trouble = Trouble::new(replica, "DO 0", "START SLAVE SQL_THREAD");
    let writer = Writer { trouble, session: Mutex::new(session), written: Mutex::new(false) };
    let report = place.load(&writer, Some(Duration::from_secs(20)));
    assert_eq!(report.logical.unwrap().destination, "transaction");
    assert!(*writer.written.lock().unwrap());
    place.check();
}

#[test]
fn a_load_does_not_wait_for_replicas_that_follow_or_when_told_not_to() {
    let Some(place) = Place::new() else { return };
    let report = place.load(&(), Some(Duration::from_secs(20)));
    assert!(lag(&report).is_none(), "{:?}", report.logical);
    place.check();
    let harm = "FLUSH TABLES WITH READ LOCK";
    let trouble = Trouble::new(place.cluster.replica(1).unwrap(), harm, "UNLOCK TABLES");
    let report = place.load(&trouble, None);
    assert!(lag(&report).is_none() && trouble.said.lock().unwrap().is_empty());
    trouble.once(&trouble.heal);
    place.check();
}
