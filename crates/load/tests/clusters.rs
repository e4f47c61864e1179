//! Loads of a node of Galera and of a member of a replication group, real ones: where the library is there,
//! or `INRUSH_TEST_GALERA` names it, and where `INRUSH_TEST_MYSQLD` names a MySQL that has the plugin.

use std::path::{Path, PathBuf};

use load::{LoadOptions, LoadPath, Mode};
use testkit::{TestServer, TestServerOptions, free_port};

const GALERA_VARIABLE: &str = "INRUSH_TEST_GALERA";
const GALERA: [&str; 2] =
    ["/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so"];
const ROWS: u64 = 20_000;

fn galera() -> Option<TestServer> {
    let named = std::env::var_os(GALERA_VARIABLE).map(PathBuf::from);
    let installed = GALERA.into_iter().map(PathBuf::from).find(|path| path.exists());
    let Some(library) = named.or(installed) else {
        println!("skipped: no Galera library is installed, and {GALERA_VARIABLE} names none");
        return None;
    };
    let port = free_port().unwrap();
    let extra = vec![
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={}", library.display()),
        "--wsrep-cluster-address=gcomm://".to_owned(),
        "--wsrep-node-address=127.0.0.1".to_owned(),
        format!(
            "--wsrep-provider-options=base_port={port};gmcast.listen_addr=tcp://127.0.0.1:{port};gcache.size=8M"
        ),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
    ];
    TestServer::start_with(&TestServerOptions { extra, ..TestServerOptions::default() })
}

fn group() -> Option<TestServer> {
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let extra = vec![
        "--server-id=1".to_owned(),
        "--log-bin=binlog".to_owned(),
        "--gtid-mode=ON".to_owned(),
        "--enforce-gtid-consistency=ON".to_owned(),
        "--loose-group-replication-start-on-boot=OFF".to_owned(),
        format!("--loose-group-replication-local-address={address}"),
        format!("--loose-group-replication-group-seeds={address}"),
        "--loose-group-replication-group-name=aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa".to_owned(),
        "--report-host=127.0.0.1".to_owned(),
    ];
    let server = TestServer::mysql(extra)?;
    let mut session = server.connect().unwrap();
    if let Err(error) =
        session.exec("INSTALL PLUGIN group_replication SONAME 'group_replication.so'")
    {
        println!("skipped: {error}");
        return None;
    }
    for sql in [
        "SET GLOBAL group_replication_bootstrap_group=ON",
        "START GROUP_REPLICATION",
        "SET GLOBAL group_replication_bootstrap_group=OFF",
    ] {
        session.exec(sql).unwrap();
    }
    Some(server)
}

/// Loads by every path and mode, with the limit of a transaction at `bytes`, and once all at once.
fn loads(server: &TestServer, engine: &str, variable: &str, bytes: u64) {
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY, b INT, c VARCHAR(40), KEY (b))").unwrap();
    session.exec("SET GLOBAL local_infile=1").unwrap();
    session.exec(&format!("SET GLOBAL {variable}={bytes}")).unwrap();
    let file = |name: &str, first: u64| {
        let path = server.dir().join(name);
        let row = |n: u64| format!("{n}\t{}\tthe text of row {n}\n", n % 97);
        std::fs::write(&path, (first..first + ROWS).map(row).collect::<String>()).unwrap();
        path
    };
    let (one, other) = (file("one", 0), file("other", ROWS));
    let options = |file: &Path, path, mode| {
        let mut options = LoadOptions::new(vec![file.to_owned()], "d", "t");
        (options.path, options.mode) = (path, mode);
        options.state_dir = server.dir().join("state");
        options
    };
    let connect = server.options();
    let mut rows = |expected: u64| {
        let count = session.query_row("SELECT COUNT(*), COUNT(DISTINCT c) FROM d.t").unwrap();
        let seen: [u64; 2] = [count.number(0).unwrap(), count.number(1).unwrap()];
        assert_eq!(seen, [expected; 2], "{engine}");
    };
    for (file, path, mode, expected) in [
        (&one, LoadPath::Auto, Mode::Insert, ROWS),
        (&one, LoadPath::Insert, Mode::Replace, ROWS),
        (&other, LoadPath::Stream, Mode::Append, 2 * ROWS),
        (&other, LoadPath::Stream, Mode::Replace, ROWS),
        (&one, LoadPath::Insert, Mode::Append, 2 * ROWS),
        (&one, LoadPath::Stream, Mode::Replace, ROWS),
    ] {
        let report = load::load(&connect, &options(file, path, mode), None, &()).unwrap();
        assert_eq!(report.engine.map(|engine| engine.name), Some(engine));
        rows(expected);
    }
    let atomic = LoadOptions { atomic: true, ..options(&other, LoadPath::Insert, Mode::Append) };
    let told = load::load(&connect, &atomic, None, &()).unwrap_err().to_string();
    assert!(told.contains("raise the limit, or load in chunks, without --atomic"), "{told}");
    rows(ROWS);
    session.exec(&format!("SET GLOBAL {variable}=100000000")).unwrap();
    assert_eq!(load::load(&connect, &atomic, None, &()).unwrap().rows, ROWS);
}

#[test]
fn a_node_of_galera_is_loaded_within_its_write_sets() {
    let Some(server) = galera() else { return };
    loads(&server, "Galera", "wsrep_max_ws_size", 262_144);
}

#[test]
fn a_member_of_a_group_is_loaded_within_its_transactions() {
    let Some(server) = group() else { return };
    loads(&server, "Group Replication", "group_replication_transaction_size_limit", 262_144);
}
