//! Lag, as a primary and its replicas tell it.

use std::time::{Duration, Instant};

use server::Session;
use server::replicas::{self, Replica};
use server::replication::lag::{Following, Lag};
use testkit::Cluster;

fn behind(lag: Option<&Lag>) -> Option<u64> {
    match lag?.following {
        Following::Behind(behind) => Some(behind.as_secs()),
        _ => None,
    }
}

/// Asks again until the answer is the expected one: a replica changes its mind a moment later.
fn eventually(what: &str, mut ask: impl FnMut() -> bool) {
    let began = Instant::now();
    while !ask() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn replicas_are_found_and_tell_how_far_they_are_behind() {
    let Some(cluster) = Cluster::start(2).unwrap() else { return };
    let mut remarks = Vec::new();
    let mut session = Session::connect(&cluster.open_options()).unwrap();
    let mut found = replicas::find(&mut session, &[], &mut remarks);
    let mut names: Vec<String> = found.iter().map(|replica| replica.name().to_owned()).collect();
    let mut expected = vec![cluster.address(0), cluster.address(1)];
    names.sort();
    expected.sort();
    assert_eq!((names, remarks), (expected, Vec::new()));

    let mut longest = || {
        let lags = found.iter_mut().filter_map(Replica::lag);
        lags.max_by_key(|lag| lag.following)
    };
    assert_eq!(behind(longest().as_ref()), Some(0));

    // One that waits for a lock does not apply what it gets.
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT)").unwrap();
    cluster.wait_until_even().unwrap();
    let mut holder = cluster.replica(1).unwrap();
    holder.exec("LOCK TABLES d.t READ").unwrap();
    session.exec("INSERT INTO d.t VALUES (1)").unwrap();
    eventually("the lag of a replica that waits", || {
        let lag = longest();
        behind(lag.as_ref()) >= Some(1) && lag.unwrap().replica == cluster.address(1)
    });
    holder.exec("UNLOCK TABLES").unwrap();
    eventually("the end of the lag", || behind(longest().as_ref()) == Some(0));

    // One that was stopped is waited for, for it followed before; one that is gone is not.
    let mut administrator = cluster.replica(0).unwrap();
    administrator.exec("STOP SLAVE SQL_THREAD").unwrap();
    eventually("the stopped replica", || {
        longest().is_some_and(|lag| lag.following == Following::Stopped)
    });
    let mut named = Replica::named(&cluster.address(0), &cluster.options()).unwrap();
    cluster.replicas[0].0.kill_9().unwrap();
    eventually("the other replica", || {
        longest().is_some_and(|lag| lag.replica == cluster.address(1))
    });
    assert_eq!(named.lag().unwrap().following, Following::Unreachable);
}

/// Who replicates says what it is called: that is no reason to log in there with a password.
#[test]
fn a_password_goes_to_no_host_that_only_a_replica_named() {
    let Some(cluster) = Cluster::start(1).unwrap() else { return };
    let mut administrator = cluster.replica(0).unwrap();
    administrator.exec("SET GLOBAL general_log=1, GLOBAL log_output='TABLE'").unwrap();
    let (mut session, mut remarks) = (Session::connect(&cluster.options()).unwrap(), Vec::new());
    assert!(replicas::find(&mut session, &[], &mut remarks).is_empty());
    let hint = format!("--replica {}", cluster.address(0));
    assert!(remarks.len() == 1 && remarks[0].contains(&hint), "{remarks:?}");
    let logins = "SELECT COUNT(*) FROM mysql.general_log WHERE command_type='Connect' \
                  AND argument LIKE 'repl@%'";
    assert_eq!(administrator.query_text(logins).unwrap().as_deref(), Some("0"));
    // Where the user names it, it is asked.
    let mut named = Replica::named(&cluster.address(0), &cluster.options()).unwrap();
    assert_eq!(behind(named.lag().as_ref()), Some(0));
    assert_eq!(administrator.query_text(logins).unwrap().as_deref(), Some("1"));
}

#[test]
fn a_delay_that_a_replica_was_told_to_keep_is_no_lag() {
    let Some(cluster) = Cluster::start(1).unwrap() else { return };
    let mut replica = cluster.replica(0).unwrap();
    replica.exec("STOP SLAVE").unwrap();
    let mut stopped = Vec::new();
    let mut session = Session::connect(&cluster.open_options()).unwrap();
    let mut found = replicas::find(&mut session, &[], &mut stopped);
    // Its connection may still be known, or already gone.
    assert!(found.iter_mut().all(|replica| replica.lag().is_none()));
    assert_eq!(stopped.len(), found.len());

    replica.exec("CHANGE MASTER TO MASTER_DELAY=3600").unwrap();
    replica.exec("START SLAVE").unwrap();
    let mut named = Replica::named(&cluster.address(0), &cluster.options()).unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    let delayed = || {
        let status = &replica.query_named("SHOW SLAVE STATUS").unwrap()[0];
        status["seconds_behind_master"].as_deref().and_then(|text| text.parse().ok()) >= Some(1)
    };
    eventually("the delay", delayed);
    assert_eq!(behind(named.lag().as_ref()), Some(0));
}

#[test]
fn a_server_that_is_no_replica_cannot_be_named_as_one() {
    let Some(cluster) = Cluster::start(1).unwrap() else { return };
    let primary = format!("127.0.0.1:{}", cluster.options().port.unwrap());
    let error = Replica::named(&primary, &cluster.options()).unwrap_err();
    assert!(error.to_string().contains("is not a replica"), "{error}");
    cluster.replicas[0].0.kill_9().unwrap();
    let error = Replica::named(&cluster.address(0), &cluster.options()).unwrap_err();
    assert!(error.to_string().contains(&cluster.address(0)), "{error}");
}
