//! Errors between Inrush and a server.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use face::option::{LOCK_WAIT, PATH, SANDBOX};
use face::statement;

use crate::base_table;
use crate::engine;
use crate::unsupported::Unsupported;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Statements in error texts are cut to this many characters.
const STATEMENT_CHARS_MAX: usize = 200;
/// A label may end with the mark of a cut.
const LABEL_CHARS_MORE: usize = 16;
/// The server's messages are cut to this many characters: those of MariaDB and MySQL have at most 512 bytes.
const MESSAGE_CHARS_MAX: usize = 512;

/// Server errors that come with the end of the connection: the server goes down, somebody has killed
/// it, and the client's own two as what stands in between passes them on.
const CUT: [u16; 5] = [1053, 1927, 2006, 2013, 3169];
/// Server errors of a statement that was ended, by KILL QUERY or for its time: sent also when it was
/// through before it noticed.
const ENDED: [u16; 3] = [1317, 1969, 3024];
/// Numbers of a full disk and of a full file, as the server's errors tell them.
const NO_ROOM: [&str; 4] = ["errno: 28 ", "errno: 135 ", "error 28 ", "error 135 "];
/// Server errors of a database, a table and a column that the account may not use.
const DENIED: [u16; 3] = [1044, 1142, 1143];

/// Rows that refer to rows which are not there, or would not be.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} {child} refer with foreign key `{constraint}` ({columns}) to missing rows of {} {parent}: {keys}; {}",
    if *.is_new { "rows for" } else { "rows of" },
    if *.is_new { "table" } else { "the new" },
    if *.is_new {
        format!(
            "load the rows of that table first or in the same command, or reject rows without a \
             parent row one by one with {}",
            PATH.with("stream")
        )
    } else {
        "add the missing rows to the input, or first delete the rows that refer to them".to_owned()
    }
)]
pub struct Orphans {
    /// `db.table` whose rows refer.
    pub child: String,
    /// The name of the foreign key.
    pub constraint: String,
    /// Its columns.
    pub columns: String,
    /// `db.table` that they refer to.
    pub parent: String,
    /// Some of the keys, in parentheses.
    pub keys: String,
    /// True if the rows that refer are those of the load.
    pub is_new: bool,
}

/// Failure of a request to a server, or of what surrounds it. Holds no password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No connection was made.
    #[error("connecting to {target} as user {user}: {message}{}", code(*.errno))]
    Connect {
        /// Socket path or host and port.
        target: String,
        /// Account name that was tried.
        user: String,
        /// The server's error number, if it came to talking.
        errno: Option<u16>,
        /// The message of the server or the system.
        message: String,
    },
    /// The server refused a statement.
    #[error(
        "server error {errno} ({sqlstate}): {message}{}; statement: {statement}",
        advice(*.errno, .message)
    )]
    Statement {
        /// The server's error number.
        errno: u16,
        /// SQLSTATE, five characters.
        sqlstate: String,
        /// The server's words.
        message: String,
        /// The statement, cut, without secrets.
        statement: String,
    },
    /// The connection broke; the server may or may not have done the statement.
    #[error("the connection to the server broke ({message}) during: {statement}")]
    Lost {
        /// The driver's message.
        message: String,
        /// The statement, cut, without secrets.
        statement: String,
    },
    /// An answer that is none, behind which the connection was given up; the server may or may not
    /// have done the statement.
    #[error(
        "the server's answer is invalid ({message}): the server is not MariaDB or MySQL, or a \
         proxy on the way changes its answers; statement: {statement}"
    )]
    Nonsense {
        /// The driver's message.
        message: String,
        /// The statement, cut, without secrets.
        statement: String,
    },
    /// The swap was asked for and the connection broke; whether it was done cannot be asked.
    #[error("the connection to the server broke while it renamed the tables of {0}")]
    Unanswered(String),
    /// COMMIT was asked for and the connection broke; whether it was done cannot be told.
    #[error(
        "the connection broke while the server committed the rows of {0}, so the outcome is \
         unknown: check whether the table contains the rows before you load again"
    )]
    CommitUnknown(String),
    /// A session variable has another value than it was set to.
    #[error("the session variable {name} is {read}, but Inrush had set it to {set}: {reason}")]
    Variable {
        /// Its name.
        name: String,
        /// The value that was written.
        set: String,
        /// The value that was read.
        read: String,
        /// The server's message, or who may have changed it.
        reason: String,
    },
    /// Somebody asked for the end of the load before this statement; it was not sent.
    #[error("stopped before the statement was sent")]
    Interrupted,
    /// A DEFAULT expression that a load cannot take the value of.
    #[error(
        "column `{column}` is not in the input, and its DEFAULT {expression} has no single value \
         for all rows: {reason}"
    )]
    Default {
        /// The column.
        column: String,
        /// The expression, as the server words it.
        expression: String,
        /// The difference, or the server's message.
        reason: String,
    },
    /// A result had another shape than the one asked for.
    #[error(
        "column {column} of the answer {seen}; {expected} was expected; statement: {statement}"
    )]
    Answer {
        /// 0-based column of the result.
        column: usize,
        /// The answer, in words.
        seen: String,
        /// The expected answer.
        expected: &'static str,
        /// The statement, cut.
        statement: String,
    },
    /// A file or folder could not be used.
    #[error("{doing} {}: {source}{}", path.display(), disk::advice(source))]
    Io {
        /// The action in words: `reading`.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Root may not use a file of the server's.
    #[error("{doing} {}: {source}; {}", path.display(), forbidden_to_root(folder_of(path), Some(*owner)))]
    Forbidden {
        /// The action in words: `making`.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// User id of the server's files.
        owner: u32,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The server could not use a file that was placed for it. Some of its errors do not tell why.
    #[error(
        "the server could not use {}: {error}; if its error log says that it could not open or read the file, {}",
        path.display(),
        forbidden(folder_of(path))
    )]
    UnusableFile {
        /// Its path.
        path: PathBuf,
        /// The server's words.
        error: Box<Error>,
    },
    /// A line of an option file makes no sense.
    #[error("{}, line {line}: {message}", path.display())]
    OptionFile {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// The fault.
        message: String,
    },
    /// A connection option has an impossible value.
    #[error("{0}")]
    Option(String),
    /// A view has the name of a table. Nothing of the view was evaluated.
    #[error(
        "{0} is a view, but a table was expected: the view was not read, because its functions \
         would run with the privileges of this account; inspect the view, then remove it (DROP \
         VIEW)"
    )]
    View(String),
    /// The target does not exist.
    #[error("table {0} does not exist")]
    NoTable(String),
    /// The server has no character set of this name.
    #[error("the server has no character set {name}; it has {known}")]
    UnknownCharset {
        /// The requested name.
        name: String,
        /// Those it has.
        known: String,
    },
    /// The table or the server has features the direct path does not handle.
    #[error("the direct path cannot load {target}: {}", list(.reasons))]
    Unsupported {
        /// `db.table`, or the server.
        target: String,
        /// One for each feature.
        reasons: Vec<Unsupported>,
    },
    /// No new table can be filled that takes the place of the target.
    #[error("no staging table can replace {target}: {}", list(.reasons))]
    NoStagingTable {
        /// `db.table`.
        target: String,
        /// One for each feature.
        reasons: Vec<Unsupported>,
    },
    /// A collation of the target cannot be ordered as the server does.
    #[error(transparent)]
    Collation(#[from] values::collation::CollationError),
    /// Another load holds the target.
    #[error(
        "another load into {target} is running (connection {holder} holds the lock: {who}); wait \
         until that load ends, or stop it; {LOCK_WAIT} makes a load wait longer"
    )]
    Busy {
        /// `db.table`.
        target: String,
        /// Connection id of the holder, 0 when it has just gone.
        holder: u64,
        /// Its user and host, as far as the account may see them.
        who: String,
    },
    /// The counter of hidden row ids is not where it has to be for the rows to stay.
    #[error(
        "the server's hidden row ids are at {reached}, but must be well above {imported}, the \
         largest id of the new table: rows inserted later would overwrite the loaded rows; load \
         the table again with {}, or give the table a primary key",
        PATH.with("stream")
    )]
    RowIds {
        /// The largest that was seen, 0 for none.
        reached: u64,
        /// The largest that must not be given again.
        imported: u64,
    },
    /// A metadata lock did not come in time.
    #[error(
        "no lock on {target} within {seconds} s; {}; end the holder of the lock, or wait longer \
         with {LOCK_WAIT}, then try again",
        holders_text(.holders)
    )]
    LockWait {
        /// `db.table`.
        target: String,
        /// How long was waited.
        seconds: u64,
        /// Who may hold it, one sentence each.
        holders: Vec<String>,
    },
    /// Somebody cloned the server for longer than the load waits.
    #[error(
        "the server takes no file while it is cloned by {cloner}; the load waited {seconds} s; load again when the clone ends, or wait longer with {LOCK_WAIT}"
    )]
    Cloned {
        /// `db.table`.
        target: String,
        /// How long was waited.
        seconds: u64,
        /// Who clones it.
        cloner: String,
    },
    /// Others waited for a load that waited for a lock, and the load let them go on.
    #[error(
        "the load had merged its rows and waited {seconds} s for {target}, while others waited for the load; \
         {}; load again, or add the rows with {}",
        holders_text(.holders),
        PATH.with("stream")
    )]
    Yielded {
        /// `db.table`.
        target: String,
        /// How long was waited.
        seconds: u64,
        /// Who may hold the table, one sentence each.
        holders: Vec<String>,
    },
    /// Rows appeared in the target of `--mode insert` before the swap.
    #[error("{0} is no longer empty: rows were inserted during the load")]
    NotEmpty(String),
    /// Something else has the name of a file of ours.
    #[error(
        "{} is {seen}, but the load needs this name for its own file: find out who created it, \
         then remove it",
        path.display()
    )]
    InTheWay {
        /// The name that is taken.
        path: PathBuf,
        /// The server's value, in words.
        seen: String,
    },
    /// Another load came while the connection was lost.
    #[error(
        "the connection was lost, and meanwhile another load of {0} removed the files of this one; load again"
    )]
    Overtaken(String),
    /// The server takes no more writes.
    #[error(
        "{target}: the server became read-only during the load ({variable} is set); load again when it is writable"
    )]
    ReadOnly {
        /// `db.table`.
        target: String,
        /// The variable that says so.
        variable: String,
    },
    /// Rows refer to rows that are not there, or would not be.
    #[error(transparent)]
    Orphans(Box<Orphans>),
    /// The target's definition changed between staging table and swap.
    #[error("{target}: {detail}")]
    Altered {
        /// `db.table`.
        target: String,
        /// The difference.
        detail: String,
    },
    /// An index of the imported table is empty though rows were built, or the other way round.
    #[error("{table} has {found} row(s) after the import, but {expected} were built")]
    Count {
        /// The staging table table.
        table: String,
        /// Rows the server counts.
        found: u64,
        /// Rows in the file.
        expected: u64,
    },
    /// The server's log still starts before the staging table was discarded.
    #[error("the server's checkpoint stays at LSN {seen}, but the load needs one after {expected}")]
    Checkpoint {
        /// LSN of the last checkpoint.
        seen: u64,
        /// LSN it must have passed.
        expected: u64,
    },
    /// A file that was not built from the staging table's template; a server would not survive it.
    #[error("{} has tablespace number {seen}, but its template has {expected}", path.display())]
    ForeignFile {
        /// The built file.
        path: PathBuf,
        /// Number in its first page; 0 when it has no whole first page.
        seen: u32,
        /// Number in the template's.
        expected: u32,
    },
    /// Leftovers whose meaning is not certain; a person has to decide.
    #[error("{0}")]
    Leftover(String),
    /// No `mariadbd` on this machine.
    #[error(
        "{0} was not found: install a MariaDB server (Debian, Ubuntu: apt install mariadb-server; Fedora: dnf install mariadb-server) or name the binary in {1}"
    )]
    NoServer(&'static str, &'static str),
    /// A private server did not do what it should.
    #[error("{doing} the private server in {} failed: {message}", dir.display())]
    Sandbox {
        /// `starting`, `stopping`, `installing`.
        doing: &'static str,
        /// The sandbox's folder.
        dir: PathBuf,
        /// Reason, with the end of the error log where it helps.
        message: String,
    },
    /// The data belongs to a newer server than the installed one.
    #[error("the sandbox in {} was last run by MariaDB {data}, but the installed server is \
             {binary}, which cannot open newer files; install {data} or use another {SANDBOX} \
             folder", dir.display())]
    Downgrade {
        /// The sandbox's folder.
        dir: PathBuf,
        /// Version that wrote the data.
        data: String,
        /// Version of the binary.
        binary: String,
    },
}

impl Error {
    /// A disk that refused: `doing` something to `path`.
    pub fn io(doing: &'static str, path: impl AsRef<Path>, source: std::io::Error) -> Error {
        Error::Io { doing, path: path.as_ref().to_owned(), source }
    }

    /// The server's error number, when the server refused something.
    pub fn errno(&self) -> Option<u16> {
        match self {
            Error::Statement { errno, .. } => Some(*errno),
            Error::Connect { errno, .. } => *errno,
            _ => None,
        }
    }

    /// True if the account may not do something with a database, a table or a column.
    pub fn is_denied(&self) -> bool {
        self.errno().is_some_and(|errno| DENIED.contains(&errno))
    }

    /// True if the server has no room for what it writes.
    pub fn is_full(&self) -> bool {
        matches!(self, Error::Statement { errno, message, .. } if is_full(*errno, message))
    }

    /// True if it says itself what to do.
    pub fn has_advice(&self) -> bool {
        matches!(self, Error::Statement { errno, message, .. } if !advice(*errno, message).is_empty())
    }

    /// True if the connection has ended in mid-statement, by itself or by an administrator.
    pub fn is_cut(&self) -> bool {
        matches!(self, Error::Lost { .. } | Error::Nonsense { .. }) || self.is_refusal_of(&CUT)
    }

    /// True if the server may have done the statement all the same: a caller that changes something
    /// has to look, and must not say that nothing has changed before.
    ///
    /// Source: MariaDB 10.11, sql/sql_parse.cc, `mysql_execute_command`, at `finish`: a statement
    /// that is through is told to be killed if it was by then.
    pub fn is_unclear(&self) -> bool {
        self.is_cut() || self.is_refusal_of(&ENDED)
    }

    fn is_refusal_of(&self, numbers: &[u16]) -> bool {
        matches!(self, Error::Statement { errno, .. } if numbers.contains(errno))
    }

    /// The error of a statement whose connection, or the thread that waits for it, is gone.
    pub fn lost(message: impl Into<String>, statement: impl Into<String>) -> Error {
        Error::Lost { message: message.into(), statement: statement.into() }
    }

    /// The driver's error about `sql`, without secrets.
    pub(crate) fn from_driver(error: mysql::Error, sql: &str) -> Error {
        let mut error = Error::from_driver_as(error, &shorten(sql));
        if let Error::Statement { message, .. } = &mut error
            && statement::holds_secret(sql)
        {
            statement::HIDDEN.clone_into(message);
        }
        if let Error::Statement { errno, message, .. } = &error
            && let Some(view) = base_table::refused_view(*errno, message, sql)
        {
            return Error::View(view);
        }
        error
    }

    /// The driver's error about the statement that `label` stands for, which has no secrets.
    pub(crate) fn from_driver_as(error: mysql::Error, label: &str) -> Error {
        let statement = cut(label, STATEMENT_CHARS_MAX + LABEL_CHARS_MORE);
        match error {
            mysql::Error::MySqlError(e) => {
                let message = match statement::holds_accounts(label) {
                    true => statement::HIDDEN.to_owned(),
                    false => cut(&statement::shown_answer(&e.message), MESSAGE_CHARS_MAX),
                };
                let (errno, sqlstate) = (e.code, e.state);
                Error::Statement { errno, sqlstate, message, statement }
            }
            other if is_nonsense(&other) => {
                Error::Nonsense { message: driver_text(&other), statement }
            }
            other => Error::Lost { message: driver_text(&other), statement },
        }
    }
}

/// True if an answer breaks the protocol. A server that ends too early has gone, mostly.
fn is_nonsense(error: &mysql::Error) -> bool {
    use mysql::DriverError;
    match error {
        mysql::Error::IoError(error) => error.kind() == std::io::ErrorKind::InvalidData,
        // Its type is not exported.
        mysql::Error::CodecError(error) => {
            ["Packets out of sync", "Bad compressed packet header"].contains(&&*error.to_string())
        }
        mysql::Error::DriverError(error) => {
            matches!(error, DriverError::UnexpectedPacket | DriverError::PacketOutOfSync)
        }
        _ => false,
    }
}

/// The driver's words without its Rust type names.
pub(crate) fn driver_text(error: &mysql::Error) -> String {
    match error {
        mysql::Error::IoError(e) => system_text(e),
        mysql::Error::DriverError(e) => match e {
            mysql::DriverError::UnknownAuthPlugin(name) => format!(
                "the account uses the authentication plugin {name}, which Inrush does not support"
            ),
            mysql::DriverError::CouldNotConnect(Some((_, text, _))) => text.clone(),
            other => other.to_string(),
        },
        mysql::Error::MySqlError(e) => e.message.clone(),
        mysql::Error::CodecError(e) => {
            let text = e.to_string();
            let inner = text.strip_prefix("IO error: `").and_then(|rest| rest.strip_suffix('\''));
            inner.map_or_else(|| text.clone(), str::to_owned)
        }
        other => other.to_string(),
    }
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Why root may not use `folder` or a file in it, and what to do, for messages: permissions bind root in a container
/// without capabilities and on NFS.
pub(crate) fn forbidden_to_root(folder: &Path, owner: Option<u32>) -> String {
    let security = forbidden(folder);
    match owner {
        Some(0) => security,
        Some(owner) => format!("run as user {owner}; or {security}"),
        None => format!("run as the server's user; or {security}"),
    }
}

/// Who may forbid a file in `folder` to root or to the server's user, and what to do; for messages.
fn forbidden(folder: &Path) -> String {
    format!(
        "a security module (SELinux, AppArmor) may forbid it, and the kernel's log (dmesg, ausearch -m avc) says so \
         then: run restorecon -R {}, or allow the folder in the profile; {} needs no file",
        folder.display(),
        PATH.with("stream")
    )
}

/// The same of an error of the system, in which the driver wraps its own where it sends the rows of a file.
pub(crate) fn system_text(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    inner.map_or_else(|| error.to_string(), driver_text)
}

/// `it may be held by ..`, for messages.
pub fn holders_text(holders: &[String]) -> String {
    if holders.is_empty() {
        return "the holder of the lock is not visible to this account".to_owned();
    }
    format!("the lock may be held by {}", holders.join("; "))
}

/// A statement fit for an error text: one line, cut, without its texts.
pub fn shorten(sql: &str) -> String {
    statement::shown(sql, STATEMENT_CHARS_MAX)
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

fn code(errno: Option<u16>) -> String {
    errno.map(|n| format!(" (server error {n})")).unwrap_or_default()
}

fn list(reasons: &[Unsupported]) -> String {
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The advice of an error's number and text; empty for most.
fn advice(errno: u16, message: &str) -> Cow<'static, str> {
    match is_full(errno, message) {
        true => "; the server has no room: free some space on its disks (data, undo logs, temporary files); a \
                 MEMORY table needs a larger max_heap_table_size"
            .into(),
        false => engine::advice(errno, message),
    }
}

/// True for an error of a full disk, undo log or table.
///
/// Sources: MariaDB 10.11, sql/share/errmsg-utf8.txt (`ER_DISK_FULL`, `ER_RECORD_FILE_FULL`) and mysys/errors.c
/// (`EE_WRITE`). Other errors have a number in their text, the system's or that of include/my_base.h
/// (`HA_ERR_RECORD_FILE_FULL`).
fn is_full(errno: u16, message: &str) -> bool {
    let has_number = || NO_ROOM.iter().any(|number| message.contains(number));
    matches!(errno, 3 | 1021 | 1114) || (matches!(errno, 1005 | 1025 | 1030 | 1180) && has_number())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_done_is_told_from_what_was_refused() {
        let of = |errno| Error::Statement {
            errno,
            sqlstate: "HY000".to_owned(),
            message: String::new(),
            statement: "COMMIT".to_owned(),
        };
        let lost = Error::Lost { message: String::new(), statement: String::new() };
        assert!(lost.is_cut() && lost.is_unclear());
        for errno in [1053, 1927, 2006, 2013, 3169] {
            assert!(of(errno).is_cut() && of(errno).is_unclear(), "{errno}");
        }
        for errno in [1317, 1969, 3024] {
            assert!(!of(errno).is_cut() && of(errno).is_unclear(), "{errno}");
        }
        // A deadlock and a conflict of a cluster have taken all back; no room, no right.
        for errno in [1213, 1205, 1114, 1142, 1290, 1062] {
            assert!(!of(errno).is_unclear(), "{errno}");
        }
    }

    #[test]
    fn errors_of_a_full_disk_say_so() {
        let cant_create = "Can't create table `d`.`t` (errno: 135 \"No more room in record file\")";
        let storage = "Got error 28 \"No space left on device\" from storage engine InnoDB";
        for (errno, message) in [(1114, ""), (1021, ""), (1005, cant_create), (1030, storage)] {
            assert!(is_full(errno, message), "{errno} {message}");
            assert!(advice(errno, message).starts_with("; the server has no room: "));
        }
        for (errno, message) in
            [(1062, storage), (1005, "(errno: 150 \"..\")"), (1030, "Got error 126")]
        {
            assert!(!is_full(errno, message), "{errno} {message}");
        }
    }

    #[test]
    fn statements_are_cut_and_their_texts_hidden() {
        assert_eq!(shorten("SELECT\n  1"), "SELECT 1");
        let long = format!("SELECT {}", "x".repeat(500));
        assert_eq!(shorten(&long).chars().count(), STATEMENT_CHARS_MAX + 3);
        assert_eq!(shorten("SET PASSWORD = 'hunter2'"), "SET PASSWORD = '..'");
    }

    #[test]
    fn the_drivers_error_inside_another_has_no_type_name() {
        let inner = mysql::Error::IoError(std::io::Error::other("Broken pipe"));
        assert_eq!(inner.to_string(), "IoError { Broken pipe }");
        let outer = mysql::Error::IoError(std::io::Error::other(inner));
        assert_eq!(driver_text(&outer), "Broken pipe");
    }

    #[test]
    fn answers_about_accounts_are_hidden() {
        let refusal = |message: &str| {
            let (state, message, code) = ("42000".to_owned(), message.to_owned(), 1064);
            mysql::Error::MySqlError(mysql::MySqlError { state, message, code })
        };
        let near = "syntax error near ''hunter2')' at line 1";
        for label in ["insert into `user`", "INSERT INTO `mysql`.`user`", "INSERT INTO global_priv"]
        {
            let error = Error::from_driver_as(refusal(near), label).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
        let value = "Incorrect string value: 'hunter2'";
        let error = Error::from_driver_as(refusal(value), "INSERT INTO `mysql`.`user`").to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let error =
            Error::from_driver(refusal(value), "ALTER USER a IDENTIFIED BY 'x'").to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let error = Error::from_driver_as(refusal(value), "INSERT INTO `password`").to_string();
        assert!(error.contains("hunter2"), "{error}");
    }
}
