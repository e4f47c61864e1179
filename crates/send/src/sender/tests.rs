//! Chunks made by hand, sent to a real server.

#![allow(clippy::unwrap_used)]

mod refused;
mod twice;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use job::options::OnDuplicate;
use schema::TableName;
use server::session::Session;
use sources::Chunk;
use targets::Names;
use testkit::TestServer;

use super::lines::numbers;
use super::*;
use crate::ledger::{Job, LedgerTable, Totals};
use crate::retry::Cause;
use crate::sent_chunk::SentRow;
use crate::shards::Shards;

/// Statements of two rows, so that small chunks need several.
const BATCH: Batch = Batch { rows: 2, bytes: 1 << 20 };
/// As many rows as there are.
const ONE_BATCH: Batch = Batch { rows: usize::MAX, bytes: 8 << 20 };

/// A chunk of lines with tab-separated fields.
pub(super) fn chunk(ordinal: u64, form: Form, lines: &[&str]) -> SentChunk {
    let bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let mut chunk = SentChunk {
        ordinal,
        form: Form::Lines,
        text: Vec::new(),
        rows: Vec::new(),
        input: Chunk { ordinal, first_line: 1 + 100 * ordinal, bytes, ..Chunk::default() },
        ..SentChunk::default()
    };
    write(&mut chunk, form);
    chunk
}

fn filled(name: &str) -> FilledColumn {
    FilledColumn { name: name.to_owned(), field: None }
}

/// Writes the rows of a chunk as the encoder would.
fn write(chunk: &mut SentChunk, form: Form) {
    let (mut text, mut rows, mut begin) = (Vec::new(), Vec::new(), 0);
    for line in chunk.input.bytes.split_inclusive(|&b| b == b'\n') {
        match form {
            Form::Lines => text.extend_from_slice(line),
            Form::Values => {
                for field in line.trim_ascii_end().split(|&b| b == b'\t') {
                    parameters::push(Some(field).filter(|field| field != b"\\N"), &mut text);
                }
            }
            Form::Tuples => {
                let line = std::str::from_utf8(line).unwrap().trim_end_matches('\n');
                let field = |field: &str| match field {
                    "\\N" => "NULL".to_owned(),
                    field => format!("'{}'", field.replace('\'', "''")),
                };
                let fields: Vec<String> = line.split('\t').map(field).collect();
                text.extend_from_slice(format!("({}),", fields.join(",")).as_bytes());
            }
        }
        rows.push(SentRow { end: text.len(), raw: begin..begin + line.len() });
        begin += line.len();
    }
    (chunk.form, chunk.text, chunk.rows) = (form, text, rows);
}

/// Writes tuples, and remembers which tries failed.
#[derive(Default)]
pub(super) struct Notes {
    causes: Vec<Cause>,
    /// The receiver of a failed attempt.
    failed: Option<std::sync::mpsc::Sender<()>>,
    was_asked_for_tuples: bool,
}

impl Caller for Notes {
    fn tuples(&mut self, chunk: &mut SentChunk) -> Result<(), Error> {
        self.was_asked_for_tuples = true;
        write(chunk, Form::Tuples);
        Ok(())
    }

    fn again(&mut self, again: &Again) -> Result<(), Error> {
        self.causes.push(again.cause);
        if let Some(failed) = &self.failed {
            // Nobody has to listen.
            let _ = failed.send(());
        }
        Ok(())
    }
}

/// A table, its ledger and a session to look at both.
pub(super) struct Scene {
    session: Session,
    target: TableName,
    ledger: Ledger,
    options: SenderOptions,
}

impl Scene {
    /// A table of these columns, in a database of its own.
    fn new(server: &TestServer, columns: &str, names: &[&str], rule: OnDuplicate) -> Scene {
        let target = TableName::new(server.database().unwrap(), "t");
        let mut session = server.connect().unwrap();
        session.exec(&format!("CREATE TABLE {} ({columns})", target.quoted())).unwrap();
        let job = Job::new([Path::new("rows.tsv")], "{}".to_owned(), 4096);
        let table = LedgerTable::new(Names::of(&target).ledger, Shards::default());
        table.create(&mut session).unwrap();
        let ledger = table.begin(&mut session, &job, true).unwrap();
        let place = Place {
            table: target.clone(),
            target: target.clone(),
            charset: "utf8mb4".to_owned(),
            escape: b'\\',
            load_columns: format!("({})", names.join(", ")),
            insert_columns: names.iter().map(|&name| name.to_owned()).collect(),
            update_columns: names.iter().map(|&name| name.to_owned()).collect(),
            rule,
        };
        let options = SenderOptions {
            connect: server.options(),
            place,
            commit: Commit::Chunks(ledger.clone()),
            is_held: false,
            vindex: None,
            form: Form::Lines,
            settings: Vec::new(),
            files: Arc::from([PathBuf::from("rows.tsv")]),
            columns: names.iter().map(|name| filled(name)).collect(),
            rejects_max: 1000,
            lock_wait: Duration::from_secs(60),
            row_waits: RowWaits::default(),
            reconnect_wait: Duration::from_secs(60),
        };
        Scene { session, target, ledger, options }
    }

    fn sender(&self) -> Sender {
        Sender::connect(&Arc::new(self.options.clone())).unwrap()
    }

    /// The rows of the table, as text.
    fn rows(&mut self) -> Vec<String> {
        let sql = format!("SELECT * FROM {} ORDER BY 1, 2", self.target.quoted());
        let text = |row: &server::Row| {
            (0..row.len())
                .map(|i| if row.is_null(i) { "\\N".to_owned() } else { row.text_lossy(i) })
                .collect::<Vec<_>>()
                .join("\t")
        };
        self.session.query(&sql).unwrap().iter().map(text).collect()
    }

    fn entries(&mut self) -> Vec<Entry> {
        let mut ordinals: Vec<u64> =
            self.ledger.loaded(&mut self.session).unwrap().into_keys().collect();
        ordinals.sort_unstable();
        let shard = self.ledger.shards().last().to_owned();
        let entry = |ordinal| self.ledger.entry(&mut self.session, &shard, ordinal);
        ordinals.into_iter().map(entry).map(|entry| entry.unwrap().unwrap()).collect()
    }
}

/// All that the server takes: MySQL has no statements for many rows of parameters.
pub(super) fn forms(server: &TestServer) -> Vec<Form> {
    let mut forms = vec![Form::Lines, Form::Tuples];
    if server.connect().unwrap().has_bulk().unwrap() {
        forms.push(Form::Values);
    }
    let is_mariadb = server.version().flavor == Flavor::MariaDb;
    assert_eq!(forms.contains(&Form::Values), is_mariadb);
    forms
}

const COLUMNS: &str = "a INT NOT NULL PRIMARY KEY, b VARCHAR(10)";
const NAMES: [&str; 2] = ["a", "b"];

#[test]
fn both_forms_load_the_same_rows_and_write_them_down() {
    let Some(server) = TestServer::shared() else { return };
    for form in forms(server) {
        let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
        let mut chunk = chunk(3, form, &["1\tone", "2\t\\N", "3\tthree's", "4\tpassword"]);
        let mut notes = Notes::default();
        let sent = scene.sender().send(&mut chunk, BATCH, &mut notes).unwrap();
        assert!(!sent.was_loaded && !notes.was_asked_for_tuples && notes.causes.is_empty());
        assert_eq!(scene.rows(), ["1\tone", "2\t\\N", "3\tthree's", "4\tpassword"]);
        assert_eq!(scene.entries(), std::slice::from_ref(&sent.entry));
        assert_eq!((sent.entry.ordinal, sent.entry.rows, sent.entry.duplicates), (3, 4, 0));
        // The text is the caller's again.
        assert_eq!(chunk.rows.last().unwrap().end, chunk.text.len());
    }
}

/// Also when the server has to read the statement again, because the table was altered.
#[test]
fn values_go_in_the_character_set_of_the_file() {
    let Some(server) = TestServer::shared() else { return };
    if !forms(server).contains(&Form::Values) {
        return;
    }
    let columns = "a INT NOT NULL PRIMARY KEY, b VARCHAR(10) CHARACTER SET utf8mb4";
    let mut scene = Scene::new(server, columns, &NAMES, OnDuplicate::Fail);
    scene.options.place.charset = "latin1".to_owned();
    let mut sender = scene.sender();
    for (ordinal, line) in [b"1\t\xe9\n", b"2\t\xfc\n"].into_iter().enumerate() {
        let mut chunk = chunk(ordinal as u64, Form::Lines, &[]);
        chunk.input.bytes = line.to_vec();
        write(&mut chunk, Form::Values);
        sender.send(&mut chunk, BATCH, &mut Notes::default()).unwrap();
        let alter = format!("ALTER TABLE {} ADD x{ordinal} INT", scene.target.quoted());
        scene.session.exec(&alter).unwrap();
    }
    assert_eq!(scene.rows(), ["1\t\u{e9}\t\\N\t\\N", "2\t\u{fc}\t\\N\t\\N"]);
}

#[test]
fn a_chunk_without_rows_is_written_down_too() {
    let Some(server) = TestServer::shared() else { return };
    for form in forms(server) {
        let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
        let mut chunk = chunk(0, form, &[]);
        let sent = scene.sender().send(&mut chunk, BATCH, &mut Notes::default()).unwrap();
        assert_eq!((sent.entry.rows, scene.entries().len()), (0, 1));
    }
}

#[test]
fn a_ledger_is_found_again_and_removed_when_its_last_job_is() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    let mut sender = scene.sender();
    for ordinal in 0..3 {
        let mut chunk = chunk(ordinal, Form::Lines, &[&format!("{ordinal}\tx")]);
        sender.send(&mut chunk, BATCH, &mut Notes::default()).unwrap();
    }
    let table = LedgerTable::new(scene.ledger.table().clone(), Shards::default());
    let other = Job::new([Path::new("other.tsv")], "{}".to_owned(), 4096);
    let other = table.clone().begin(&mut scene.session, &other, true).unwrap();
    // Twice is once.
    let job = Job::new([Path::new("rows.tsv")], "{}".to_owned(), 4096);
    assert_eq!(table.clone().begin(&mut scene.session, &job, false).unwrap(), scene.ledger);
    let found = table.clone().find(&mut scene.session).unwrap();
    assert_eq!(found.len(), 2);
    let ours = found.iter().find(|(_, ledger)| *ledger == scene.ledger).unwrap();
    assert_eq!(ours.0, job);
    scene.ledger.require(&mut scene.session, Totals { chunks: 3, rows: 3 }).unwrap();
    other.remove(&mut scene.session).unwrap();
    assert_eq!(scene.entries().len(), 3);
    scene.ledger.remove(&mut scene.session).unwrap();
    scene.ledger.remove(&mut scene.session).unwrap();
    assert!(table.clone().find(&mut scene.session).unwrap().is_empty());
}

#[test]
fn rows_go_into_a_transaction_of_others_and_stay_only_with_it() {
    let Some(server) = TestServer::shared() else { return };
    for savepoints in [true, false] {
        let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
        scene.options.commit = Commit::Whole { savepoints };
        let mut session = server.connect().unwrap();
        session.exec("SET innodb_lock_wait_timeout=600").unwrap();
        session.exec("START TRANSACTION").unwrap();
        let mut sender = Sender::with(session, &Arc::new(scene.options.clone())).unwrap();
        for (ordinal, form) in forms(server).into_iter().enumerate() {
            let mut chunk = chunk(ordinal as u64, form, &[&format!("{ordinal}\tx")]);
            sender.send(&mut chunk, BATCH, &mut Notes::default()).unwrap();
        }
        assert!(scene.rows().is_empty());
        let mut session = sender.into_session().unwrap();
        let wait = session.query_text("SELECT @@innodb_lock_wait_timeout").unwrap();
        assert_eq!(wait.as_deref(), Some("600"), "as who began it has said");
        session.exec("COMMIT").unwrap();
        assert_eq!(scene.rows(), ["0\tx", "1\tx", "2\tx"][..forms(server).len()]);
        assert!(scene.entries().is_empty());
    }
}

#[test]
fn summaries_are_read_in_any_language() {
    let line = "Datens\u{e4}tze: 3  Gel\u{f6}scht: 0  Ausgelassen: 1  Warnungen: 12";
    assert_eq!(numbers(line), [Some(3), Some(0), Some(1), Some(12)]);
    assert_eq!(numbers(""), [None; 4]);
}
