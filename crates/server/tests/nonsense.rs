//! Answers that are damaged: an error, never a panic, and nothing that comes behind them is taken for
//! an answer to what is asked next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use server::{ConnectOptions, Error, Session};
use testkit::proxy::{Damage, Fate, Proxy};
use testkit::{Random, TestServer};

/// Statements where nothing is said of them (`INRUSH_HOSTILE_RUNS`).
const RUNS: usize = 100;
/// Longer than any of them takes, the wait for a connection that ends included.
const LONGEST: Duration = Duration::from_secs(10);
const SQL: &str = "SELECT seq, REPEAT('x', seq) FROM mysql.seq_1_to_20";

/// A question, which returns true if the answer is right.
type Ask = fn(&mut Session) -> Result<bool, Error>;

const ASKS: [Ask; 6] = [
    |session| Ok(session.query(SQL)?.len() == 20),
    |session| session.query_named(SQL).map(|rows| rows.len() == 20),
    |session| session.exec("DO 1").map(|_| true),
    |session| session.exec_bytes(b"SELECT 1; SELECT '\xff'").map(|_| true),
    |session| Ok(session.column_bytes("SELECT 'abc' AS a, 'de' AS b")?.len() == 2),
    |session| {
        let prepared = session.prepare("SELECT ?, 2, 3", "SELECT")?;
        session.exec_bulk(&prepared, [vec![Some(&b"1"[..])]].into_iter(), "SELECT").map(|_| true)
    },
];

struct Hall {
    _server: TestServer,
    proxy: Proxy,
    options: ConnectOptions,
    _folder: tempfile::TempDir,
}

impl Hall {
    fn new() -> Option<Hall> {
        let server = TestServer::start()?;
        let folder = tempfile::tempdir().unwrap();
        let proxy = Proxy::start(folder.path().join("proxy"), server.socket());
        let socket = Some(proxy.socket().to_owned());
        let options = ConnectOptions { socket, ..server.options() };
        Some(Hall { _server: server, proxy, options, _folder: folder })
    }
}

fn damage(random: &mut Random) -> Damage {
    match random.below(5) {
        0 => Damage::Random(random.next_u64()),
        1 => Damage::Bit(random.below(400)),
        2 => Damage::Twice,
        _ => Damage::any(random),
    }
}

#[test]
fn an_answer_without_sense_is_an_error_and_ends_the_connection() {
    let Some(hall) = Hall::new() else { return };
    let mut session = Session::connect(&hall.options).unwrap();
    hall.proxy.judge(|request| match request.begins("DO 2") {
        true => Fate::Damaged(0, Damage::Empty),
        false => Fate::Done,
    });
    assert!(session.exec("DO 1").is_ok());
    let error = session.exec("DO 2").unwrap_err();
    assert!(matches!(error, Error::Nonsense { .. }) && error.is_unclear(), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("is invalid") && text.contains("DO 2"), "{text}");
    hall.proxy.let_pass();
    let error = session.exec("DO 3").unwrap_err();
    assert!(error.to_string().contains("it was closed after an earlier answer"), "{error}");
    assert!(Session::connect(&hall.options).unwrap().exec("DO 3").is_ok());
}

#[test]
fn an_answer_that_comes_twice_shows_when_a_number_is_asked_for() {
    let Some(hall) = Hall::new() else { return };
    // The last one is refused, and what is asked behind it too, by the same words.
    for asked in ["DO 1", "SELECT 1 UNION SELECT 2", "SELECT 1 FROM nowhere.nothing"] {
        let mut session = Session::connect(&hall.options).unwrap();
        let twice = asked.to_owned();
        hall.proxy.judge(move |request| match request.begins(&twice) {
            true => Fate::Damaged(0, Damage::Twice),
            false => Fate::Done,
        });
        let _ = session.exec(asked);
        let error = session.check_in_step().unwrap_err();
        hall.proxy.let_pass();
        assert!(matches!(error, Error::Nonsense { .. } | Error::Lost { .. }), "{asked}: {error}");
        assert!(session.exec("DO 0").is_err(), "{asked}: the connection was given up");
    }
}

#[test]
fn a_check_asks_again_only_behind_a_statement() {
    let Some(hall) = Hall::new() else { return };
    let mut session = Session::connect(&hall.options).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    hall.proxy.judge(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Fate::Done
    });
    let mut asks = |work: &mut dyn FnMut(&mut Session)| {
        let before = asked.load(Ordering::SeqCst);
        work(&mut session);
        asked.load(Ordering::SeqCst) - before
    };
    let check = &mut |session: &mut Session| session.check_in_step().unwrap();
    assert_eq!((asks(check), asks(check)), (1, 0));
    assert_eq!(asks(&mut |session| drop(session.exec("SET sql_mode='ANSI'").unwrap())), 1);
    let adopt = &mut |session: &mut Session| {
        let columns = ["@@SESSION.sql_mode".to_owned(), "NULL".to_owned()];
        let values = session.adopt_variables(&columns).unwrap();
        assert!(values[0].as_ref().is_some_and(|mode| mode.contains("ANSI")), "{values:?}");
        assert_eq!(values[1..], [None]);
    };
    assert_eq!((asks(adopt), asks(check)), (1, 0));
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(asks(check), 1, "the connection may be another one by now");
}

#[test]
fn a_session_in_any_state_answers_with_the_number() {
    let Some(hall) = Hall::new() else { return };
    for states in [
        &["SET @a='x'", "SELECT 1 INTO @a"][..],
        &["XA START 'a'", "XA END 'a'"],
        &["START TRANSACTION READ ONLY"],
        &["CREATE TEMPORARY TABLE test.t (a INT)", "LOCK TABLES mysql.db READ"],
    ] {
        let mut session = Session::connect(&hall.options).unwrap();
        for state in states {
            // There may be no such database.
            let _ = session.exec(state);
            session.check_in_step().unwrap_or_else(|error| panic!("{state}: {error}"));
        }
    }
    let mut session = Session::connect(&hall.options).unwrap();
    session.set(&[("character_set_results", "NULL"), ("sql_mode", "ANSI_QUOTES")]).unwrap();
    session.check_in_step().unwrap();
}

#[test]
fn an_answer_without_end_is_not_held_in_memory() {
    let Some(hall) = Hall::new() else { return };
    let mut session = Session::connect(&hall.options).unwrap();
    let sql = "SELECT REPEAT('x', 4000000) FROM mysql.seq_1_to_1000000";
    let error = session.query(sql).unwrap_err();
    assert!(error.to_string().contains("more than 268435456 bytes of rows"), "{error}");
    assert!(session.query("SELECT 1").is_err());
}

#[test]
fn a_panic_of_ours_among_the_rows_stays_one() {
    let Some(hall) = Hall::new() else { return };
    let mut session = Session::connect(&hall.options).unwrap();
    let panics = std::panic::AssertUnwindSafe(|| session.for_each(SQL, |_| panic!("ours")));
    let panic = std::panic::catch_unwind(panics).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"ours"));
    // The rest of the answer was read, as after an error of whoever looks at rows.
    assert_eq!(session.query(SQL).unwrap().len(), 20);
}

#[test]
fn no_answer_makes_a_session_panic_hang_or_take_it_for_another() {
    let Some(hall) = Hall::new() else { return };
    let (panics, usual) = (Arc::new(AtomicUsize::new(0)), std::panic::take_hook());
    let (seen, here) = (Arc::clone(&panics), std::thread::current().id());
    // Other tests of the process may panic by intent.
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == here && !server::is_in_driver() {
            seen.fetch_add(1, Ordering::SeqCst);
            usual(panic);
        }
    }));
    let runs = std::env::var("INRUSH_HOSTILE_RUNS").ok().and_then(|text| text.parse().ok());
    let mut random = Random::new(Random::seed_of_run());
    for _ in 0..runs.unwrap_or(RUNS) {
        let fate = Fate::Damaged(random.below(8), damage(&mut random));
        let ask = random.below(ASKS.len());
        let is_early = random.chance(4);
        let what = format!("way {ask}: {fate:?}{}", if is_early { " when connecting" } else { "" });
        one(&hall, ask, fate, is_early, &what);
        assert_eq!(panics.load(Ordering::SeqCst), 0, "{what}");
    }
}

/// Asks with one answer damaged, when the session is set up if `is_early`.
fn one(hall: &Hall, ask: usize, fate: Fate, is_early: bool, what: &str) {
    let begun = Instant::now();
    let is_armed = Arc::new(AtomicBool::new(is_early));
    let armed = Arc::clone(&is_armed);
    let fate_of = move |_: &_| if armed.swap(false, Ordering::SeqCst) { fate } else { Fate::Done };
    hall.proxy.let_pass();
    if is_early {
        hall.proxy.judge(fate_of);
        drop(Session::connect(&hall.options));
    } else if let Ok(mut session) = Session::connect(&hall.options) {
        hall.proxy.judge(fate_of);
        is_armed.store(true, Ordering::SeqCst);
        let outcome = ASKS[ask](&mut session);
        let is_given_up = matches!(&outcome, Err(Error::Lost { .. } | Error::Nonsense { .. }));
        if is_given_up {
            // Nothing of what is left of the answer is read.
            let next = session.query("SELECT 'next'");
            assert!(next.is_err(), "{what}: {outcome:?}, then {next:?}");
        }
    }
    assert!(begun.elapsed() < LONGEST, "{what} took {:?}", begun.elapsed());
}
