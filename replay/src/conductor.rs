//! One statement after the other: what the verdict of `order` says, done.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use server::ConnectOptions;
use server::identifier::quote_name;
use sources::sql::{SqlReader, Statement, StatementKind, Syntax, classify};

use crate::dump::{Content, Dump, Part, Script};
use crate::error::Error;
use crate::naming::Naming;
use crate::options::ReplayOptions;
use crate::order::{Decode, Order, Step};
use crate::place::Place;
use crate::progress::Watch;
use crate::reading;
use crate::report::{Failed, Report};
use crate::sessions::Sessions;
use crate::state::State;

/// Variables that change how statements are told apart.
const READING: [&str; 4] = ["sql_mode", "names", "charset", "character_set_client"];

/// Goes through a dump.
pub(crate) struct Conductor<'a> {
    options: &'a ReplayOptions,
    watch: &'a Watch,
    sessions: Sessions,
    order: Order,
    /// Session variables that the dump has set.
    set: BTreeSet<String>,
    /// What the dump's session is set to, where that was asked since it was last changed.
    state: Option<Arc<State>>,
    report: Report,
}

impl<'a> Conductor<'a> {
    /// Connects. The dump's session is one of the client's: with the server's settings.
    pub(crate) fn new(
        connect: &ConnectOptions,
        options: &'a ReplayOptions,
        order: Order,
        watch: &'a Watch,
    ) -> Result<Conductor<'a>, Error> {
        let sessions = Sessions::connect(connect)?;
        let report = Report {
            dump: options.dump.display().to_string(),
            server: sessions.own.version().to_string(),
            ..Report::default()
        };
        let (set, state) = (BTreeSet::new(), None);
        Ok(Conductor { options, watch, sessions, order, set, state, report })
    }

    /// Replays all of a dump.
    pub(crate) fn run(mut self, dump: &Dump) -> Result<Report, Error> {
        self.report.notes.extend(dump.warnings.iter().cloned());
        if let Some(into) = &self.options.into {
            let name = quote_name(into);
            self.sessions.own.exec(&format!("CREATE DATABASE IF NOT EXISTS {name}"))?;
            self.sessions.dump.exec(&format!("USE {name}"))?;
        }
        dump.parts.iter().try_for_each(|part| self.part(part))?;
        Ok(self.report)
    }

    fn part(&mut self, part: &Part) -> Result<(), Error> {
        if let Some(database) = &part.database {
            self.order.enter(database);
            if self.options.into.is_none() {
                let state = self.state()?;
                let charset = state.charset();
                let name = Naming { own: &mut self.sessions.own, charset }.decode(database)?;
                self.enter(&name)?;
            }
        }
        match &part.content {
            Content::Sql { files, rows: None } => {
                let options = reading::options(self.options, &self.sessions.own);
                self.statements(SqlReader::open(files, options)?)
            }
            Content::Script(script) => self.script(script),
            Content::Sql { .. } | Content::Rows(_) => {
                Err(Error::Refused("rows in files of their own are not there yet".to_owned()))
            }
        }
    }

    fn script(&mut self, script: &Script) -> Result<(), Error> {
        let comments = reading::options(self.options, &self.sessions.own).comments;
        for one in &script.statements {
            let statement = Statement {
                kind: classify(&one.text, Syntax::default(), comments),
                text: one.text.clone(),
                file: 0,
                offset: one.offset,
                line: one.line,
            };
            let file = script.path.as_deref().unwrap_or(&self.options.dump);
            let place = Place::of(file, &statement, &statement.text);
            let done = self.statement(&statement);
            self.judge(place, done)?;
        }
        Ok(())
    }

    fn statements(&mut self, mut reader: SqlReader) -> Result<(), Error> {
        self.watch.set_total_bytes(reader.bytes_total().unwrap_or(0));
        let files: Vec<PathBuf> = reader.files().iter().map(|file| file.path.clone()).collect();
        while let Some(mut statement) = self.next(&mut reader, &files)? {
            self.watch.set_read_bytes(reader.bytes_read());
            if let StatementKind::Insert(_) = &statement.kind {
                statement.text = reader.whole()?;
            }
            let file = files.get(statement.file as usize).unwrap_or(&self.options.dump);
            let place = Place::of(file, &statement, &statement.text);
            self.watch.set_doing(&place.head);
            let done = self.statement(&statement);
            if done.is_ok() {
                self.follow(&mut reader, &statement)?;
            }
            self.judge(place, done)?;
        }
        self.watch.set_read_bytes(reader.bytes_read());
        Ok(())
    }

    /// The next statement; under `--force` behind those that cannot be read.
    fn next(
        &mut self,
        reader: &mut SqlReader,
        files: &[PathBuf],
    ) -> Result<Option<Statement>, Error> {
        loop {
            match reader.next() {
                Err(error @ sources::Error::Sql { .. }) if self.options.force => {
                    let file = files.first().unwrap_or(&self.options.dump);
                    let place = Place { file: file.to_owned(), ..Place::default() };
                    self.pass_over(&place, &error.into());
                }
                next => return Ok(next?),
            }
        }
    }

    /// What a statement that failed means: the end, or under `--force` a line of the report.
    fn judge(&mut self, place: Place, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Err(error) if self.options.force && error.is_passed_over() => {
                self.pass_over(&place, &error);
                Ok(())
            }
            done => done.map_err(|error| error.at(place)),
        }
    }

    fn pass_over(&mut self, place: &Place, error: &Error) {
        self.watch.say(&format!("{place}: {error}"));
        self.report.failed.push(Failed::new(place, error));
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Error> {
        match self.step(statement)? {
            Step::LeftOut => self.report.left_out += 1,
            Step::Nothing => {}
            Step::Use(database) => self.enter(&database)?,
            Step::Set(variables) => {
                self.exec(statement)?;
                self.set.extend(variables);
                self.state = None;
            }
            Step::Rows(table) => {
                let rows = self.sessions.dump.exec_bytes(&statement.text)?.affected_rows;
                let line = self.report.table(&table.to_string());
                line.rows += rows;
                "serial".clone_into(&mut line.way);
                self.watch.add_rows(rows);
            }
            Step::Make(table) => {
                self.exec(statement)?;
                self.report.table(&table.to_string());
            }
            Step::Barrier => {
                self.report.barriers += 1;
                self.exec(statement)?;
                // Whatever it was, it may have changed the session.
                self.state = None;
            }
            _ => self.exec(statement)?,
        }
        Ok(())
    }

    fn step(&mut self, statement: &Statement) -> Result<Step, Error> {
        let state = self.state()?;
        let mut naming = Naming { own: &mut self.sessions.own, charset: state.charset() };
        self.order.step(statement, &mut naming)
    }

    fn enter(&mut self, database: &str) -> Result<(), Error> {
        self.sessions.dump.exec(&format!("USE {}", quote_name(database)))?;
        self.state = None;
        Ok(())
    }

    /// Runs a statement in the dump's session.
    fn exec(&mut self, statement: &Statement) -> Result<(), Error> {
        let text = self.order.names().text(&statement.text, &self.order.databases()).into_owned();
        self.sessions.dump.exec_bytes(&text)?;
        self.report.statements += 1;
        Ok(())
    }

    /// What the dump's session is set to now.
    fn state(&mut self) -> Result<Arc<State>, Error> {
        if let Some(state) = &self.state {
            return Ok(Arc::clone(state));
        }
        let database = self.sessions.dump.query_text("SELECT DATABASE()")?;
        let state = State::read(&mut self.sessions.dump, database.as_deref(), &self.set)?;
        Ok(Arc::clone(self.state.insert(Arc::new(state))))
    }

    /// Has the reader know what the server made of a SET.
    fn follow(&mut self, reader: &mut SqlReader, statement: &Statement) -> Result<(), Error> {
        let StatementKind::Set { variables } = &statement.kind else { return Ok(()) };
        if variables.iter().any(|name| READING.contains(&name.as_str())) {
            reading::follow(reader, &*self.state()?);
        }
        Ok(())
    }
}
