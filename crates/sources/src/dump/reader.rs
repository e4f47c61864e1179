//! A dump front to back, statement by statement.

mod inputs;
mod options;
mod source_lines;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use simd::Isa;
use sql::command::{
    CLIENT_COMMANDS, LINE_BYTES_MAX, delimiter, first_word, line_size, source_line,
};
use sql::insert::{self, Head, InsertHead};
use sql::token::is_cut;
use sql::{Boundary, Lexer, Problem, Session, StatementKind, StrayLine, Syntax, classify};

pub use self::options::SqlOptions;
use self::source_lines::Suspended;
use super::blank::skip_blank;
use super::lead::Lead;
use super::problem::{SHOWN_BYTES, begin, check_line_end, problem};
use super::statement::Statement;
use super::window::Window;
use crate::bytes::ahead::Ends;
use crate::bytes::input::{self, Input};
use crate::error::{Error, Position, Result};
use crate::source::InputFile;

/// Longest head of an INSERT: 4,096 columns of the longest names fit.
const HEAD_BYTES_MAX: usize = 4 << 20;

/// Bytes of a stray line in messages.
const MESSAGE_BYTES_MAX: usize = 200;

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
    /// The part of the current statement that was not taken yet.
    pub(super) pending: Pending,
    /// Statements of the current input so far, while these are SETs alone.
    pub(super) lead: Option<Lead>,
    /// Inputs that wait for the end of a file that they name by `source`.
    suspended: Vec<Suspended>,
    stray: Option<StrayLines>,
    /// Inputs that lack the last line which their first lines promise.
    cut_short: Vec<(PathBuf, Option<u64>)>,
    /// Bytes of the inputs before the current one.
    bytes_before: u64,
    /// [`SqlReader::bytes_read`] as it was last told, also while the reader is lent.
    told: Arc<AtomicU64>,
    isa: Isa,
}

/// Lines that a program or a terminal wrote into a dump by accident.
#[derive(Debug)]
pub struct StrayLines {
    /// Their number.
    pub count: u64,
    /// The place of the first one.
    pub at: Position,
    /// The text of the first one.
    pub text: String,
}

/// The rest of the last statement.
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
        let find = |path: &PathBuf| match &options.below {
            Some(folder) => Input::find_below(folder, path),
            None => Input::find(path, &options.temp_dir),
        };
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
            suspended: Vec::new(),
            stray: None,
            cut_short: Vec::new(),
            bytes_before: 0,
            told: Arc::default(),
            isa: Isa::best(),
            options,
        }
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
    #[allow(clippy::should_implement_trait, reason = "an iterator was not returned")]
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

    /// Lines that were passed over, if there are any.
    pub fn stray(&self) -> Option<&StrayLines> {
        self.stray.as_ref()
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
        let mut text = head.text;
        self.take_rest(&mut text, false)?;
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
                Boundary::End { next, .. } => {
                    window.take(next);
                    return Ok(());
                }
                Boundary::More => {
                    opened = lexer.opened().map(|at| window.position(at)).or(opened);
                    let seen = lexer.seen().min(window.bytes().len());
                    lexer.forget(seen);
                    window.take(seen);
                    window.fill()?;
                }
                Boundary::Command(at) => lexer.step_over(at),
                Boundary::Open(inside) => {
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

    /// The next statement of the current input.
    fn statement(&mut self) -> Result<Option<Statement>> {
        loop {
            let Some(window) = &mut self.window else { return Ok(None) };
            if !skip_blank(window, &self.delimiter)? {
                return Ok(None);
            }
            window.need(LINE_BYTES_MAX)?;
            if let Some(line) = StrayLine::of(window.bytes()) {
                self.pass_stray(line)?;
                continue;
            }
            let last_line = std::mem::take(&mut window.last_line);
            if let Some((file, size)) = source_line(window.bytes(), &self.delimiter) {
                let file = file.to_vec();
                self.source(&file, size)?;
                continue;
            }
            let word = first_word(window.bytes());
            if word.eq_ignore_ascii_case(b"DELIMITER") {
                self.lead = None;
                check_line_end(window)?;
                let size = line_size(window.bytes());
                let found = delimiter(&window.bytes()[..size]);
                let found = found.ok_or_else(|| problem(window, 0, Problem::Delimiter, b""));
                window.take(size);
                window.last_line = last_line.with_delimiter();
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
            let statement = self.begun()?;
            if let Some(window) = &mut self.window {
                window.last_line = last_line.with(&statement);
            }
            return Ok(Some(statement));
        }
    }

    /// Passes over a line of the dump's program.
    ///
    /// Errors: behind it, if the program gave up.
    fn pass_stray(&mut self, line: StrayLine) -> Result<()> {
        let Some(window) = &mut self.window else { return Ok(()) };
        let text = &window.bytes()[..line.size.min(MESSAGE_BYTES_MAX)];
        let message = String::from_utf8_lossy(text).trim().to_owned();
        let at = window.position(0);
        window.take(line.size);
        if line.is_error && !self.options.partial {
            let problem = Problem::DumpError { message };
            return Err(Error::Sql { at, problem, statement: String::new() });
        }
        match &mut self.stray {
            Some(stray) => stray.count += 1,
            None => self.stray = Some(StrayLines { count: 1, at, text: message }),
        }
        Ok(())
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
        self.take_rest(&mut statement.text, true)?;
        statement.kind = classify(&statement.text, self.session.syntax, self.options.comments);
        self.lead = self.lead.take().and_then(|lead| lead.with(&statement.kind, &statement.text));
        if matches!(statement.kind, StatementKind::Set { .. }) {
            self.session.follow(&statement.text, self.options.comments);
        }
        Ok(statement)
    }

    /// Takes the rest of a statement, of which `text` has the head. `needs_end`: it is cut if a dump of a client ends
    /// before its delimiter.
    fn take_rest(&mut self, text: &mut Vec<u8>, needs_end: bool) -> Result<()> {
        let bytes_max = self.options.statement_bytes_max.saturating_sub(text.len());
        let (rest, next) = self.end(self.lexer(), text, bytes_max)?;
        let Some(window) = &mut self.window else { return Ok(()) };
        // People leave out the last semicolon.
        let lacks_end = needs_end && window.is_of_client && !self.options.partial;
        let bytes = &window.bytes()[..rest];
        if rest == next && (lacks_end || is_cut(bytes, self.session.syntax)) {
            let error = problem(window, 0, Problem::Cut, text);
            window.take(next);
            return Err(error);
        }
        text.extend_from_slice(bytes.trim_ascii_end());
        window.take(next);
        Ok(())
    }

    /// The head of an INSERT, taken, if that is what begins here.
    fn head(&mut self) -> Result<Option<InsertHead>> {
        let (syntax, comments) = (self.session.syntax, self.options.comments);
        let Some(window) = &mut self.window else { return Ok(None) };
        loop {
            let bytes = window.bytes();
            let some = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
            let is_last = window.is_last() && some.len() == bytes.len();
            match insert::head(some, is_last, syntax, comments) {
                Head::Rows(head) => {
                    window.take(head.text.len());
                    return Ok(Some(head));
                }
                Head::More if some.len() < HEAD_BYTES_MAX => window.fill()?,
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
            // Bytes that are part of the statement for certain: their number does not depend on how many
            // were read.
            let size = match found {
                Boundary::End { text, .. } => text,
                _ => lexer.seen(),
            };
            let (at, problem_) = match found {
                _ if size > bytes_max => {
                    lexer.restart();
                    (0, Problem::TooLong { bytes_max: self.options.statement_bytes_max })
                }
                Boundary::End { text, next } => return Ok((text, next)),
                Boundary::More => {
                    window.fill()?;
                    continue;
                }
                Boundary::Command(at) => {
                    let shown = &window.bytes()[at..window.bytes().len().min(at + 2)];
                    let command = shown.escape_ascii().to_string().replace(r"\\", r"\");
                    lexer.step_over(at);
                    (at, Problem::ClientCommand { command })
                }
                Boundary::Open(inside) => {
                    (lexer.opened().unwrap_or_default(), Problem::of_open(inside))
                }
            };
            window.need(SHOWN_BYTES)?;
            let error = problem(window, at, problem_, head);
            match found {
                Boundary::Open(..) if size <= bytes_max => window.take(window.bytes().len()),
                _ => self.pending = Pending::Rest(Box::new(lexer)),
            }
            return Err(error);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
