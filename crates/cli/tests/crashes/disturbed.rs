//! Disturbances of the server and its connections while a load runs: afterwards the table is the old one or
//! the new one, nothing is left, and the same command again works.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use server::Session;
use testkit::{TestServer, TestServerOptions};

use crate::scene::{Mode, Scene};
use crate::support::{Outcome, PATIENCE, finish, resume, run, start, wait_paused};

/// Places at which nothing is asked of the server for long, or could be.
const PLACES: [&str; 10] = [
    "inspect.end",
    "staging.created",
    "staging.discarded",
    "rows.begin",
    "verify.end",
    "import.placed",
    "import.end",
    "compare.held",
    "publish.begin",
    "publish.swapped",
];
/// From here on a lost connection is made again and the load goes on.
const GOES_ON: &str = "staging.discarded";

/// A server of one test alone, as it is when nobody uses it.
struct Calm {
    server: TestServer,
    settings: Vec<String>,
}

impl Calm {
    fn start(options: &TestServerOptions) -> Option<Calm> {
        let server = TestServer::start_with(options)?;
        let settings = settings(&mut server.connect().unwrap());
        Some(Calm { server, settings })
    }

    /// Asserts that no connection but `scene`'s is there, and that no setting is another.
    #[track_caller]
    fn again(&self, scene: &mut Scene<'_>, when: &str) {
        let begun = Instant::now();
        while !others(&mut scene.session).is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{when}: {:?}", others(&mut scene.session));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(settings(&mut scene.session), self.settings, "{when}");
    }
}

/// Every global variable with its value.
pub(super) fn settings(session: &mut Session) -> Vec<String> {
    let rows = session.query("SHOW GLOBAL VARIABLES").unwrap();
    let text = |row: &server::Row| format!("{}={}", row.text_lossy(0), row.text_lossy(1));
    rows.iter().map(text).filter(|line| !line.starts_with("innodb_buffer_pool_")).collect()
}

/// Connections of others.
pub(super) fn others(session: &mut Session) -> Vec<u64> {
    let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() \
         AND COMMAND <> 'Daemon' AND USER NOT IN ('system user', 'event_scheduler')";
    session.query(sql).unwrap().iter().map(|row| row.number(0).unwrap()).collect()
}

/// Stops a load at `place`, lets `disturb` do its worst, and gives the load's outcome.
fn disturbed(scene: &mut Scene<'_>, place: &str, disturb: impl FnOnce(&mut Scene<'_>)) -> Outcome {
    let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
    wait_paused(&mut child);
    disturb(scene);
    resume(&child);
    finish(child)
}

/// After a load: it worked, or it says in which step it did not and left nothing.
#[track_caller]
fn judge(calm: &Calm, scene: &mut Scene<'_>, outcome: &Outcome, when: &str) {
    if outcome.code() == 0 {
        assert!(scene.is_new(), "{when}: {outcome:?}");
    } else {
        outcome.refused(1, &["step ", "the load left nothing behind; load again"]);
        assert!(!scene.is_new(), "{when}: {outcome:?}");
    }
    scene.clean(when);
    calm.again(scene, when);
    scene.again(when);
    scene.reset();
}

#[test]
fn a_load_whose_connections_an_administrator_ends_goes_on_or_leaves_nothing() {
    let Some(calm) = Calm::start(&TestServerOptions::default()) else { return };
    let mut scene = Scene::new(&calm.server, Mode::Replace, 3_000);
    let mut goes_on = false;
    for place in PLACES {
        goes_on |= place == GOES_ON;
        let outcome = disturbed(&mut scene, place, |scene| {
            for id in others(&mut scene.session) {
                scene.session.exec(&format!("KILL CONNECTION {id}")).unwrap();
            }
        });
        assert_eq!(outcome.code() == 0, goes_on, "{place}: {outcome:?}");
        let told =
            outcome.err.contains("warning: the connection to the server was lost and opened");
        assert_eq!(told, goes_on && place != "publish.swapped", "{place}: {outcome:?}");
        judge(&calm, &mut scene, &outcome, place);
    }
}

/// Each connection alone, of loads that build and of loads that send.
#[test]
#[ignore = "half a minute long; make test-more runs it"]
fn a_load_one_of_whose_connections_is_ended_goes_on_or_leaves_nothing() {
    let Some(calm) = Calm::start(&TestServerOptions::default()) else { return };
    let built = ["staging.created", "rows.begin", "import.placed", "compare.held", "publish.begin"];
    let sent = ["staging.begin", "ledger.created", "ledger.opened", "rows.begin", "publish.begin"];
    for (places, more) in [(built, vec![]), (sent, vec!["--path", "stream"])] {
        let mut scene = Scene::new(&calm.server, Mode::Replace, 3_000);
        scene.more = more;
        for place in places {
            let mut nth = 0;
            loop {
                let mut ended = None;
                let outcome = disturbed(&mut scene, place, |scene| {
                    ended = others(&mut scene.session).get(nth).copied();
                    if let Some(id) = ended {
                        scene.session.exec(&format!("KILL CONNECTION {id}")).unwrap();
                    }
                });
                judge(&calm, &mut scene, &outcome, &format!("{place}, connection {nth}"));
                if ended.is_none() {
                    break;
                }
                nth += 1;
            }
            assert!(nth > 0, "{place}: no connection was seen");
        }
    }
}

#[test]
fn a_load_whose_server_restarts_goes_on_or_leaves_nothing() {
    let Some(calm) = Calm::start(&TestServerOptions::default()) else { return };
    let mut scene = Scene::new(&calm.server, Mode::Insert, 3_000);
    let mut goes_on = false;
    for place in PLACES {
        goes_on |= place == GOES_ON;
        let outcome = disturbed(&mut scene, place, |scene| {
            scene.server.restart().unwrap();
            scene.reconnect();
        });
        assert_eq!(outcome.code() == 0, goes_on, "{place}: {outcome:?}");
        judge(&calm, &mut scene, &outcome, place);
    }
}

/// A server that crashes and comes back is waited for; what it has then outlives another crash.
#[test]
fn a_server_that_crashes_and_comes_back_is_waited_for() {
    let durable = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(calm) = Calm::start(&durable) else { return };
    let mut scene = Scene::new(&calm.server, Mode::Replace, 3_000);
    for place in ["staging.discarded", "import.placed", "publish.begin"] {
        let mut load = scene.load_with(&format!("{place}=pause"));
        let mut child = start(load.env("INRUSH_RECONNECT_MS", "60000"));
        wait_paused(&mut child);
        calm.server.kill_9().unwrap();
        resume(&child);
        std::thread::sleep(Duration::from_millis(300));
        calm.server.restart().unwrap();
        let outcome = finish(child);
        outcome.done();
        calm.server.kill_9().unwrap();
        calm.server.restart().unwrap();
        scene.reconnect();
        judge(&calm, &mut scene, &outcome, place);
    }
    // One that does not come back: said, with what is left; the next load removes it.
    let mut child = start(&mut scene.load_with("verify.end=pause"));
    wait_paused(&mut child);
    calm.server.kill_9().unwrap();
    resume(&child);
    let left = "is unchanged; ";
    finish(child).refused(1, &["step import: ", left, "the next load of the table"]);
    calm.server.restart().unwrap();
    scene.reconnect();
    scene.again("after the server was gone");
}

#[test]
fn a_server_that_turns_read_only_keeps_its_table() {
    let Some(calm) = Calm::start(&TestServerOptions::default()) else { return };
    let mut scene = Scene::new(&calm.server, Mode::Replace, 1_000);
    for place in ["staging.begin", "rows.begin", "import.placed", "publish.begin"] {
        let outcome = disturbed(&mut scene, place, |scene| {
            scene.session.exec("SET GLOBAL read_only=1").unwrap();
        });
        scene.session.exec("SET GLOBAL read_only=0").unwrap();
        outcome.refused(1, &["the server became read-only", "(read_only is set)"]);
        assert!(!scene.is_new());
        scene.clean(place);
        calm.again(&mut scene, place);
        scene.again(place);
        scene.reset();
    }
}

#[test]
fn limits_of_a_hurried_server_do_not_reach_a_load() {
    let Some(calm) = Calm::start(&TestServerOptions::default()) else { return };
    let mut scene = Scene::new(&calm.server, Mode::Replace, 1_000);
    let hurried = [
        "wait_timeout",
        "interactive_timeout",
        "lock_wait_timeout",
        "innodb_lock_wait_timeout",
        "idle_transaction_timeout",
        "idle_readonly_transaction_timeout",
        "idle_write_transaction_timeout",
        "max_statement_time",
        "net_read_timeout",
        "net_write_timeout",
    ];
    for name in hurried {
        scene.session.exec(&format!("SET GLOBAL {name}=1")).unwrap();
    }
    let before = settings(&mut scene.session);
    for place in ["rows.begin", "publish.begin"] {
        let outcome =
            disturbed(&mut scene, place, |_| std::thread::sleep(Duration::from_millis(2_200)));
        outcome.done();
        assert!(!outcome.err.contains("warning"), "{outcome:?}");
        scene.again(place);
        scene.reset();
    }
    assert_eq!(settings(&mut scene.session), before);
}

#[test]
fn a_server_that_gets_full_does_not_stop_a_load_that_has_begun() {
    let options =
        TestServerOptions { extra: vec!["--max-connections=10".to_owned()], ..Default::default() };
    let Some(calm) = Calm::start(&options) else { return };
    let mut scene = Scene::new(&calm.server, Mode::Replace, 1_000);
    let mut crowd = Vec::new();
    let outcome = disturbed(&mut scene, "rows.begin", |scene| {
        while let Ok(session) = scene.server.connect() {
            crowd.push(session);
        }
    });
    assert!(crowd.len() > 5);
    outcome.done();
    // The server takes its time to count the load's connections out.
    let begun = Instant::now();
    while others(&mut scene.session).len() > crowd.len() {
        assert!(begun.elapsed() < PATIENCE, "{:?}", others(&mut scene.session));
        std::thread::sleep(Duration::from_millis(5));
    }
    while let Ok(session) = calm.server.connect() {
        crowd.push(session);
    }
    let full = run(&mut scene.command());
    full.refused(1, &["connecting to ", "Too many connections (server error 1040)"]);
    crowd.clear();
    judge(&calm, &mut scene, &outcome, "full");
}

/// Passes bytes between clients and a server's socket, and cuts one connection once.
struct Cutter {
    socket: PathBuf,
    ended: Arc<AtomicBool>,
}

impl Cutter {
    /// Cuts the first connection that sends `statement`: before the server gets it, or after.
    fn new(dir: &Path, server: &Path, statement: &'static str, after: bool) -> Cutter {
        let socket = dir.join("cut.sock");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let (ended, cut) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (end, server) = (Arc::clone(&ended), server.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, UnixStream::connect(&server)) else {
                    continue;
                };
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || pass(back.0, back.1, |_| None));
                let cut = Arc::clone(&cut);
                std::thread::spawn(move || {
                    pass(client, server, |bytes| {
                        let text = String::from_utf8_lossy(bytes);
                        let hit = text.contains(statement) && !cut.swap(true, Ordering::SeqCst);
                        hit.then_some(after)
                    })
                });
            }
        });
        Cutter { socket, ended }
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(&self.socket);
    }
}

/// Copies until the end; `cut` says to stop before or after these bytes.
fn pass(mut from: UnixStream, mut to: UnixStream, cut: impl Fn(&[u8]) -> Option<bool>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let cut = cut(&buffer[..count]);
        if cut != Some(false) && to.write_all(&buffer[..count]).is_err() {
            break;
        }
        if cut.is_some() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn a_network_that_is_cut_in_any_statement_leaves_the_old_table_or_the_new_one() {
    let Some(calm) = Calm::start(&TestServerOptions::default()) else { return };
    let mut scene = Scene::new(&calm.server, Mode::Replace, 3_000);
    let statements = [
        "FOR CREATE TABLE",
        "FOR EXPORT",
        "UNLOCK TABLES",
        "DISCARD TABLESPACE",
        "innodb_log_checkpoint_now=1",
        "IMPORT TABLESPACE",
        "HANDLER imported READ FIRST",
        "LOCK TABLES",
        "RENAME TABLE",
        "DROP TABLE",
    ];
    for statement in statements {
        for after in [false, true] {
            // The first UNLOCK is the export's; LOCK TABLES alone would find it too.
            let pattern = if statement == "LOCK TABLES" { "\u{3}LOCK TABLES" } else { statement };
            let cutter = Cutter::new(scene.home.path(), calm.server.socket(), pattern, after);
            let mut load = scene.command();
            load.arg("--socket").arg(&cutter.socket);
            let outcome = run(&mut load);
            let when = format!("cut {} {statement}", if after { "after" } else { "before" });
            println!("{when}: {} {}", outcome.code(), outcome.err.lines().last().unwrap_or(""));
            judge(&calm, &mut scene, &outcome, &when);
        }
    }
}

/// How many times: `default`, or what the variable INRUSH_TEST_KILLS says.
fn times(default: u32) -> u32 {
    std::env::var("INRUSH_TEST_KILLS").map_or(default, |text| text.parse().unwrap())
}

#[test]
fn connections_ended_at_any_moment_leave_the_old_table_or_the_new_one() {
    let Some(calm) = Calm::start(&TestServerOptions::default()) else { return };
    let mut scene = Scene::new(&calm.server, Mode::Replace, 20_000);
    let begun = Instant::now();
    run(&mut scene.command()).done();
    let (whole, times) = (begun.elapsed(), times(10));
    scene.reset();
    for turn in 0..times {
        let child = start(&mut scene.command());
        std::thread::sleep(whole * (2 * turn + 1) / (2 * times));
        for id in others(&mut scene.session) {
            // It may have gone by itself.
            let _ = scene.session.exec(&format!("KILL CONNECTION {id}"));
        }
        let outcome = finish(child);
        let when = format!("turn {turn}: {outcome:?}");
        if outcome.code() == 0 {
            assert!(scene.is_new(), "{when}");
        } else {
            outcome.refused(1, &[]);
            assert!(!scene.is_new(), "{when}");
        }
        scene.clean(&when);
        calm.again(&mut scene, &when);
        scene.again(&when);
        scene.reset();
    }
}
