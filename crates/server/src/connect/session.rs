//! One connection: statements out, rows in.
//!
//! A session sets what it needs (character set, `sql_mode`, time limits) for itself alone and
//! never a global variable. Answers come by the text protocol, so every value arrives as bytes.

mod bulk;
mod bytes;
mod denied;
mod ending;
mod held;
mod kept;
mod process_list;
mod row;
mod step;
mod variables;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use locks::Mutex;
use mysql::LocalInfileHandler;
use mysql::prelude::Queryable;

pub use self::bulk::Prepared;
pub use self::row::Row;
pub use self::variables::Isolation;
pub use super::variables::NULL;
use crate::engine::{Kind, OLAP};
use crate::error::{Error, Result, shorten, system_text};
use crate::identifier::quote_text;
use crate::options::ConnectOptions;
use crate::version::Version;

use super::driver::{self, Driver, Ours};
use super::handshake;
use super::mark::Mark;
use super::variables::Variables;
use super::work_label::WorkLabel;

/// Rows of an answer that are held in memory: more than any catalog has, less than any machine.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Bytes read from a source at once for LOAD DATA LOCAL.
const LOCAL_BYTES: usize = 64 << 10;

/// A connection to a server.
pub struct Session {
    driver: Driver,
    mark: Mark,
    version: Version,
    options: ConnectOptions,
    /// The values that its variables have.
    variables: Variables,
    /// Calls of the driver up to the last answer that was in step, and when that was.
    in_step: Option<(u64, Instant)>,
    /// Answers of [`Session::query_once`].
    answers: HashMap<String, Vec<Row>>,
    /// True if an ENUM takes the number 0, once [`crate::habits`] has tried it.
    pub(crate) enum_zero: Option<bool>,
}

/// The result of a statement without rows, the last of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows inserted, changed or deleted.
    pub affected_rows: u64,
    /// Warnings, notes included; [`Session::warnings`] fetches them.
    pub warnings: u16,
    /// The server's summary line: `Records: 2  Deleted: 0  Skipped: 0  Warnings: 0`.
    pub info: String,
}

/// One line of SHOW WARNINGS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// `Note`, `Warning` or `Error`.
    pub level: String,
    /// The server's number.
    pub errno: u16,
    /// The server's words.
    pub message: String,
}

impl Session {
    /// Connects and makes the session ours: utf8mb4, strict mode, no idle or statement limit.
    pub fn connect(options: &ConnectOptions) -> Result<Session> {
        options.interrupt.check()?;
        options.check_host()?;
        if let Some(session) = Session::kept(options) {
            return Ok(session);
        }
        let mut driver = Driver::new(handshake::connect(options)?);
        let version = variables::version(&mut driver, options)?;
        let mark = Mark::put_on(&mut driver)?;
        let (answers, options) = (HashMap::new(), options.clone());
        let variables = Variables::default();
        let mut session = Session {
            driver,
            mark,
            version,
            options,
            variables,
            in_step: None,
            answers,
            enum_zero: None,
        };
        session.begin()?;
        Ok(session)
    }

    /// Another connection to the same server with the same account.
    pub fn another(&self) -> Result<Session> {
        Session::connect(&self.options)
    }

    /// True if the server still answers, and in step.
    pub fn is_alive(&mut self) -> bool {
        // Twice: the end of the statement before may have been asked for too late.
        (0..2).any(|_| match self.check_answers("") {
            Ok(_) | Err(Error::Interrupted) => true,
            Err(_) => false,
        })
    }

    /// Ends the connection: nothing more is asked over it.
    pub fn give_up(&mut self) {
        self.driver.give_up();
    }

    /// A comment that names the current work, to begin a statement with; empty without a
    /// [`WorkLabel`](super::WorkLabel).
    pub fn comment(&self) -> String {
        self.options.label.as_ref().map_or_else(String::new, WorkLabel::comment)
    }

    /// How this session was connected.
    pub fn options(&self) -> &ConnectOptions {
        &self.options
    }

    /// The server's id of this connection, as in SHOW PROCESSLIST.
    pub fn id(&self) -> u64 {
        self.mark.id()
    }

    /// The mark by which another session recognises this one, to end it.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// The server's version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// True if the connection is encrypted.
    pub fn is_encrypted(&mut self) -> Result<bool> {
        let rows = self.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'")?;
        Ok(rows.first().is_some_and(|row| row.bytes(1).is_some_and(|cipher| !cipher.is_empty())))
    }

    /// Runs a statement and gives all its rows. Holds them in memory.
    ///
    /// Errors: [`Error::Nonsense`] where they are more than what is asked can have.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.each_within(sql, ANSWER_BYTES_MAX, |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Asks several questions by one request; gives the rows of each. Engines that take one at a time get them so.
    ///
    /// Errors: that of the first question that is refused; those behind it are not asked.
    pub fn query_all(&mut self, questions: &[String]) -> Result<Vec<Vec<Row>>> {
        if Kind::of_version(&self.version) != Kind::Plain {
            return questions.iter().map(|sql| self.query(sql)).collect();
        }
        let sql = questions.join("; ");
        let (taken, statement) = (self.as_taken(&sql), Arc::<str>::from(shorten(&sql)));
        let _running = self.options.interrupt.begin(&self.mark)?;
        let answers = self.driver.call(|conn| {
            let (mut answer, mut all) = (conn.query_iter(&*taken)?, Vec::new());
            while let Some(rows) = answer.iter() {
                let rows = rows.map(|row| Ok(Row::of(row?, &statement)));
                all.push(rows.collect::<mysql::Result<Vec<Row>>>()?);
            }
            let is_all = all.len() == questions.len();
            if is_all { Ok(all) } else { Err(driver::nonsense("some answers are missing")) }
        });
        answers.map_err(|e| self.with_grant(Error::from_driver(e, &sql)))
    }

    /// As [`Session::query`], of a question that is answered the same as long as the session lives,
    /// and need not be asked again for the next table: what the server can do, how it was started.
    pub fn query_once(&mut self, sql: &str) -> Result<Vec<Row>> {
        if let Some(rows) = self.answers.get(sql) {
            return Ok(rows.clone());
        }
        let rows = self.query(sql)?;
        self.answers.insert(sql.to_owned(), rows.clone());
        Ok(rows)
    }

    /// Runs a statement that answers with one row; no row is an error, more are ignored.
    pub fn query_row(&mut self, sql: &str) -> Result<Row> {
        self.query(sql)?.into_iter().next().ok_or_else(|| Error::Answer {
            column: 0,
            seen: "is missing, because the answer has no row".to_owned(),
            expected: "a row",
            statement: shorten(sql),
        })
    }

    /// The first column of the first row; None when there is no row or it is NULL.
    pub fn query_text(&mut self, sql: &str) -> Result<Option<String>> {
        match self.query(sql)?.first() {
            Some(row) => row.text_or_null(0),
            None => Ok(None),
        }
    }

    /// Runs a statement and hands each row to `visit` as it arrives. Holds one row in memory.
    ///
    /// An error of `visit` ends the statement: the rest of the answer is read and dropped.
    pub fn for_each(&mut self, sql: &str, visit: impl FnMut(Row) -> Result<()>) -> Result<()> {
        if Kind::of_version(&self.version) != Kind::Vitess {
            return self.each_within(sql, usize::MAX, visit);
        }
        self.set(&[OLAP])?;
        let visited = self.each_within(sql, usize::MAX, visit);
        // One of several shards takes no rows otherwise.
        visited.and(self.set(&[("workload", "OLTP")]))
    }

    /// As [`Session::for_each`], of an answer that may have so many bytes.
    fn each_within(
        &mut self,
        sql: &str,
        bytes_max: usize,
        mut visit: impl FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        refuse_local(sql)?;
        let taken = self.as_taken(sql);
        let _running = self.options.interrupt.begin(&self.mark)?;
        let statement: Arc<str> = shorten(sql).into();
        let mut ours = Ours::default();
        let outcome = self.driver.call(|conn| {
            let (mut answer, mut bytes) = (conn.query_iter(&*taken)?, 0);
            while let Some(row) = answer.next() {
                let row = Row::of(row?, &statement);
                bytes += row.memory_bytes();
                if bytes > bytes_max {
                    // Dropped, it would read all of the rest.
                    std::mem::forget(answer);
                    return Err(driver::nonsense(&format!("more than {bytes_max} bytes of rows")));
                }
                match ours.run(|| visit(row)) {
                    Some(Ok(())) => {}
                    visited => return Ok(visited.unwrap_or(Ok(()))),
                }
            }
            Ok(Ok(()))
        });
        ours.go_on();
        outcome.map_err(|e| self.with_grant(Error::from_driver(e, sql)))?
    }

    /// Has the driver run a statement of the user's, to the end of its answer: for callers that read columns
    /// with the types that the server describes.
    pub fn run_by<T>(
        &mut self,
        sql: &str,
        work: impl FnOnce(&mut mysql::Conn) -> mysql::Result<T>,
    ) -> Result<T> {
        refuse_local(sql)?;
        let _running = self.options.interrupt.begin(&self.mark)?;
        let outcome = self.driver.call(work);
        outcome.map_err(|e| self.with_grant(Error::from_driver(e, sql)))
    }

    /// Runs a statement and gives each row as its columns by name, in lower case. For statements
    /// whose columns differ from version to version.
    pub fn query_named(&mut self, sql: &str) -> Result<Vec<HashMap<String, Option<String>>>> {
        let _running = self.options.interrupt.begin(&self.mark)?;
        let answer = self.driver.call(|conn| {
            let answer = conn.query_iter(sql)?;
            let columns = answer.columns();
            let name = |column: &mysql::Column| column.name_str().to_ascii_lowercase();
            let names: Vec<String> = columns.as_ref().iter().map(name).collect();
            let mut rows = Vec::new();
            for row in answer {
                let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                let values = row?.unwrap_raw().into_iter();
                let values = values.map(|value| row::value_bytes(value).map(text));
                rows.push(names.iter().cloned().zip(values).collect());
            }
            Ok(rows)
        });
        answer.map_err(|e| Error::from_driver(e, sql))
    }

    /// Runs a statement whose rows, if any, do not matter.
    pub fn exec(&mut self, sql: &str) -> Result<Done> {
        refuse_local(sql)?;
        self.run_as(sql, |e| Error::from_driver(e, sql))
    }

    /// Runs a statement that no wish to stop ends: one by which others get back what this connection holds.
    pub fn exec_always(&mut self, sql: &str) -> Result<()> {
        let _shield = self.options.interrupt.shield();
        self.exec(sql).map(drop)
    }

    /// Runs one LOAD DATA LOCAL INFILE statement and sends it the bytes of `source`.
    ///
    /// The door is open for this statement only: the server cannot ask for a file at another
    /// time, and the file name in `sql` is ignored. When `source` fails, the load is broken off,
    /// the server rolls it back and this session is unusable.
    pub fn load_local(&mut self, sql: &str, source: impl Read + Send + 'static) -> Result<Done> {
        self.feed(sql, sql, source, |e| Error::from_driver(e, sql))
    }

    fn feed(
        &mut self,
        sql: &str,
        label: &str,
        source: impl Read + Send + 'static,
        error: impl Fn(mysql::Error) -> Error,
    ) -> Result<Done> {
        let mut source = Some(source);
        let failure = Arc::new(Mutex::new((None, Ours::default())));
        let seen = Arc::clone(&failure);
        let handler = LocalInfileHandler::new(move |_name, out| {
            let Some(mut source) = source.take() else {
                return Err(std::io::Error::other("the server asked for a second file"));
            };
            let mut seen = seen.lock();
            let copied = seen.1.run(|| copy(&mut source, out));
            let copied = copied.unwrap_or_else(|| Err(std::io::Error::other("a bug in Inrush")));
            copied.inspect_err(|e| seen.0 = Some(system_text(e)))
        });
        self.driver.set_local_infile_handler(Some(handler));
        let done = self.run_as(sql, error);
        self.driver.set_local_infile_handler(None);
        let mut failure = failure.lock();
        let (message, mut ours) = std::mem::take(&mut *failure);
        drop(failure);
        ours.go_on();
        match message {
            Some(message) => Err(Error::Lost { message, statement: shorten(label) }),
            None => done,
        }
    }

    /// Runs a statement that holds rows of the user's. `label` stands for it in errors, which hold
    /// the server's words whatever words the rows hold.
    pub fn exec_rows(&mut self, sql: &str, label: &str) -> Result<Done> {
        refuse_local(sql)?;
        self.run_as(sql, |e| Error::from_driver_as(e, label))
    }

    /// [`Session::load_local`], where the statement names columns of the user's: `label` stands for it in errors.
    pub fn load_rows(
        &mut self,
        sql: &str,
        label: &str,
        source: impl Read + Send + 'static,
    ) -> Result<Done> {
        self.feed(sql, label, source, |e| Error::from_driver_as(e, label))
    }

    /// The width in bytes of each column of a query's answer, as the server declares it: for a
    /// column of a table its display width, times the most bytes of a character.
    pub fn column_bytes(&mut self, sql: &str) -> Result<Vec<u32>> {
        // Else the widths would be those in the connection's character set.
        self.set(&[("character_set_results", "NULL")])?;
        let taken = self.as_taken(sql);
        let widths = self.driver.call(|conn| {
            let answer = conn.query_iter(&*taken)?;
            let columns = answer.columns();
            Ok(columns.as_ref().iter().map(mysql::Column::column_length).collect())
        });
        let widths = widths.map_err(|e| Error::from_driver(e, sql));
        self.reset(&["character_set_results"])?;
        widths
    }

    /// Warnings of the statement before.
    pub fn warnings(&mut self) -> Result<Vec<Warning>> {
        self.query("SHOW WARNINGS")?
            .iter()
            .map(|row| {
                Ok(Warning { level: row.text(0)?, errno: row.number(1)?, message: row.text(2)? })
            })
            .collect()
    }

    /// Takes a named lock of the server; false when another connection has it after `wait`.
    ///
    /// It is released when this connection ends, however it ends.
    pub fn lock_name(&mut self, name: &str, wait: Duration) -> Result<bool> {
        let sql = format!("SELECT GET_LOCK({}, {})", quote_text(name), wait.as_secs_f64());
        Ok(self.query_row(&sql)?.text_or_null(0)?.as_deref() == Some("1"))
    }

    /// Connection id of the holder of a named lock.
    pub fn lock_holder(&mut self, name: &str) -> Result<Option<u64>> {
        let row = self.query_row(&format!("SELECT IS_USED_LOCK({})", quote_text(name)))?;
        if row.is_null(0) { Ok(None) } else { row.number(0).map(Some) }
    }

    /// How long statements of this session wait for a table's metadata lock.
    pub fn set_lock_wait(&mut self, wait: Duration) -> Result<()> {
        let seconds = wait.as_secs().max(1);
        self.set(&[("lock_wait_timeout", &seconds.to_string())])
    }

    fn run_as(&mut self, sql: &str, error: impl Fn(mysql::Error) -> Error) -> Result<Done> {
        let taken = self.as_taken(sql);
        let _running = self.options.interrupt.begin(&self.mark)?;
        let done = self.driver.call(|conn| {
            let (mut answer, mut last) = (conn.query_iter(&*taken)?, Done::default());
            loop {
                let done = Done {
                    affected_rows: answer.affected_rows(),
                    warnings: answer.warnings(),
                    info: answer.info_str().into_owned(),
                };
                let Some(mut rows) = answer.iter() else { break Ok(last) };
                rows.try_for_each(|row| row.map(drop))?;
                last = done;
            }
        });
        done.map_err(|e| self.with_grant(error(e)))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session {} to {}", self.id(), self.options.target_text())
    }
}

/// The driver answers a LOCAL request without a handler with an empty file, which loads nothing
/// and looks like success.
fn refuse_local(sql: &str) -> Result<()> {
    let mut words = sql.split_whitespace().take(5).map(str::to_ascii_uppercase);
    if words.next().as_deref() == Some("LOAD") && words.any(|w| w == "LOCAL") {
        return Err(Error::Option("LOAD DATA LOCAL is only sent with its data".to_owned()));
    }
    Ok(())
}

fn copy(source: &mut impl Read, out: &mut impl Write) -> std::io::Result<()> {
    let mut buffer = vec![0; LOCAL_BYTES];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => out.write_all(&buffer[..n])?,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_local_is_refused_without_its_data() {
        assert!(refuse_local("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").is_err());
        assert!(refuse_local(" load data low_priority local infile 'x' into table t").is_err());
        assert!(refuse_local("LOAD DATA INFILE 'x' INTO TABLE t").is_ok());
        assert!(refuse_local("SELECT 'LOAD DATA LOCAL'").is_ok());
    }
}
