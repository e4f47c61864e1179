//! Lines that hold rows of several tables, read before a table is loaded, until it is clear which are bad.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use check::lines::{BadLine, Firsts, Gathered, LineTable, LinesCheck, LookedUp, Rule};
use encode::mapped::{Entities, Gathering, LineAt, LinePlace, Mapping, OnConflict};
use encode::rejects::Rejects;
use job::error::Error;
use job::failpoint;
use job::memory::Memory;
use job::options::{InputOptions, LoadOptions};
use job::pool;
use job::progress::Progress;
use locks::Mutex;
use server::{ConnectOptions, ServerFacts, Session};
use sources::{PositionCursor, Source, SourceExt as _};

use super::lookups::look_up;

/// Readings after which lines that contradict each other are no longer told apart.
const READINGS_MAX: usize = 20;

/// The contents of lines, and their rules.
#[derive(Clone, Debug, Default)]
pub struct LinesOf {
    /// The part of each line that goes to each table, in their order.
    pub mappings: Vec<Arc<Mapping>>,
    /// Rules for each line.
    pub rules: Vec<Rule>,
}

impl LinesOf {
    /// Refuses texts of the job file, and names of files, that would go among lines of another character set.
    ///
    /// Errors: the first of them.
    pub(super) fn check_texts(&self, input: &InputOptions) -> Result<(), Error> {
        let charset = &input.charset;
        if ["utf8mb4", "utf8mb3", "utf8"].iter().any(|utf8| utf8.eq_ignore_ascii_case(charset)) {
            return Ok(());
        }
        let names = input.files.iter().filter_map(|file| file.file_name()?.to_str());
        let has_names = self.mappings.iter().any(|mapping| mapping.has_file_name());
        let texts = self.mappings.iter().flat_map(|mapping| mapping.texts());
        let texts = texts.chain(self.rules.iter().flat_map(Rule::texts));
        match texts.chain(names.filter(|_| has_names)).find(|text| !text.is_ascii()) {
            None => Ok(()),
            Some(text) => Err(Error::Usage(format!(
                "{text:?} must be ASCII, because the file is in {charset} and the job file in UTF-8"
            ))),
        }
    }
}

/// Facts needed to read lines: the tables, and the columns that they and the rules look up.
pub(super) struct LineInputs {
    pub(super) session: Session,
    pub(super) facts: ServerFacts,
    pub(super) looked: Vec<LineTable>,
    pub(super) lookups: Vec<LookedUp>,
    /// The options of what concerns the lines.
    pub(super) options: LoadOptions,
}

impl LineInputs {
    /// Asks the server.
    ///
    /// Errors: those of [`LineTable::look`]; too much to look up in.
    pub(super) fn of(
        connect: &ConnectOptions,
        tables: &[LoadOptions],
        of: &LinesOf,
    ) -> Result<LineInputs, Error> {
        let mut session = Session::connect(connect)?;
        let facts = ServerFacts::read(&mut session)?;
        let look = |(options, mapping)| LineTable::look(&mut session, &facts, options, mapping);
        let looked =
            tables.iter().zip(&of.mappings).map(look).collect::<Result<Vec<_>, Error>>()?;
        let lookups = look_up(&mut session, &looked, &of.rules, tables)?;
        let options = LoadOptions {
            input: InputOptions {
                selection: None,
                columns: of.mappings.first().and_then(|mapping| mapping.fields.clone()),
                ..tables[0].input.clone()
            },
            ..tables[0].clone()
        };
        Ok(LineInputs { session, facts, looked, lookups, options })
    }
}

/// The parts that reading lines needs.
pub(super) struct Parts<'a> {
    pub(super) looked: &'a [LineTable],
    pub(super) lookups: &'a [LookedUp],
    pub(super) rules: &'a [Rule],
    /// True if every value is judged.
    pub(super) judges: bool,
    /// True if lines that contradict others are bad lines, whatever the tables' rules are.
    pub(super) tells_all: bool,
    pub(super) options: &'a LoadOptions,
    pub(super) memory: &'a Memory,
    pub(super) progress: &'a dyn Progress,
}

/// The contents of the lines.
pub(super) struct Read {
    pub(super) lines: u64,
    pub(super) left_out: BTreeSet<LinePlace>,
    /// Those lines, in order.
    pub(super) bad: Vec<BadLine>,
    /// True if lines behind them were not read.
    pub(super) ends_early: bool,
    /// One a table: true if a line has a row of the table.
    pub(super) has_rows: Vec<bool>,
    /// One a table: its entities, in the order of their first lines; behind those values that are unique.
    pub(super) entities: Vec<Option<Entities>>,
}

impl Parts<'_> {
    /// Reads the lines, again without those that contradict others where these are refused. Lines whose
    /// values are not judged are judged before they count as contradicted: they may be bad themselves.
    ///
    /// Errors: lines that contradict each other where that fails a load; reading.
    pub(super) fn read(
        &self,
        source: &Mutex<Box<dyn Source>>,
        session: &mut Session,
        log: &mut Rejects,
    ) -> Result<Read, Error> {
        let mut left_out = BTreeSet::new();
        let mut firsts = HashMap::new();
        let mut bad: Vec<BadLine> = Vec::new();
        let (mut judges, mut bad_bytes) = (self.judges, 0);
        for _ in 0..READINGS_MAX {
            let check = LinesCheck {
                tables: self.looked,
                lookups: self.lookups,
                rules: self.rules,
                judges,
                ends_early: self.tells_all,
                left_out: &left_out,
                bad_bytes,
                firsts: std::mem::take(&mut firsts),
                options: self.options,
                memory: self.memory,
                progress: self.progress,
            };
            let gathered = check.gather(source, session)?;
            let Gathered { entities, has_rows, lines, .. } = gathered;
            bad_bytes = gathered.bad_bytes;
            left_out.extend(gathered.bad.iter().map(|line| line.place));
            bad.extend(gathered.bad);
            let is_over = gathered.ends_early || bad.len() as u64 > self.options.rows.rejects_max;
            let finish = |all: Option<Gathering>| {
                failpoint::hit("thread.entities");
                all.map(Gathering::finish)
            };
            let entities = pool::map(self.memory.threads, entities, finish)?;
            let others = match is_over {
                true => Ok(Firsts::new()),
                false => self.contradicted(&entities),
            };
            if !judges && !others.as_ref().is_ok_and(Firsts::is_empty) {
                judges = true;
                restart(source)?;
                continue;
            }
            firsts = others?;
            if is_over || firsts.is_empty() {
                bad.sort_by_key(|line| line.place);
                bad.iter().try_for_each(|line| log.push(&line.reject))?;
                log.flush()?;
                return Ok(Read { lines, left_out, bad, ends_early: is_over, has_rows, entities });
            }
            restart(source)?;
        }
        Err(Error::Usage(format!(
            "after {READINGS_MAX} readings there are still lines with different values for one \
             row: choose with on_conflict = \"first\" or \"last\""
        )))
    }

    /// The first line of each entity that lines contradict each other about, if the others are
    /// refused; the first lines of values that break uniqueness.
    ///
    /// Errors: lines that say different things where they fail the load.
    fn contradicted(&self, entities: &[Option<Entities>]) -> Result<Firsts, Error> {
        let mut firsts = Firsts::new();
        for (at, all) in entities.iter().enumerate() {
            let Some(all) = all else { continue };
            let table = self.looked.get(at);
            let entity = table.and_then(|table| table.mapping.entity.as_ref());
            match entity.map_or(OnConflict::Reject, |entity| entity.on_conflict) {
                OnConflict::First | OnConflict::Last => continue,
                OnConflict::Fail if !self.tells_all => {
                    let first = all.contradicted().min_by_key(|(_, _, other)| *other);
                    if let (Some(table), Some((_, said, other))) = (table, first) {
                        return Err(self.conflict(table, said.first, other));
                    }
                }
                OnConflict::Fail | OnConflict::Reject => {
                    let of: HashMap<Box<[u8]>, u64> = all
                        .contradicted()
                        .map(|(number, said, _)| (all.key(number).into(), said.digest))
                        .collect();
                    if !of.is_empty() {
                        firsts.insert(at, of);
                    }
                }
            }
        }
        Ok(firsts)
    }

    fn conflict(&self, table: &LineTable, first: LineAt, other: LineAt) -> Error {
        let place = |line: LineAt| {
            let file = self.options.input.files.get(line.file as usize);
            let name = file.map(|file| file.display().to_string()).unwrap_or_default();
            let is_row = line.offset & PositionCursor::NUMBERED != 0;
            format!("{name} {} {}", if is_row { "row" } else { "line" }, line.line)
        };
        Error::Conflict {
            target: table.table.name.to_string(),
            first: place(first),
            other: place(other),
        }
    }
}

fn restart(source: &Mutex<Box<dyn Source>>) -> Result<(), Error> {
    let mut source = source.lock();
    Ok(source.restart()?)
}
