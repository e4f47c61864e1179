//! The stand-in beside a real server: its answers, and what the same faults come to with both.
//!
//! `INRUSH_LEARN=1` has the answers learned anew.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use load::LoadOptions;
use server::Row;
use testkit::TestServer;
use testkit::proxy::{Fate, Proxy, Request};
use testkit::stand_in::{DATABASE, Learned, Value};
use testkit::tables::server::{Db, Server};

use super::scene::{Scene, WAYS, definition};
use crate::modelled::{ReportedOutcome, told};

/// The server that the answers are of.
const SERIES: (u16, u16) = (10, 11);

/// The fate of the first request that begins with these words.
const SCRIPTS: [(&str, Fate); 12] = [
    ("COMMIT", Fate::LostBefore),
    ("COMMIT", Fate::LostAfter),
    ("COMMIT", Fate::LostWithin),
    ("COMMIT", Fate::DoneThenRefused(1927)),
    ("COMMIT", Fate::Refused(1213)),
    ("RENAME TABLE", Fate::LostBefore),
    ("RENAME TABLE", Fate::LostAfter),
    ("RENAME TABLE", Fate::DoneThenRefused(1317)),
    ("DROP TABLE IF EXISTS", Fate::LostAfter),
    ("START TRANSACTION", Fate::Refused(1290)),
    ("LOAD DATA", Fate::Refused(1114)),
    ("SHOW CREATE TABLE", Fate::LostWithin),
];

/// A load's message without numbers, and the rows then.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    told: ReportedOutcome,
    words: String,
    rows: Vec<String>,
}

impl Outcome {
    fn of(loaded: &Result<load::Report, load::Error>, socket: &Path, rows: Vec<String>) -> Outcome {
        let words = match loaded {
            Ok(report) => format!("{} rows", report.rows),
            Err(error) => error.to_string().replace(&socket.display().to_string(), "SOCKET"),
        };
        let digits = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let plain = |word: &str| match word.len() >= 16 && word.chars().all(digits) {
            true => "DIGEST".to_owned(),
            false => word.to_owned(),
        };
        let words = words.split_inclusive(['_', ' ', '`', '\'']).map(|part| {
            let end = part.trim_end_matches(['_', ' ', '`', '\'']).len();
            plain(&part[..end]) + &part[end..]
        });
        Outcome { told: told(loaded), words: words.collect(), rows }
    }
}

/// Has the first request that begins with some words its fate, and all others none.
pub(super) fn first(
    words: &'static str,
    fate: Fate,
) -> impl FnMut(&Request) -> Fate + Send + 'static {
    let is_over = AtomicBool::new(false);
    move |request| match request.begins(words) && !is_over.swap(true, Ordering::SeqCst) {
        true => fate,
        false => Fate::Done,
    }
}

#[test]
fn the_same_faults_come_to_the_same_with_a_stand_in_and_a_server() {
    let Some(server) = TestServer::start() else { return };
    let server = Server::of(Box::leak(Box::new(server)));
    server.test_server().connect().unwrap().exec("CREATE DATABASE model").unwrap();
    let mut db = server.session(DATABASE);
    let proxy = Proxy::start(server.folder("proxy").join("s"), server.test_server().socket());
    let mut connect = server.connect_options();
    connect.socket = Some(proxy.socket().to_owned());
    for (at, way) in WAYS.into_iter().enumerate().filter(|(_, way)| way.tables.len() == 1) {
        let scene = Scene::new(way, &server.folder(&format!("scene{at}")));
        let mut own = scene.options[0].clone();
        // Else it is chance which chunk comes first.
        own.limits.batches.connections = Some(1);
        let options = LoadOptions { state_dir: server.folder("state"), ..own.clone() };
        let table = way.tables[0];
        for (words, fate) in SCRIPTS {
            let seen = {
                scene.reset();
                scene.server.judge(first(words, fate));
                let loaded = load::load(&scene.connect, &own, None, &());
                scene.server.let_pass();
                scene.server.settle();
                Outcome::of(&loaded, scene.server.socket(), scene.server.rows(table).unwrap())
            };
            make(&mut db, &scene);
            proxy.judge(first(words, fate));
            let loaded = load::load(&connect, &options, None, &());
            proxy.let_pass();
            let mut rows: Vec<String> = db
                .rows(&format!("SELECT CONCAT(a, ' ', b) FROM {table}"))
                .iter()
                .map(|row| row.text_lossy(0))
                .collect();
            rows.sort();
            let expected = Outcome::of(&loaded, proxy.socket(), rows);
            assert_eq!(seen, expected, "{way:?}: {fate:?} at {words}");
        }
    }
    server.remove();
}

/// The table as a scene has it, and no other.
fn make(db: &mut Db, scene: &Scene) {
    for table in db.tables() {
        db.sql(&format!("DROP TABLE `{table}`"));
    }
    let table = scene.way.tables[0];
    db.sql(&format!("CREATE TABLE {table}{}", definition(table)));
    for row in &scene.old {
        db.sql(&format!("INSERT INTO {table} VALUES ({})", row.replace(' ', ", ")));
    }
    if scene.way.has_trigger {
        db.sql("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @a = NEW.a");
    }
}

/// A server's answer to a question of `answers.txt`.
fn answer(db: &mut Db, question: &str) -> Learned {
    match db.session().query(question) {
        Ok(rows) => {
            let columns = rows.first().map_or(1, Row::len);
            let values = |row: &Row| -> Vec<Value> {
                (0..columns).map(|at| row.bytes(at).map(<[u8]>::to_vec)).collect()
            };
            Learned::Rows(columns, rows.iter().map(values).collect())
        }
        Err(server::Error::Statement { errno, message, .. }) => Learned::Refused(errno, message),
        Err(error) => panic!("{question}: {error}"),
    }
}

#[test]
fn answers_are_of_the_shape_of_a_servers() {
    let Some(server) = TestServer::start() else { return };
    let server = Server::of(Box::leak(Box::new(server)));
    server.test_server().connect().unwrap().exec("CREATE DATABASE model").unwrap();
    let mut db = server.session(DATABASE);
    for table in ["t", "n"] {
        db.sql(&format!("CREATE TABLE {table}{}", definition(table)));
    }
    let (learned, mut text) = (testkit::stand_in::learned(), String::new());
    if server.test_server().version().series() != SERIES {
        // Others have their own answers, to which the loads of other tests are put.
        println!("skipped: the answers are those of {SERIES:?}");
        return server.remove();
    }
    let learns = std::env::var_os("INRUSH_LEARN").is_some();
    for question in testkit::stand_in::questions() {
        let seen = answer(&mut db, question);
        text += &testkit::stand_in::written(question, &seen);
        match (&seen, learned.get(question)) {
            _ if learns => {}
            (Learned::Rows(columns, _), Some(Learned::Rows(known, _))) => {
                assert_eq!(columns, known, "{question}");
            }
            (Learned::Refused(errno, _), Some(Learned::Refused(known, _))) => {
                assert_eq!(errno, known, "{question}");
            }
            (seen, known) => panic!("{question}: {seen:?}, and not {known:?}"),
        }
    }
    if learns {
        // Which machine it was is of no matter.
        let host = db.text("SELECT @@hostname");
        let datadir = server.test_server().datadir().display().to_string();
        let text = text.replace(&datadir, "/nowhere").replace(&format!("\t{host}\n"), "\tmodel\n");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/src/stand_in");
        std::fs::write(folder.join("answers.txt"), text).unwrap();
    }
    server.remove();
}
