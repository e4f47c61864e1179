//! A dump front to back, statement by statement.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use simd::Isa;
use sql::command::{CLIENT_COMMANDS, LINE_BYTES_MAX, delimiter, first_word, line_size};
use sql::insert::{self, Head, InsertHead};
use sql::{Comments, Found, Lexer, Problem, Session, StatementKind, Syntax, classify};

use super::blank::skip_blank;
use super::lead::Lead;
use super::problem::{begin, problem};
use super::statement::Statement;
use super::window::{PIECE_BYTES, Window};
use crate::bytes::ahead::Ends;
use crate::bytes::encoding::Encoding;
use crate::bytes::input::{self, Input};
use crate::bytes::stream::Stream;
use crate::bytes::text::TextOptions;
use crate::error::{Error, Result};
use crate::source::InputFile;

/// Longest head of an INSERT: 4,096 columns of the longest names fit.
const HEAD_BYTES_MAX: usize = 4 << 20;

/// How a dump is read.
#[derive(Clone, Debug)]
pub struct SqlOptions {
    /// Longest statement that is read whole, in bytes; of an INSERT only the words before its rows
    /// are. Default 64 MiB. The server takes none longer than its `max_allowed_packet`.
    pub statement_bytes_max: usize,
    /// How the session reads text before the dump says otherwise.
    pub syntax: Syntax,
    /// Which version comments the server runs.
    pub comments: Comments,
    /// Bytes per read. Default 256 KiB: a piece is still in the second-level cache when it is lexed.
    /// Most leave it alone.
    pub piece_bytes: usize,
    /// As `SourceOptions::ahead_bytes`.
    pub ahead_bytes: usize,
    /// As `SourceOptions::unpack_bytes_max`.
    pub unpack_bytes_max: usize,
    /// Folder in which a pipe's bytes are kept. Default: the system's temporary folder.
    pub temp_dir: PathBuf,
    /// Set by somebody who wants the end: nobody waits for a pipe then.
    pub stop: Arc<AtomicBool>,
}

impl Default for SqlOptions {
    fn default() -> SqlOptions {
        SqlOptions {
            statement_bytes_max: 64 << 20,
            syntax: Syntax::default(),
            comments: Comments::default(),
            piece_bytes: PIECE_BYTES,
            ahead_bytes: 8 << 20,
            unpack_bytes_max: 128 << 20,
            temp_dir: std::env::temp_dir(),
            stop: Arc::default(),
        }
    }
}

/// The statements of one dump, or of several in a row, which one session plays.
#[derive(Debug)]
pub struct SqlReader {
    pub(super) files: Vec<InputFile>,
    pub(super) inputs: Vec<Input>,
    pub(super) options: SqlOptions,
    pub(super) ends: Ends,
    /// Index of the input being read, or to be opened next.
    pub(super) index: usize,
    pub(super) window: Option<Window>,
    pub(super) session: Session,
    pub(super) delimiter: Vec<u8>,
    /// What of the statement begun was not taken yet.
    pub(super) pending: Pending,
    /// What the current input has had so far, while that is SETs alone.
    pub(super) lead: Option<Lead>,
    /// Inputs that lack the last line which their first lines promise.
    cut_short: Vec<PathBuf>,
    /// Bytes of the inputs before the current one.
    bytes_before: u64,
    /// [`SqlReader::bytes_read`] as it was last told, also while the reader is lent.
    told: Arc<AtomicU64>,
    isa: Isa,
}

/// What is left of the last statement.
#[derive(Debug)]
pub(super) enum Pending {
    Nothing,
    /// The rows behind a head.
    Rows(InsertHead),
    /// All that is behind what could not be read.
    Rest(Box<Lexer>),
}

impl SqlReader {
    /// A reader over these inputs, in this order: files, archives, pipes. Opens none.
    ///
    /// Errors: a path that is missing or a directory; a pipe that is named twice.
    pub fn open(paths: &[PathBuf], options: SqlOptions) -> Result<SqlReader> {
        input::check_pipes(paths)?;
        let find = |path: &PathBuf| Input::find(path, &options.temp_dir);
        let inputs = paths.iter().map(find).collect::<Result<Vec<_>>>()?;
        let ends = Ends { stop: Arc::clone(&options.stop), ..Ends::default() };
        Ok(SqlReader::over(inputs, options, ends))
    }

    /// A reader over inputs that were found.
    pub(super) fn over(inputs: Vec<Input>, options: SqlOptions, ends: Ends) -> SqlReader {
        let file =
            |input: &Input| InputFile { path: input.path().to_owned(), bytes: input.bytes() };
        SqlReader {
            files: inputs.iter().map(file).collect(),
            inputs,
            ends,
            index: 0,
            window: None,
            session: Session::new(options.syntax),
            delimiter: b";".to_vec(),
            pending: Pending::Nothing,
            lead: None,
            cut_short: Vec::new(),
            bytes_before: 0,
            told: Arc::default(),
            isa: Isa::best(),
            options,
        }
    }

    /// The inputs in order; [`Statement::file`] is an index into this.
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// Size of all inputs, packed if they are; None if there is a pipe.
    pub fn bytes_total(&self) -> Option<u64> {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Bytes read so far, in the unit of `bytes_total`.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_before + self.window.as_ref().map_or(0, Window::consumed)
    }

    /// Where [`SqlReader::bytes_read`] is told now and then, also while the reader is lent to a run
    /// of rows: for whoever shows how far it is.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.told)
    }

    /// Tells how far it is.
    pub(super) fn tell(&self) {
        self.told.store(self.bytes_read(), Ordering::Relaxed);
    }

    /// How the text behind the last statement is read, as far as the dump's own words tell.
    pub fn syntax(&self) -> Syntax {
        self.session.syntax
    }

    /// The same from who has asked the server; to be said before the next statement is read.
    pub fn set_syntax(&mut self, syntax: Syntax) {
        self.session.syntax = syntax;
    }

    /// The next statement; None behind the last one. The rows of an INSERT that nobody took are
    /// passed over.
    ///
    /// Errors: reading; [`Error::Sql`], after which the next call goes on behind that statement.
    #[allow(clippy::should_implement_trait, reason = "an iterator would not lend itself")]
    pub fn next(&mut self) -> Result<Option<Statement>> {
        if !matches!(self.pending, Pending::Nothing) {
            self.lead = None;
        }
        self.skip()?;
        self.tell();
        while self.open_next()? {
            if let Some(statement) = self.statement()? {
                return Ok(Some(statement));
            }
            self.judge_end();
            self.close();
        }
        Ok(None)
    }

    /// The whole of the INSERT that was found last: its head, and its rows which are still to come.
    /// Empty if there was none, or its rows were taken.
    ///
    /// Errors: as [`SqlReader::next`].
    pub fn whole(&mut self) -> Result<Vec<u8>> {
        let Pending::Rows(head) = std::mem::replace(&mut self.pending, Pending::Nothing) else {
            return Ok(Vec::new());
        };
        self.lead = None;
        let lexer = self.lexer();
        let bytes_max = self.options.statement_bytes_max.saturating_sub(head.text.len());
        let (rest, next) = self.end(lexer, &head.text, bytes_max)?;
        let mut text = head.text;
        if let Some(window) = &mut self.window {
            text.extend_from_slice(window.bytes()[..rest].trim_ascii_end());
            window.take(next);
        }
        Ok(text)
    }

    /// Passes over what is left of the last statement, in bounded memory.
    ///
    /// Errors: as [`SqlReader::next`].
    pub fn skip(&mut self) -> Result<()> {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        let (mut lexer, head) = match pending {
            Pending::Nothing => return Ok(()),
            Pending::Rows(head) => (self.lexer(), head.text),
            Pending::Rest(lexer) => (*lexer, Vec::new()),
        };
        let Some(window) = &mut self.window else { return Ok(()) };
        let mut opened = None;
        loop {
            match lexer.run(window.bytes(), window.is_last()) {
                Found::End { next, .. } => {
                    window.take(next);
                    return Ok(());
                }
                Found::More => {
                    opened = lexer.opened().map(|at| window.position(at)).or(opened);
                    let seen = lexer.seen().min(window.bytes().len());
                    lexer.forget(seen);
                    window.take(seen);
                    window.fill()?;
                }
                Found::Command(at) => lexer.step_over(at),
                Found::Open(inside) => {
                    let here = lexer.opened().map(|at| window.position(at));
                    let at = here.or(opened).unwrap_or_else(|| window.position(0));
                    let statement = begin(&head, b"");
                    window.take(window.bytes().len());
                    return Err(Error::Sql { at, problem: Problem::of_open(inside), statement });
                }
            }
        }
    }

    /// The same with the given instructions: for tests.
    pub fn with_isa(self, isa: Isa) -> SqlReader {
        SqlReader { isa, ..self }
    }

    fn lexer(&self) -> Lexer {
        Lexer::new(self.session.syntax, &self.delimiter, self.isa)
    }

    /// Opens the input whose turn it is, if there is one left.
    fn open_next(&mut self) -> Result<bool> {
        if self.window.is_some() {
            return Ok(true);
        }
        let Some(input) = self.inputs.get(self.index) else { return Ok(false) };
        let options = TextOptions {
            encoding: Encoding::Bytes,
            unpack_bytes_max: self.options.unpack_bytes_max,
        };
        let stream = Stream::open(input, options, self.options.ahead_bytes, &self.ends)?;
        let mut window = Window::new(stream, input.path().to_owned(), self.options.piece_bytes);
        window.need(4)?;
        let what = not_sql(window.bytes());
        if let Some(what) = what {
            return Err(Error::NotText { path: input.path().to_owned(), what });
        }
        if window.bytes().starts_with(BYTE_ORDER_MARK) {
            window.take(BYTE_ORDER_MARK.len());
        }
        self.delimiter = b";".to_vec();
        self.lead = Some(Lead::new(self.session.syntax));
        self.window = Some(window);
        Ok(true)
    }

    /// Inputs read to their end that were written by mariadb-dump or mysqldump, as they begin, and do
    /// not end as these do: with the line `-- Dump completed`. They were cut, between two statements.
    pub fn cut_short(&self) -> &[PathBuf] {
        &self.cut_short
    }

    /// Behind the last statement of an input.
    fn judge_end(&mut self) {
        let is_cut = |window: &Window| window.is_of_client && !window.is_completed;
        if let (Some(input), true) =
            (self.inputs.get(self.index), self.window.as_ref().is_some_and(is_cut))
        {
            self.cut_short.push(input.path().to_owned());
        }
    }

    fn close(&mut self) {
        self.bytes_before += self.window.as_ref().map_or(0, Window::consumed);
        self.window = None;
        self.index += 1;
    }

    /// Goes on in the next input, which `window` is over.
    pub(super) fn go_on(&mut self, window: Window) {
        self.close();
        self.window = Some(window);
        self.tell();
    }

    /// The next statement of the current input.
    fn statement(&mut self) -> Result<Option<Statement>> {
        loop {
            let Some(window) = &mut self.window else { return Ok(None) };
            if !skip_blank(window, &self.delimiter)? {
                return Ok(None);
            }
            window.is_completed = false;
            window.need(LINE_BYTES_MAX)?;
            let word = first_word(window.bytes());
            if word.eq_ignore_ascii_case(b"DELIMITER") {
                self.lead = None;
                let size = line_size(window.bytes());
                let found = delimiter(&window.bytes()[..size]);
                let found = found.ok_or_else(|| problem(window, 0, Problem::Delimiter, b""));
                window.take(size);
                self.delimiter = found?;
                continue;
            }
            if CLIENT_COMMANDS.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes())) {
                let command = String::from_utf8_lossy(word).into_owned();
                let error = problem(window, 0, Problem::ClientCommand { command }, b"");
                window.take(line_size(window.bytes()));
                return Err(error);
            }
            if word.eq_ignore_ascii_case(b"USE")
                && let Some(statement) = self.use_line()
            {
                return Ok(Some(statement));
            }
            return self.begun().map(Some);
        }
    }

    /// `USE db` on a line of its own needs no delimiter.
    fn use_line(&mut self) -> Option<Statement> {
        let window = self.window.as_mut()?;
        let size = line_size(window.bytes());
        let line = &window.bytes()[..size];
        if memchr::memmem::find(line, &self.delimiter).is_some() {
            return None;
        }
        let text = line.trim_ascii_end().to_vec();
        let kind = classify(&text, self.session.syntax, self.options.comments);
        let statement = Statement {
            kind,
            text,
            file: self.index as u32,
            offset: window.offset(),
            line: window.line(),
        };
        window.take(size);
        self.lead = None;
        Some(statement)
    }

    /// The statement that begins where the window does.
    fn begun(&mut self) -> Result<Statement> {
        let syntax = self.session.syntax;
        let (offset, line) = self.window.as_ref().map_or((0, 1), |at| (at.offset(), at.line()));
        let mut statement = Statement {
            kind: StatementKind::Other,
            text: Vec::new(),
            file: self.index as u32,
            offset,
            line,
        };
        if let Some(head) = self.head()? {
            self.pending = Pending::Rows(head.clone());
            statement.kind = StatementKind::Insert(Box::new(head));
            return Ok(statement);
        }
        let lexer = self.lexer();
        let (text, next) = self.end(lexer, b"", self.options.statement_bytes_max)?;
        let Some(window) = &mut self.window else { return Ok(statement) };
        statement.text = window.bytes()[..text].trim_ascii_end().to_vec();
        window.take(next);
        statement.kind = classify(&statement.text, syntax, self.options.comments);
        self.lead = self.lead.take().and_then(|lead| lead.with(&statement.kind, &statement.text));
        if matches!(statement.kind, StatementKind::Set { .. }) {
            self.session.follow(&statement.text, self.options.comments);
        }
        Ok(statement)
    }

    /// The head of an INSERT, taken, if that is what begins here.
    fn head(&mut self) -> Result<Option<InsertHead>> {
        let (syntax, comments) = (self.session.syntax, self.options.comments);
        let Some(window) = &mut self.window else { return Ok(None) };
        loop {
            match insert::head(window.bytes(), window.is_last(), syntax, comments) {
                Head::Rows(head) => {
                    window.take(head.text.len());
                    return Ok(Some(head));
                }
                Head::More if window.bytes().len() < HEAD_BYTES_MAX => window.fill()?,
                Head::Other | Head::More => return Ok(None),
            }
        }
    }

    /// Reads to the end of the statement: its bytes and those with the delimiter, none taken.
    /// `head` is what of it was taken before.
    fn end(&mut self, mut lexer: Lexer, head: &[u8], bytes_max: usize) -> Result<(usize, usize)> {
        let Some(window) = &mut self.window else { return Ok((0, 0)) };
        loop {
            let found = lexer.run(window.bytes(), window.is_last());
            let (at, problem_) = match found {
                Found::End { text, next } if text <= bytes_max => return Ok((text, next)),
                Found::More if window.bytes().len() <= bytes_max => {
                    window.fill()?;
                    continue;
                }
                Found::End { .. } | Found::More => {
                    lexer.restart();
                    (0, Problem::TooLong { bytes_max: self.options.statement_bytes_max })
                }
                Found::Command(at) => {
                    let shown = &window.bytes()[at..window.bytes().len().min(at + 2)];
                    let command = shown.escape_ascii().to_string();
                    lexer.step_over(at);
                    (at, Problem::ClientCommand { command })
                }
                Found::Open(inside) => {
                    (lexer.opened().unwrap_or_default(), Problem::of_open(inside))
                }
            };
            let error = problem(window, at, problem_, head);
            match found {
                Found::Open(..) => window.take(window.bytes().len()),
                _ => self.pending = Pending::Rest(Box::new(lexer)),
            }
            return Err(error);
        }
    }
}

/// U+FEFF in UTF-8, which some editors put at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What an input is that is no dump in SQL, by its first bytes.
fn not_sql(head: &[u8]) -> Option<&'static str> {
    let is_wide = head.starts_with(b"\xff\xfe")
        || head.starts_with(b"\xfe\xff")
        || head.iter().take(4).any(|&byte| byte == 0);
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    if is_wide {
        Some("UTF-16 or UTF-32, which the server takes no statements in; convert it to UTF-8 first")
    } else if text.first() == Some(&b'<') {
        Some("XML, not SQL; make the dump without --xml")
    } else {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Kinds and texts of all statements, INSERTs whole; an error ends them.
    fn read(dump: &[u8]) -> Vec<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(dump).unwrap();
        let mut reader = SqlReader::open(&[file.path().to_owned()], SqlOptions::default()).unwrap();
        let mut found = Vec::new();
        loop {
            match reader.next() {
                Ok(None) => return found,
                Ok(Some(statement)) => {
                    let text = match &statement.kind {
                        StatementKind::Insert(_) => reader.whole().unwrap(),
                        _ => statement.text.clone(),
                    };
                    let here = &dump[statement.offset as usize..];
                    assert!(here.starts_with(&text), "offset {}", statement.offset);
                    let before = &dump[..statement.offset as usize];
                    assert_eq!(statement.line, 1 + crate::chunk::newlines(before));
                    found.push(String::from_utf8_lossy(&text).into_owned());
                }
                Err(error) => {
                    let error = error.to_string();
                    found.push(error.split_once(": ").unwrap().1.to_owned());
                }
            }
        }
    }

    #[test]
    fn a_second_byte_of_a_character_is_no_backslash() {
        let dump = b"set names gbk;a '\x95\x5c';/*!50003 set @a=@@character_set_client, \
                     character_set_client=latin1*/;b '\x95\x5c';';set names @a;\
                     SET @@session.character_set_client=28;c '\x95\x5c';";
        let read = read(dump);
        assert_eq!(read.len(), 7, "{read:?}");
        assert!(read[3].ends_with("\\';'"), "{read:?}");
    }

    #[test]
    fn a_dump_that_lacks_its_last_line_was_cut() {
        let is_cut = |dump: &str| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(dump.as_bytes()).unwrap();
            let path = file.path().to_owned();
            let mut reader =
                SqlReader::open(std::slice::from_ref(&path), SqlOptions::default()).unwrap();
            while reader.next().unwrap().is_some() {}
            assert!(reader.cut_short().iter().all(|cut| *cut == path));
            !reader.cut_short().is_empty()
        };
        let sandbox = "/*M!999999\\- enable the sandbox mode */ \n";
        for head in [
            "-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB\n--\n",
            "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n",
        ] {
            for before in ["", sandbox, "\u{feff}"] {
                let dump = format!("{before}{head}SET x=1;\nINSERT INTO t VALUES (1);\n");
                assert!(is_cut(&dump) && is_cut(&format!("{dump}-- Dump compl")), "{dump}");
                let whole = format!("{dump}\n-- Dump completed on 2026-01-01  1:00:00\n");
                assert!(!is_cut(&whole) && !is_cut(&format!("{dump}-- Dump completed")), "{dump}");
                // Two in one file, the second one cut.
                assert!(is_cut(&format!("{whole}{dump}")) && !is_cut(&format!("{whole}{whole}")));
            }
        }
        // Written with --skip-comments or by hand: nothing says how it ends.
        assert!(!is_cut("SET x=1;") && !is_cut("a '\n-- MariaDB dump 1\n';") && !is_cut(""));
    }

    #[test]
    fn what_mysqlbinlog_writes_is_cut_at_its_delimiter() {
        let dump = b"/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\nDELIMITER /*!*/;\n# at 4\n\
                     BINLOG '\nabc/==\n'/*!*/;\n/*!\\C utf8mb4 *//*!*/;\nx/*!*/;\nDELIMITER ;\ny;";
        let read = read(dump);
        let texts = ["/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/", "BINLOG '\nabc/==\n'"];
        assert_eq!(read[..2], texts, "{read:?}");
        assert_eq!(read[2..], ["x", "y"], "{read:?}");
    }

    #[test]
    fn statements_end_where_the_server_and_its_client_say() {
        let cases: [(&str, &[&str]); 16] = [
            ("", &[]),
            (";;\n-- x\n ;", &[]),
            ("\u{feff}select 1;\r\nselect 2", &["select 1", "select 2"]),
            (
                "select ';''\\';', \"\\\";\", `;``\\`; x",
                &["select ';''\\';', \"\\\";\", `;``\\`", "x"],
            ),
            ("a -- ';\nb # \";\nc /* ;' */ d; e", &["a -- ';\nb # \";\nc /* ;' */ d", "e"]),
            ("select 1--1; b", &["select 1--1", "b"]),
            ("/*! a */ b; /*M!100000 c;*/ d", &["/*! a */ b", "/*M!100000 c", "*/ d"]),
            (
                "/*M!999999\\- enable the sandbox mode */ \n-- x\n/*!40101 SET x=1 */;",
                &["/*!40101 SET x=1 */"],
            ),
            ("DELIMITER ;;\na; b ;;\ndelimiter ;\nc;", &["a; b", "c"]),
            ("DELIMITER $$\r\nbegin end$$ DELIMITER ;\nc;", &["begin end", "c"]),
            ("use a\nuse b; select \\N;", &["use a", "use b", "select \\N"]),
            (
                "set sql_mode='NO_BACKSLASH_ESCAPES'; a '\\'; set sql_mode=''; b '\\';'",
                &["set sql_mode='NO_BACKSLASH_ESCAPES'", "a '\\'", "set sql_mode=''", "b '\\';'"],
            ),
            (
                "set @a=@@sql_mode, sql_mode=ansi; a \"\\\"; set sql_mode=@A; b \"\\\";\"",
                &["set @a=@@sql_mode, sql_mode=ansi", "a \"\\\"", "set sql_mode=@A", "b \"\\\";\""],
            ),
            ("insert into t values ('a;'),(2);x", &["insert into t values ('a;'),(2)", "x"]),
            (
                "DELIMITER\nx;",
                &[
                    "DELIMITER needs what is to end a statement, without a backslash (statement: DELIMITER)",
                    "x",
                ],
            ),
            (
                "a\n\\! ls\n;system rm;b",
                &[
                    "\\\\! is a command to the mariadb client, not SQL, and is not run; take it out of the file (statement: a)",
                    "system is a command to the mariadb client, not SQL, and is not run; take it out of the file (statement: system rm;b)",
                ],
            ),
        ];
        for (dump, expected) in cases {
            assert_eq!(read(dump.as_bytes()), expected, "{dump}");
        }
    }
}
