//! Servers with a binary log: loads that are kept out of it.

use testkit::{Cluster, TestServer};

use crate::support::{Home, Outcome, run};

/// The server's position in its log.
fn log_position(server: &TestServer) -> String {
    let mut session = server.connect().unwrap();
    session.query_row("SHOW MASTER STATUS").map(|row| row.text(1).unwrap()).unwrap()
}

fn count(server: &TestServer, table: &str) -> String {
    let mut session = server.connect().unwrap();
    session.query_text(&format!("SELECT COUNT(*) FROM {table}")).unwrap().unwrap()
}

#[test]
fn a_load_stays_out_of_the_binary_log_if_it_is_told_to() {
    let Some(cluster) = Cluster::start(1).unwrap() else { return };
    let (server, home) = (&cluster.primary, Home::new());
    let script = "CREATE DATABASE u; CREATE TABLE u.p (a INT PRIMARY KEY) ENGINE=InnoDB; \
                  CREATE TABLE u.t (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) ENGINE=InnoDB; \
                  CREATE TABLE u.g (a INT PRIMARY KEY) ENGINE=InnoDB; \
                  CREATE TRIGGER u.g BEFORE INSERT ON u.g FOR EACH ROW SET NEW.a = NEW.a; \
                  CREATE USER bob@localhost; GRANT ALL ON u.* TO bob@localhost; \
                  GRANT RELOAD, PROCESS ON *.* TO bob@localhost";
    server.script(script).unwrap();
    cluster.wait_until_even().unwrap();
    let file = home.file("rows", "1\tx\n2\ty\n");
    let load = |table: &str, more: &[&str]| -> Outcome {
        // Options that come later replace those of the helper.
        run(home.load(server, table, &file).args(["--path", "auto"]).args(more))
    };

    // What replication has to do with it: on the primary, on the replica, for one that is named.
    let plan = |server: &TestServer, more: &[&str]| {
        let mut plan = home.inrush(["plan", "--into", "u.t"]);
        plan.arg(&file).args(["--user", "root", "--socket"]).arg(server.socket());
        run(plan.args(more)).done().out.clone()
    };
    server.script("SET GLOBAL rpl_semi_sync_master_enabled=1").unwrap();
    let planned = plan(server, &[]);
    server.script("SET GLOBAL rpl_semi_sync_master_enabled=0").unwrap();
    let said = "note: the rows are also written to the binary log (binlog_format=ROW), and a replica gets them (server 2 ";
    assert!(planned.contains(said), "{planned}");
    let said = "note: semi-sync: each commit waits until a replica has its rows, up to 10000 ms";
    assert!(planned.contains(said), "{planned}");
    let (replica, _) = &cluster.replicas[0];
    let planned = plan(replica, &[]);
    assert!(planned.contains("note: this server replicates from 127.0.0.1:"), "{planned}");
    let delay = |seconds: u32| {
        replica
            .script(&format!("STOP SLAVE; CHANGE MASTER TO MASTER_DELAY={seconds}; START SLAVE"))
            .unwrap();
    };
    delay(3600);
    let socket = replica.socket().display().to_string();
    let planned = plan(server, &["--replica", &socket, "--path", "stream"]);
    delay(0);
    let said =
        "MASTER_DELAY is 3600 s, so the replica gets the rows later; a single thread applies";
    assert!(planned.contains(&format!("note: the replica {socket}: {said}")), "{planned}");

    // As ever: logged, and why not direct.
    let logged = load("u.t", &["--verbose"]);
    assert!(logged.done().out.contains("not direct: binary log"), "{logged:?}");
    cluster.wait_until_even().unwrap();

    let before = log_position(server);
    let planned = run(home
        .inrush(["plan", "--into", "u.t", "--mode", "replace", "--unlogged"])
        .arg(&file)
        .arg("--socket")
        .arg(server.socket())
        .args(["--user", "root"]));
    assert!(planned.done().out.contains("loads with the direct path"), "{planned:?}");
    assert!(planned.out.contains("the binary log does not contain this load"), "{planned:?}");
    let file_of_three = home.file("rows", "1\tx\n2\ty\n3\tz\n");
    assert_eq!(file_of_three, file);
    let unlogged = load("u.t", &["--mode", "replace", "--unlogged"]);
    assert!(unlogged.done().out.contains(", direct build"), "{unlogged:?}");
    assert!(unlogged.out.contains("point-in-time recovery lack these rows"), "{unlogged:?}");
    assert_eq!(log_position(server), before);
    assert_eq!(count(server, "u.t"), "3");

    // What comes later is in the log, and the replica goes on with what it has.
    server.script("INSERT INTO u.t VALUES (9, 'later')").unwrap();
    cluster.wait_until_even().unwrap();
    let mut replica = cluster.replica(0).unwrap();
    let rows = replica.query_text("SELECT GROUP_CONCAT(a ORDER BY a) FROM u.t").unwrap();
    assert_eq!(rows.as_deref(), Some("1,2,9"));

    // Rows are not sent in its place, and no table is made that a replica would lack.
    let one = home.file("one", "1\n");
    let refused = run(home.load(server, "u.g", &one).args(["--path", "auto", "--unlogged"]));
    refused.refused(2, &["trigger", "--unlogged is for the direct path"]);
    let refused = load("u.new", &["--unlogged", "--create"]);
    refused.refused(2, &["create it first"]);
    let refused = load("u.t", &["--mode", "replace", "--unlogged", "--user", "bob"]);
    refused.refused(2, &["--unlogged: ", "BINLOG ADMIN", "sql_log_bin=0"]);
    assert_eq!(count(server, "u.t"), "4");
}

/// The replica never had what a load that was kept out of the log has left on the primary.
#[test]
fn leftovers_of_a_killed_unlogged_load_are_dropped_without_stopping_replicas() {
    let Some(cluster) = Cluster::start(1).unwrap() else { return };
    let (server, home) = (&cluster.primary, Home::new());
    server.script("CREATE DATABASE u; CREATE TABLE u.t (a INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    cluster.wait_until_even().unwrap();
    let mut replica = cluster.replica(0).unwrap();
    // As it comes, MariaDB forgives the DROP of a table that is not there.
    for sql in ["STOP SLAVE", "SET GLOBAL slave_ddl_exec_mode=STRICT", "START SLAVE"] {
        replica.exec(sql).unwrap();
    }
    let file = home.file("rows", "1\n2\n");
    let mut killed = home.load(server, "u.t", &file);
    killed.arg("--unlogged").env("INRUSH_FAILPOINT", "staging.end=kill");
    assert_eq!(run(&mut killed).code(), -1);
    run(home.load(server, "u.t", &file).args(["--path", "auto"])).done();
    cluster.wait_until_even().unwrap();
    assert_eq!(replica.query_text("SELECT COUNT(*) FROM u.t").unwrap().as_deref(), Some("2"));
}
