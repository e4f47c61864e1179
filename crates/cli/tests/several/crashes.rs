//! Killed at any point, all tables are the old ones or all the new ones, and the next load cleans up.

use std::os::unix::process::ExitStatusExt;

use testkit::{TestServer, TestServerOptions};

use super::yard::Yard;
use crate::scene::{Mode, SWAPPED};
use crate::support::{finish, idle_connections, resume, run, start, wait_paused};

const KILL: i32 = 9;

/// Places of a command for several tables, in order as far as they have one; from the marked one on
/// the tables are new. Among places that each table has, those of the first, of one in between, of
/// the last.
const PLACES: [&str; 24] = [
    "job.begin",
    "inspect.begin",
    "inspect.end",
    "b.staging.begin",
    "staging.created",
    "staging.discarded",
    "a.staging.begin",
    "a.staging.end",
    "b.rows.begin",
    "b.verify.end",
    "thread.import",
    "b.import.begin",
    "import.placed",
    "b.import.end",
    "c.rows.begin",
    "c.import.begin",
    "a.rows.begin",
    "a.verify.end",
    "a.import.begin",
    "a.import.end",
    "publish.begin",
    SWAPPED,
    "publish.end",
    "job.end",
];

fn is_new_from() -> usize {
    PLACES.iter().position(|&place| place == SWAPPED).unwrap()
}

fn kill_at_every_place(mode: Mode) {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = Yard::new(server, mode);
    for (position, place) in PLACES.iter().enumerate() {
        yard.reset();
        let killed = run(&mut yard.load_with(&format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        assert_eq!(yard.is_new(), position >= is_new_from(), "{place}");
        yard.again(place);
    }
}

#[test]
fn several_loads_killed_at_any_step_leave_all_tables_empty_or_all_full() {
    kill_at_every_place(Mode::Insert);
}

#[test]
fn several_replacements_killed_at_any_step_leave_all_old_rows_or_all_new_ones() {
    kill_at_every_place(Mode::Replace);
}

#[test]
fn several_loads_that_send_rows_killed_at_any_step_leave_all_old_tables_or_all_new_ones() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = Yard::new(server, Mode::Replace);
    for (place, is_new) in [
        ("b.staging.end", false),
        ("b.rows.begin", false),
        ("c.indexes.begin", false),
        ("a.indexes.end", false),
        ("publish.begin", false),
        (SWAPPED, true),
        ("job.end", true),
    ] {
        yard.reset();
        let killed = run(yard.load_with(&format!("{place}=kill")).args(["--path", "stream"]));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        assert_eq!(yard.is_new(), is_new, "{place}");
        yard.again(place);
    }
}

#[test]
fn a_server_killed_while_several_tables_are_loaded_has_all_old_ones_or_all_new_ones() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    for (place, mode, is_new) in [
        ("a.staging.end", Mode::Insert, false),
        ("b.import.begin", Mode::Replace, false),
        ("c.rows.begin", Mode::Insert, false),
        ("a.import.end", Mode::Insert, false),
        ("publish.begin", Mode::Replace, false),
        (SWAPPED, Mode::Replace, true),
        (SWAPPED, Mode::Insert, true),
    ] {
        let mut yard = Yard::new(&server, mode);
        let mut child = start(&mut yard.load_with(&format!("{place}=pause")));
        wait_paused(&mut child);
        server.kill_9().unwrap();
        resume(&child);
        let outcome = finish(child);
        server.restart().unwrap_or_else(|error| panic!("{place}: {error}"));
        yard.reconnect();
        assert_eq!(outcome.code(), i32::from(!is_new), "{place}: {outcome:?}");
        assert_eq!(yard.is_new(), is_new, "{place}");
        yard.again(place);
    }
}

/// Connections that are lost while nothing is asked of them are made again, and the load goes on: of
/// those who build and import, of who keeps the locks.
#[test]
fn lost_connections_are_made_again_while_several_tables_are_loaded() {
    let Some(server) = TestServer::start() else { return };
    let mut yard = Yard::new(&server, Mode::Replace);
    for place in ["b.rows.begin", "publish.begin"] {
        yard.reset();
        let mut child = start(&mut yard.load_with(&format!("{place}=pause")));
        wait_paused(&mut child);
        let others = idle_connections(&mut yard.session);
        assert!(others.len() >= 2, "{place}: {}", others.len());
        for id in others {
            yard.session.exec(&format!("KILL {id}")).unwrap();
        }
        resume(&child);
        finish(child).done();
        assert!(yard.is_new(), "{place}");
        yard.clean(place);
    }
}
