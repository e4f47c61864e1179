//! Tables with partitions, a file each: killed anywhere, they are the old table or the new one.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use testkit::{TestServer, TestServerOptions, dialect};

use crate::scene::{Mode, SWAPPED, Scene, is_reached};
use crate::support::{check_table, contents, finish, resume, run, start, wait_paused};

/// The partitioning of a table; one partition gets no rows.
const BY: &str = "RANGE (id) (PARTITION p0 VALUES LESS THAN (0), PARTITION p1 VALUES LESS THAN (1000), \
                  PARTITION p2 VALUES LESS THAN MAXVALUE)";
/// The same where rows that are added are for one partition, which has some.
pub(crate) const BY_FOR_ONE: &str = "RANGE (id) (PARTITION p0 VALUES LESS THAN (-400), PARTITION p1 VALUES LESS THAN \
                          (100000), PARTITION p2 VALUES LESS THAN MAXVALUE)";
/// The same where they are for two, of which one has some; another has rows, and gets none.
pub(crate) const BY_FOR_TWO: &str = "RANGE (id) (PARTITION p0 VALUES LESS THAN (-400), PARTITION p1 VALUES LESS THAN \
                          (1000), PARTITION p2 VALUES LESS THAN MAXVALUE)";
const ROWS: u32 = 2_000;
/// Places at which the target is new.
const EXCHANGED: [&str; 2] = ["publish.moved", SWAPPED];

/// Where something is killed, of which load into what.
type Place = (&'static str, Mode, &'static str);

/// Where a load is killed.
const PLACES: [Place; 28] = [
    // In make test, and in the soak all.
    ("partition.exchanged", Mode::Append, BY_FOR_TWO),
    ("import.end", Mode::Replace, BY),
    ("compare.held", Mode::Replace, BY),
    ("publish.moved", Mode::Append, BY_FOR_ONE),
    ("publish.begin", Mode::Append, BY_FOR_ONE),
    ("partition.exchanged", Mode::Insert, BY),
    ("rows.end", Mode::Append, BY_FOR_ONE),
    ("export.held", Mode::Append, BY_FOR_ONE),
    ("partitions.made", Mode::Append, BY_FOR_ONE),
    ("import.placed", Mode::Append, BY_FOR_ONE),
    ("import.end", Mode::Append, BY_FOR_ONE),
    (SWAPPED, Mode::Append, BY_FOR_ONE),
    ("staging.created", Mode::Insert, BY),
    ("staging.discarded", Mode::Replace, BY),
    ("rows.end", Mode::Insert, BY),
    ("partitions.made", Mode::Insert, BY),
    ("import.placed", Mode::Replace, BY),
    ("publish.begin", Mode::Insert, BY),
    (SWAPPED, Mode::Replace, BY),
    (SWAPPED, Mode::Insert, BY),
    ("rows.end", Mode::Append, BY_FOR_TWO),
    ("export.held", Mode::Append, BY_FOR_TWO),
    ("partitions.made", Mode::Append, BY_FOR_TWO),
    ("import.placed", Mode::Append, BY_FOR_TWO),
    ("import.end", Mode::Append, BY_FOR_TWO),
    ("publish.begin", Mode::Append, BY_FOR_TWO),
    ("publish.moved", Mode::Append, BY_FOR_TWO),
    (SWAPPED, Mode::Append, BY_FOR_TWO),
];

/// Where its server is.
const SERVER_PLACES: [Place; 18] = [
    ("partition.exchanged", Mode::Append, BY_FOR_TWO),
    ("publish.moved", Mode::Append, BY_FOR_ONE),
    ("partition.exchanged", Mode::Replace, BY),
    (SWAPPED, Mode::Replace, BY),
    ("staging.discarded", Mode::Replace, BY),
    ("partitions.made", Mode::Replace, BY),
    ("import.placed", Mode::Replace, BY),
    ("import.end", Mode::Replace, BY),
    ("export.held", Mode::Append, BY_FOR_ONE),
    ("import.placed", Mode::Append, BY_FOR_ONE),
    ("publish.begin", Mode::Append, BY_FOR_ONE),
    (SWAPPED, Mode::Append, BY_FOR_ONE),
    ("export.held", Mode::Append, BY_FOR_TWO),
    ("publish.begin", Mode::Append, BY_FOR_TWO),
    ("publish.moved", Mode::Append, BY_FOR_TWO),
    (SWAPPED, Mode::Append, BY_FOR_TWO),
    ("stamp.run", Mode::Replace, BY),
    ("stamp.run", Mode::Append, BY_FOR_ONE),
];

#[test]
fn a_load_killed_between_two_partitions_leaves_the_old_ones_or_the_new_ones() {
    killed_at(&PLACES[..5]);
}

#[test]
#[ignore = "half a minute; make soak runs it"]
fn a_load_killed_at_any_step_leaves_the_old_partitions_or_the_new_ones() {
    killed_at(&PLACES);
}

fn killed_at(places: &[Place]) {
    let Some(server) = TestServer::shared() else { return };
    for &(place, mode, by) in places {
        let mut scene = Scene::of(server, mode, ROWS, by);
        let killed = run(&mut scene.load_with(&format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(9), "{place}: {killed:?}");
        assert_eq!(scene.is_new(), EXCHANGED.contains(&place), "{place}");
        scene.again(place);
    }
}

#[test]
fn a_server_killed_between_two_partitions_comes_back_with_the_old_ones_or_the_new_ones() {
    server_killed_at(&SERVER_PLACES[..2]);
}

#[test]
#[ignore = "half a minute; make soak runs it"]
fn a_server_killed_at_any_step_comes_back_with_the_old_partitions_or_the_new_ones() {
    server_killed_at(&SERVER_PLACES);
}

fn server_killed_at(places: &[Place]) {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    for &(place, mode, by) in places.iter().filter(|(place, ..)| is_reached(&server, place)) {
        let mut scene = Scene::of(&server, mode, ROWS, by);
        let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
        wait_paused(&mut child);
        server.kill_9().unwrap();
        resume(&child);
        let outcome = finish(child);
        server.restart().unwrap();
        scene.reconnect();
        assert_eq!(scene.is_new(), EXCHANGED.contains(&place), "{place}: {outcome:?}");
        scene.again(place);
        let table = scene.table.clone();
        let more = "SELECT 200000 + seq, 900000 + seq, 'later', NULL";
        let from = format!("{}.seq_1_to_100", scene.database);
        let insert = format!("INSERT INTO {table} {more} FROM {from}");
        dialect::exec(&mut scene.session, &insert).unwrap();
        server.kill_9().unwrap();
        server.restart().unwrap();
        scene.reconnect();
        check_table(&mut scene.session, &table);
        assert_eq!(contents(&mut scene.session, &table).0, scene.new.0 + 100, "{place}");
    }
}

/// EXCHANGE renames three times, and the server's log of it decides.
#[test]
#[ignore = "some seconds a moment; make soak runs it"]
fn a_server_killed_at_any_moment_of_the_exchange_comes_back_with_the_old_rows_or_the_new_ones() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    // Closer and closer to where it is done, in microseconds, and around that again.
    let (mut low, mut high) = (0_u64, 400_000);
    for _ in 0..24 {
        let moment = (low + high) / 2;
        let mut scene = Scene::of(&server, Mode::Append, ROWS, BY_FOR_ONE);
        let mut child = start(&mut scene.load_with("publish.queued=pause"));
        wait_paused(&mut child);
        resume(&child);
        std::thread::sleep(Duration::from_micros(moment));
        server.kill_9().unwrap();
        let outcome = finish(child);
        server.restart().unwrap();
        scene.reconnect();
        println!("{moment}: {} {:?}", scene.is_new(), outcome.status);
        match scene.is_new() {
            true => high = moment,
            false => low = moment,
        }
        if high - low < 2_000 {
            (low, high) = (low.saturating_sub(3_000), high + 3_000);
        }
        check_table(&mut scene.session, &scene.table.clone());
        scene.again(&format!("moment {moment}"));
    }
}

/// Leftovers of a lost connection, a refusal or a panic are removed at once.
#[test]
fn a_load_that_fails_between_two_partitions_leaves_nothing() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::of(server, Mode::Replace, ROWS, BY);
    let failed = run(&mut scene.load_with("partition.exchanged=panic"));
    failed.refused(1, &["internal error"]);
    assert!(!scene.is_new());
    scene.clean("after a panic");
}

#[test]
fn plan_says_how_partitions_are_built_and_when_sending_is_faster() {
    let Some(server) = TestServer::shared() else { return };
    let scene = Scene::of(server, Mode::Replace, 100, BY);
    let load = scene.command();
    let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
    let plan = |more: &[&str]| {
        let mut plan = scene.home.inrush(["plan"]);
        run(plan.args(arguments.clone()).args(more)).done().out.clone()
    };
    let both = "building its 3 partitions, a file each, would take about ";
    let direct = plan(&[]);
    let said = "each of its 3 partitions with rows is built as a table, and exchanged";
    assert!(direct.contains(said) && direct.contains(both), "{direct}");
    let auto = plan(&["--path", "auto"]);
    assert!(auto.contains("loads with the stream path"), "{auto}");
    assert!(auto.contains(&format!("not direct: {both}")), "{auto}");
    assert!(auto.contains(" s; sending the rows about 0.0 s"), "{auto}");
}
