//! Loads into servers without `innodb_log_checkpoint_now`, as releases before MDEV-30000 are: the server writes its
//! changed pages out by other settings for a moment, and has its own ones again.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use server::Session;
use server::facts::FLUSH_VARIABLES;
use testkit::TestServer;

use crate::scene::{Mode, Scene};
use crate::support::{finish, resume, run, start, wait_paused};

const ROWS: u32 = 2_000;
/// The page cleaner works once a second.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(30);

/// Values of the variables of a flush, in their order.
fn values(session: &mut Session) -> Vec<f64> {
    let value = |(name, _): (&str, &str)| {
        let text = session.query_text(&format!("SELECT @@GLOBAL.{name}")).unwrap();
        text.unwrap().parse().unwrap()
    };
    FLUSH_VARIABLES.into_iter().map(value).collect()
}

fn flushed() -> Vec<f64> {
    FLUSH_VARIABLES.into_iter().map(|(_, value)| value.parse().unwrap()).collect()
}

/// The command as such a server's.
fn flushing(mut command: Command) -> Command {
    command.env("INRUSH_CHECKPOINT", "flush");
    command
}

/// A server of its own, whose settings nobody else sets; not MySQL, whose IMPORT makes a checkpoint.
fn server() -> Option<TestServer> {
    TestServer::start().filter(|server| !server.is_mysql())
}

#[test]
fn a_load_and_a_merge_set_the_variables_of_a_flush_and_put_them_back() {
    let Some(server) = server() else { return };
    for mode in [Mode::Replace, Mode::Append] {
        let mut scene = Scene::new(&server, mode, ROWS);
        let before = values(&mut scene.session);
        let arguments: Vec<_> = scene.command().get_args().skip(1).map(ToOwned::to_owned).collect();
        let plan = run(flushing(scene.home.inrush(["plan"])).args(arguments));
        let set = FLUSH_VARIABLES.map(|(name, value)| format!("{name}={value}")).join(", ");
        let note = format!("while the file is built, {set} are set until");
        for words in ["this server has no innodb_log_checkpoint_now", &note] {
            assert!(plan.done().out.contains(words), "{plan:?}");
        }
        assert_eq!(values(&mut scene.session), before);
        // The last of the variables has its value back, the others wait.
        let pause = "tune.flushed.innodb_max_dirty_pages_pct=pause";
        let mut child = start(&mut flushing(scene.load_with(pause)));
        wait_paused(&mut child);
        assert_eq!(values(&mut scene.session)[..3], flushed()[..3]);
        // It pauses at each of its checkpoints.
        while child.try_wait().unwrap().is_none() {
            resume(&child);
            std::thread::sleep(Duration::from_millis(20));
        }
        finish(child).done();
        assert!(scene.is_new());
        assert_eq!(values(&mut scene.session), before);
        scene.clean("loaded");
    }
}

#[test]
fn settings_of_a_load_that_was_killed_while_it_flushed_are_put_back_by_the_next_command() {
    killed_at(&["tune.set.3"]);
}

#[test]
#[ignore = "ten seconds long; make test-more runs it"]
fn settings_of_a_load_that_was_killed_anywhere_in_a_flush_are_put_back() {
    killed_at(&[
        "tune.noted",
        "tune.set.1",
        "tune.set.2",
        "tune.flushed.innodb_io_capacity",
        "tune.end",
    ]);
}

fn killed_at(places: &[&str]) {
    let Some(server) = server() else { return };
    for (number, place) in places.iter().enumerate() {
        let mode = if number % 2 == 0 { Mode::Append } else { Mode::Replace };
        let mut scene = Scene::new(&server, mode, ROWS);
        let before = values(&mut scene.session);
        let killed = run(&mut flushing(scene.load_with(&format!("{place}=kill"))));
        assert_eq!(killed.status.signal(), Some(9), "{place}: {killed:?}");
        let is_set = values(&mut scene.session) != before;
        assert_eq!(is_set, *place != "tune.noted", "{place}");
        assert!(!scene.is_new(), "{place}");
        // A command that builds nothing.
        let file = scene.home.file("other.txt", "1\n");
        scene.session.exec(&format!("CREATE TABLE {}.other (a INT)", scene.database)).unwrap();
        let other = format!("{}.other", scene.database);
        run(scene.home.load(&server, &other, &file).args(["--path", "stream"])).done();
        assert_eq!(values(&mut scene.session), before, "{place}");
        scene.session.exec(&format!("DROP TABLE {other}")).unwrap();
        run(&mut flushing(scene.command())).done();
        assert!(scene.is_new(), "{place}");
        scene.clean(place);
        assert_eq!(values(&mut scene.session), before, "{place}");
    }
}

/// The log begins behind what they write only when they end; the load waits for its own part.
#[test]
fn writers_beside_a_flush_do_not_hold_a_load_up() {
    let Some(server) = server() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, ROWS);
    let before = values(&mut scene.session);
    let other = server.database().unwrap();
    scene
        .session
        .exec(&format!("CREATE TABLE {other}.w (a INT AUTO_INCREMENT PRIMARY KEY, b CHAR(200))"))
        .unwrap();
    let (ended, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = server.connect().unwrap();
            while !ended.load(Ordering::SeqCst) {
                session
                    .exec(&format!("INSERT INTO {other}.w (b) VALUES (REPEAT('w', 200))"))
                    .unwrap();
                written.fetch_add(1, Ordering::SeqCst);
            }
        });
        let begun = Instant::now();
        let outcome = run(&mut flushing(scene.command()));
        let took = begun.elapsed();
        ended.store(true, Ordering::SeqCst);
        outcome.done();
        assert!(took < FLUSH_TIME_MAX, "{took:?}");
    });
    assert!(written.load(Ordering::SeqCst) > 10);
    assert!(scene.is_new());
    assert_eq!(values(&mut scene.session), before);
}
