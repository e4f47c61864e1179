//! A server in memory, which a load takes for one: hundreds of loads a second, each of which may meet
//! another fault.
//!
//! ```text
//! client --request--> judge: its fate --> statements --> tables, transactions, locks
//!        <--answer, a part of one, none--             --> answers learned of a real server
//! ```
//!
//! It holds one database, `model`, and knows of SQL what loads ask. A fate is that of the
//! [`proxy`](crate::proxy), which brings the same about between a client and a real server: by that
//! the stand-in is judged.

mod answers;
mod connection;
mod definitions;
mod engine;
mod exports;
pub mod faults;
mod imports;
mod selects;
mod shared;
mod statements;
mod tables;

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub use self::answers::{Learned, Value, learned, learned_of_mysql, questions, written};
pub use self::connection::COM_CONNECT;
use self::connection::Connection;
pub use self::engine::Engine;
pub use self::imports::ImportEnd;
use self::shared::Shared;
use self::tables::Table;
use crate::proxy::{Fate, Request};

/// How long connections that are over may take to go.
const END_WAIT: Duration = Duration::from_secs(20);

/// The one database.
pub const DATABASE: &str = "model";

/// A server in memory, as long as it is not dropped.
pub struct StandIn {
    socket: PathBuf,
    shared: Arc<Shared>,
    is_over: Arc<AtomicBool>,
}

impl StandIn {
    /// Listens at `socket`, as MariaDB.
    pub fn start(socket: PathBuf) -> StandIn {
        StandIn::start_as(socket, Engine::MariaDb)
    }

    /// Listens at `socket`, as an engine.
    pub fn start_as(socket: PathBuf, engine: Engine) -> StandIn {
        let listener = UnixListener::bind(&socket).unwrap();
        let (shared, is_over) = (Arc::new(Shared::new(engine)), Arc::new(AtomicBool::new(false)));
        let (serving, over) = (Arc::clone(&shared), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let ids = AtomicU64::new(1);
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let (shared, id) = (Arc::clone(&serving), ids.fetch_add(1, Ordering::Relaxed));
                std::thread::spawn(move || Connection::serve(&shared, id, stream));
            }
        });
        StandIn { socket, shared, is_over }
    }

    /// Where clients connect to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Has `judge` say what becomes of each request from now on, log-ins ([`COM_CONNECT`]) included.
    pub fn judge(&self, judge: impl FnMut(&Request) -> Fate + Send + 'static) {
        *self.shared.judge.lock() = Some(Box::new(judge));
    }

    /// Has every request done from now on.
    pub fn let_pass(&self) {
        *self.shared.judge.lock() = None;
    }

    /// How long it does not notice that a client has gone.
    pub fn set_unnoticed(&self, time: Duration) {
        *self.shared.unnoticed.lock() = time;
    }

    /// The end of TiDB's jobs from now on.
    pub fn end_imports(&self, end: ImportEnd) {
        self.shared.imports.lock().end = end;
    }

    /// Has a question answered by these texts, a row each, in place of what it was.
    pub fn tell(&self, question: &str, rows: &[&str]) {
        let rows: Vec<Vec<&[u8]>> = rows.iter().map(|row| vec![row.as_bytes()]).collect();
        self.tell_rows(question, 1, &rows);
    }

    /// The same by rows of so many columns.
    pub fn tell_rows(&self, question: &str, columns: usize, rows: &[Vec<&[u8]>]) {
        let row = |row: &Vec<&[u8]>| row.iter().map(|value| Some(value.to_vec())).collect();
        let rows = rows.iter().map(row).collect();
        self.shared.told.lock().insert(question.to_owned(), (columns, rows));
    }

    /// Has no table.
    pub fn clear(&self) {
        self.shared.held().tables.clear();
    }

    /// Makes a table with these rows: `definition` is what SHOW CREATE TABLE says behind the name; its
    /// key is the first column, if it has one.
    pub fn make(&self, name: &str, definition: &str, trigger: Option<&str>, rows: &[String]) {
        let mut table = Table::of(definition, usize::from(definition.contains("PRIMARY KEY")));
        table.trigger = trigger.map(str::to_owned);
        let mut tables = self.shared.held();
        tables.tables.insert(name.to_owned(), table);
        let values = |row: &String| {
            row.split(' ').map(|value| Some(value.as_bytes().to_vec())).collect::<Vec<_>>()
        };
        let rows: Vec<_> = rows.iter().map(values).collect();
        // Of a connection that there is not.
        tables.insert(0, name, &rows, false).unwrap();
        tables.commit(0);
        tables.end(0);
    }

    /// The rows of a table that everybody sees, values with a space between them, in order; none
    /// where there is no such table.
    pub fn rows(&self, name: &str) -> Option<Vec<String>> {
        let tables = self.shared.held();
        let rows = tables.tables.get(name)?.seen_by(0).map(|row| {
            let values = row.values.iter().map(|value| match value {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => "NULL".to_owned(),
            });
            values.collect::<Vec<_>>().join(" ")
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        Some(rows)
    }

    /// Names of its tables.
    pub fn tables(&self) -> Vec<String> {
        self.shared.held().tables.keys().cloned().collect()
    }

    /// Waits until all connections have gone, with what they held.
    ///
    /// # Panics
    ///
    /// When one stays.
    pub fn settle(&self) {
        let begun = Instant::now();
        loop {
            let there: Vec<u64> = self.shared.held().sessions.keys().copied().collect();
            if there.is_empty() {
                return;
            }
            assert!(begun.elapsed() < END_WAIT, "connections {there:?} do not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Statements so far that its engine would have done in a way of its own, without a word.
    pub fn broken(&self) -> Vec<String> {
        self.shared.broken.lock().clone()
    }

    /// Statements so far that it knew nothing of.
    pub fn unknown(&self) -> Vec<String> {
        self.shared.unknown.lock().clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(&self.socket);
        let _ = std::fs::remove_file(&self.socket);
    }
}
