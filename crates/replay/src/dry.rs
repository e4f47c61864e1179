//! A dry run: the dump is read and judged, no server is asked.

use std::path::Path;

use schema::TableName;
use sources::dump::{RowRun, SqlOptions, SqlReader, Statement};
use sources::{Batch, Chunk, ReadAs, Source};
use sql::{InsertHead, StatementKind, Syntax};

use crate::collations::Collations;
use crate::dump::{Content, Dump, Part, Script, TableRows};
use crate::error::Error;
use crate::naming::Lossy;
use crate::options::ReplayOptions;
use crate::order::{Decode, Order, Step};
use crate::place::{Place, head};
use crate::reading;
use crate::report::{DryRunStep, Report};

/// Goes through a dump without doing anything.
pub(crate) struct DryRun<'a> {
    options: &'a ReplayOptions,
    order: Order,
    /// A DROP that its CREATE may take care of.
    dropped: Option<(TableName, DryRunStep)>,
    collations: Collations,
    report: Report,
}

impl<'a> DryRun<'a> {
    pub(crate) fn new(options: &'a ReplayOptions, order: Order) -> DryRun<'a> {
        let dump = options.dump.display().to_string();
        let report = Report { dump, dry_run: true, ..Report::default() };
        DryRun { options, order, dropped: None, collations: Collations::new(options), report }
    }

    /// All of it. Bytes read are counted in the report.
    pub(crate) fn run(mut self, dump: &Dump) -> Result<Report, Error> {
        self.report.notes.extend(dump.notes.iter().cloned());
        self.report.tell_missing(&dump.missing, self.options.partial);
        for part in &dump.parts {
            self.part(part)?;
        }
        self.settle_drop();
        self.report.tell_selection(&mut self.order)?;
        self.report.notes.extend(self.collations.notes());
        Ok(self.report)
    }

    fn part(&mut self, part: &Part) -> Result<(), Error> {
        if let Some(database) = &part.database {
            self.order.enter(database);
        }
        match &part.content {
            Content::Sql { files, rows } => {
                let options = reading::without_server(self.options);
                let reader = reading::open(files, self.options, options)?;
                self.statements(reader)?;
                rows.as_ref().map_or(Ok(()), |rows| self.files(rows))
            }
            Content::Script(script) => self.script(script),
            Content::Rows(rows) => self.files(rows),
        }
    }

    fn statements(&mut self, mut reader: SqlReader) -> Result<(), Error> {
        let before = self.report.bytes;
        let mut is_first = true;
        loop {
            let mut next = reader.next().map_err(Error::from);
            if std::mem::take(&mut is_first) {
                next = reading::first(&reader, self.options, next);
            }
            let Some(statement) = next? else { break };
            self.options.interrupt.check()?;
            let file = reading::file_of(&reader, &statement, self.options);
            match &statement.kind {
                StatementKind::Insert(head) => {
                    reader = self.insert(&statement, head, reader, &file)?;
                }
                _ => self.statement(&statement, &file)?,
            }
        }
        self.report.bytes = before + reader.bytes_read();
        self.report.tell_cut(reader.cut_short(), self.options.partial);
        self.report.tell_stray(reader.stray());
        Ok(())
    }

    fn script(&mut self, script: &Script) -> Result<(), Error> {
        let SqlOptions { comments, .. } = reading::without_server(self.options);
        for one in &script.statements {
            let statement = one.statement(Syntax::default(), comments);
            let file = script.path.as_deref().unwrap_or(&self.options.dump);
            self.statement(&statement, file)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement, file: &Path) -> Result<(), Error> {
        self.collations.apply(statement, Syntax::default());
        let step = self.order.step(statement, &mut Lossy);
        let step = step.map_err(|error| error.at(Place::of(file, statement, &statement.text)))?;
        let line = |what, name: String| DryRunStep {
            file: file.display().to_string(),
            line: statement.line,
            offset: statement.offset,
            what,
            statement: name,
            rows: None,
        };
        self.report.count(&step, &statement.kind);
        match &step {
            Step::Make(table) => {
                let replaces = self.dropped.take_if(|(dropped, _)| dropped == table).is_some();
                self.settle_drop();
                self.report.table(&table.to_string());
                let what = if replaces { "replace" } else { "make" };
                self.report.steps.push(line(what, table.to_string()));
            }
            Step::Drop(table) => {
                self.settle_drop();
                self.dropped = Some((table.clone(), line("drop", table.to_string())));
            }
            Step::LeftOut | Step::Nothing | Step::Keys(_) | Step::Set(_) | Step::Use(_) => {}
            Step::Run | Step::Database(_) | Step::After(_) | Step::Barrier => {
                self.settle_drop();
                let what = match &step {
                    Step::Barrier if !self.options.atomic => "barrier",
                    Step::After(_) | Step::Barrier => "after",
                    _ => "run",
                };
                self.report.barriers += u64::from(what == "barrier");
                self.report.steps.push(line(what, head(&statement.text)));
            }
            Step::Rows(table) => self.report.steps.push(line("rows", table.to_string())),
        }
        Ok(())
    }

    /// A DROP that no CREATE has followed is one.
    fn settle_drop(&mut self) {
        if let Some((_, step)) = self.dropped.take() {
            self.report.steps.push(step);
        }
    }

    fn insert(
        &mut self,
        statement: &Statement,
        words: &InsertHead,
        mut reader: SqlReader,
        file: &Path,
    ) -> Result<SqlReader, Error> {
        let place = Place::of(file, statement, &words.text);
        let step = self.order.step(statement, &mut Lossy).map_err(|error| error.at(place))?;
        self.report.count(&step, &statement.kind);
        let Step::Rows(table) = step else { return Ok(reader) };
        self.settle_drop();
        if !reader.stands_before_rows() {
            reader.whole()?;
            self.rows(file, statement, &table, None);
            return Ok(reader);
        }
        let (run, handback) = match reader.into_run(ReadAs::default()) {
            Ok(lent) => lent,
            Err(reader) => return Ok(*reader),
        };
        let rows = count(run)?;
        self.rows(file, statement, &table, rows);
        Ok(handback.wait()?)
    }

    fn rows(&mut self, file: &Path, statement: &Statement, table: &TableName, rows: Option<u64>) {
        let name = table.to_string();
        if rows.is_none() {
            let note = "some rows are not plain values and were not counted".to_owned();
            let notes = &mut self.report.table(&name).notes;
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let (line, offset, file) = (statement.line, statement.offset, file.display().to_string());
        self.push_rows(DryRunStep { file, line, offset, what: "rows", statement: name, rows });
    }

    fn push_rows(&mut self, step: DryRunStep) {
        self.report.table(&step.statement).rows += step.rows.unwrap_or(0);
        self.report.steps.push(step);
    }

    /// Delimited rows: as many as the dump says there are.
    fn files(&mut self, rows: &TableRows) -> Result<(), Error> {
        let database = self.order.names().database(self.order.database().unwrap_or_default());
        let name = TableName::new(Lossy.decode(database)?, Lossy.decode(&rows.table)?).to_string();
        let file = rows.files.first().unwrap_or(&self.options.dump).display().to_string();
        let (statement, rows) = (name, rows.row_count);
        self.push_rows(DryRunStep { file, line: 1, offset: 0, what: "rows", statement, rows });
        Ok(())
    }
}

/// Rows of a run; None where one is no plain values.
pub(crate) fn count(mut run: RowRun) -> Result<Option<u64>, Error> {
    let (mut reader, mut chunk, mut batch) = (run.reader(), Chunk::default(), Batch::new());
    let mut count = 0;
    loop {
        let read = match run.next_chunk(&mut chunk) {
            Ok(true) => reader.read(&chunk, &mut batch),
            Ok(false) => return Ok(Some(count)),
            Err(error) => Err(error),
        };
        match read {
            Ok(()) => count += batch.len() as u64,
            Err(sources::Error::NotPlain { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}
