//! Files of typed columns as a source: chunks are some rows of a part of a file.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_schema::{Field, FieldRef, SchemaRef};
use sources::batch::{Cells, LineForm, TypedColumn};
use sources::json::{FieldValues, ObjectForm};
use sources::{
    Batch, Chunk, ColumnKind, Error, FoundInput, InputFacts, InputFile, KeptPipes, Key, LineFields,
    MissingValue, ReadAs, Reader, Result, Source, Start, remote,
};
use values::SqlType;

use crate::cells;
use crate::file::{Part, VALUES_MAX};
use crate::fit::{self, Class, class};
use crate::guard::{Problem, guard};
use crate::kind::Kind;
use crate::options::{ColumnMatching, ColumnarOptions};
use crate::parts::{self, PartKey};
use crate::room::Room;
use crate::shared::{FILES_OPEN_MAX, OpenFile, Shared};

/// Least memory for decoding, as a part of what there may be.
const ROOM_SHARE: u64 = 8;

/// Memory for ranges that are on their way, as a part of what there may be, and at most.
const AHEAD_SHARE: u64 = 4;
const AHEAD_BYTES_MAX: u64 = 128 << 20;

/// Room that rows take as lines: their texts, values for columns, and the typed rows themselves.
const LINE_COPIES: u64 = 3;

/// The uses of a file's columns.
#[derive(Debug, Default)]
struct Projection {
    /// Columns of the input that are read, ascending.
    columns: Vec<usize>,
    /// For each field of a row: its place among those, and the type of the column that it goes to, if known;
    /// None for a field that is left out.
    fields: Vec<Option<(usize, Option<SqlType>)>>,
}

impl Projection {
    /// The uses of the columns; nothing is left out where the columns of the table are not known.
    fn new(shared: &Shared, types: &[Option<SqlType>]) -> Result<Projection> {
        let schema = shared.schema()?;
        let fields = schema.fields();
        if types.is_empty() {
            let columns: Vec<usize> = (0..fields.len()).collect();
            let fields = columns.iter().map(|at| Some((*at, None))).collect();
            return Ok(Projection { columns, fields });
        }
        if types.len() != fields.len() {
            return Err(shared.error(
                0,
                String::new(),
                format!("it has {} columns, and {} are named", fields.len(), types.len()),
            ));
        }
        let mut projection = Projection::default();
        for (at, sql_type) in types.iter().enumerate() {
            let Some(sql_type) = sql_type else {
                projection.fields.push(None);
                continue;
            };
            check_fit(shared, &fields[at], sql_type)?;
            projection.fields.push(Some((projection.columns.len(), Some(sql_type.clone()))));
            projection.columns.push(at);
        }
        Ok(projection)
    }

    /// The texts of fields of lines, and behind them the values for columns.
    fn of_lines(shared: &Shared, lines: &LineFields) -> Result<Projection> {
        let schema = shared.schema()?;
        if schema.fields().len() != lines.names.len() {
            let (has, named) = (schema.fields().len(), lines.names.len());
            let problem = format!("it has {has} columns, and {named} are named");
            return Err(shared.error(0, String::new(), problem));
        }
        let mut is_read = lines.has_text.clone();
        for value in &lines.values {
            check_fit(shared, &schema.fields()[value.field], &value.sql_type)?;
            is_read[value.field] = true;
        }
        let columns: Vec<usize> = (0..is_read.len()).filter(|at| is_read[*at]).collect();
        let place = |field: usize| columns.binary_search(&field).ok();
        let texts = lines.has_text.iter().enumerate();
        let texts = texts.map(|(at, has_text)| Some((place(at).filter(|_| *has_text)?, None)));
        let values = lines.values.iter();
        let values = values.map(|it| Some((place(it.field)?, Some(it.sql_type.clone()))));
        let fields = texts.chain(values).collect();
        Ok(Projection { columns, fields })
    }
}

/// Refuses a column of a table that cannot take the values of a field.
fn check_fit(shared: &Shared, field: &FieldRef, sql_type: &SqlType) -> Result<()> {
    fit::check(field, sql_type)
        .map_err(|problem| shared.error(0, format!(", column `{}`", field.name()), problem))
}

/// Files of typed columns, one after the other.
pub(crate) struct ColumnarSource {
    facts: InputFacts,
    shared: Arc<Shared>,
    projection: Arc<Projection>,
    /// The form of rows that are written down.
    form: Option<Arc<dyn LineForm>>,
    /// The file, the part of it and the row of that, which come next.
    file: u32,
    part: usize,
    row: u64,
    /// Rows of the file before the part.
    rows_before: u64,
    /// Bytes of the files before, and of the parts before.
    bytes_before: u64,
    part_start: u64,
    ordinal: u64,
}

/// The part of the memory for ranges of objects on other machines that are on their way.
fn ahead_bytes(files: &[FoundInput], memory_bytes: u64) -> u64 {
    let is_remote = files.iter().any(|file| remote::has_ranges(file.path()));
    if is_remote { (memory_bytes / AHEAD_SHARE).min(AHEAD_BYTES_MAX) } else { 0 }
}

/// The note about a file with a stream of Arrow that has no end marker, as some programs write them, and as all that
/// die leave them.
fn end_note(file: &FoundInput) -> Option<String> {
    let (bytes, input) = (file.bytes()?, file.open().ok()?);
    let (mut start, mut end) = ([0; 6], [0; 8]);
    let is_file = input.read_at(0, &mut start).ok()? < start.len() || &start == b"ARROW1";
    input.read_at(bytes.checked_sub(end.len() as u64)?, &mut end).ok()?;
    // Streams of before 2019 have no such word before each length. Zeros alone end the values of a batch, too.
    const WORD: [u8; 4] = [0xff; 4];
    let is_ended = end[4..] == [0; 4] && (start[..4] != WORD || end[..4] == WORD);
    (!is_file && !is_ended).then(|| {
        format!(
            "{} ends without the end marker of an Arrow stream: rows are missing if its writer was stopped",
            file.path().display()
        )
    })
}

impl ColumnarSource {
    /// A source over these files, in this order, which are of this kind.
    ///
    /// Errors: a path that is missing or a directory; files that are damaged or have different columns. Pipes are
    /// examined when they are read.
    pub(crate) fn new(
        kind: Kind,
        paths: &[std::path::PathBuf],
        options: ColumnarOptions,
    ) -> Result<ColumnarSource> {
        let ColumnarOptions { memory_bytes, temp_dir, below, kept, .. } = &options;
        let files = FoundInput::find(paths, below.as_deref(), kept, temp_dir)?;
        let file =
            |input: &FoundInput| InputFile { path: input.path().to_owned(), bytes: input.bytes() };
        let inputs = files.iter().map(file).collect();
        let notes = match kind {
            Kind::Arrow => files.iter().filter_map(end_note).collect(),
            Kind::Parquet | Kind::Excel => Vec::new(),
        };
        let ahead = ahead_bytes(&files, *memory_bytes);
        let memory_bytes = *memory_bytes - ahead;
        // Each open file has a part of it.
        let of_file = ahead as usize / files.len().clamp(1, FILES_OPEN_MAX);
        files.iter().for_each(|file| file.prepare(of_file, &options.stop));
        let options = ColumnarOptions { memory_bytes, ..options };
        let shared = Shared::new(kind, files, &options);
        let needed = shared.open_all()?.saturating_mul(parts::OPEN_MAX as u64);
        let room = needed.clamp(memory_bytes / ROOM_SHARE, memory_bytes);
        let facts = InputFacts {
            has_header: true,
            makes_lines: true,
            notes,
            held_bytes: room + ahead,
            ..InputFacts::new(inputs, words(kind, &options))
        };
        Ok(ColumnarSource::of(facts, shared.with_room(Room::new(room))))
    }

    fn of(facts: InputFacts, shared: Shared) -> ColumnarSource {
        ColumnarSource {
            facts,
            shared: Arc::new(shared),
            projection: Arc::default(),
            form: None,
            file: 0,
            part: 0,
            row: 0,
            rows_before: 0,
            bytes_before: 0,
            part_start: 0,
            ordinal: 0,
        }
    }

    /// The columns of the first file.
    ///
    /// Errors: reading it.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        self.shared.schema()
    }

    /// Reads only some columns, and the others as NULL.
    pub(crate) fn read_only(&mut self, is_read: &[bool]) {
        let mut projection = Projection::default();
        for (at, _) in is_read.iter().enumerate().filter(|(_, is_read)| **is_read) {
            projection.columns.push(at);
        }
        let place = |at: usize| projection.columns.binary_search(&at).ok();
        let fields = (0..is_read.len()).map(|at| Some((place(at)?, None)));
        projection.fields = fields.collect();
        self.projection = Arc::new(projection);
    }

    /// The files, to look at all of their cells.
    #[cfg(feature = "excel")]
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The pipes among its files, whose bytes were read.
    pub(crate) fn kept(&self) -> KeptPipes {
        let mut kept = KeptPipes::default();
        self.shared.files.iter().for_each(|file| file.keep(&mut kept));
        kept
    }

    /// An error of a column of the first file.
    pub(crate) fn column_error(&self, name: &str, problem: Problem) -> Error {
        self.shared.error(0, format!(", column `{name}`"), problem)
    }

    /// The part at hand; None at the end of the last file.
    fn current(&mut self) -> Result<Option<Part>> {
        while (self.file as usize) < self.shared.files.len() {
            self.shared.check_stop(&self.facts.given_up, self.file)?;
            let open = self.shared.open(self.file)?;
            let columns = self.shared.columns_of(&open, self.file, &self.projection.columns)?;
            let columns: Vec<usize> = columns.into_iter().flatten().collect();
            let part = open.file.part(self.part, &columns);
            let part = part.map_err(|problem| {
                let place = format!(", {} {}", open.file.part_name(), self.part + 1);
                self.shared.error(self.file, place, problem)
            })?;
            match part {
                Some(part) if self.row < part.rows => return Ok(Some(part)),
                Some(part) => {
                    self.part += 1;
                    self.rows_before += part.rows;
                    self.part_start = part.end;
                }
                None => {
                    self.file += 1;
                    self.part = 0;
                    self.rows_before = 0;
                    self.bytes_before += std::mem::take(&mut self.part_start);
                }
            }
            self.row = 0;
        }
        Ok(None)
    }

    /// Fields of moments that go to a DATETIME; of lines, values of moments for one.
    fn utc_fields(&self, read_as: &ReadAs) -> Result<Vec<usize>> {
        if read_as.columns.is_empty() && read_as.lines.is_none() {
            return Ok(Vec::new());
        }
        let schema = self.shared.schema()?;
        let is_utc = |field: &FieldRef, column: Option<&SqlType>| {
            let is_datetime = matches!(column, Some(SqlType::DateTime { .. }));
            is_datetime && class(field) == Ok(Class::Moment)
        };
        let is_utc: Vec<bool> = match &read_as.lines {
            Some(lines) => {
                let field = |field: usize| &schema.fields()[field];
                let values = lines.values.iter();
                values.map(|it| is_utc(field(it.field), Some(&it.sql_type))).collect()
            }
            None => {
                let fields = schema.fields().iter().zip(&read_as.columns);
                fields.map(|(field, column)| is_utc(field, column.as_ref())).collect()
            }
        };
        Ok((0..is_utc.len()).filter(|at| is_utc[*at]).collect())
    }

    /// The form of lines as objects of the fields that are read, each once.
    fn line_form(&self, lines: &LineFields, read_as: &ReadAs) -> Result<ObjectForm> {
        let schema = self.shared.schema()?;
        let texts = lines.has_text.iter().enumerate().map(|(field, has_text)| {
            // Only the kinds of values differ here.
            let sql_type = match fit::is_bytes(schema.field(field)) {
                true => SqlType::VarBinary { bytes: 0 },
                false => SqlType::Integer { bytes: 8, unsigned: false },
            };
            (field, has_text.then_some(sql_type), ColumnKind::Values)
        });
        let values = lines.values.iter().enumerate().map(|(at, value)| {
            let is_again = lines.has_text[value.field]
                || lines.values[..at].iter().any(|before| before.field == value.field);
            (value.field, (!is_again).then(|| value.sql_type.clone()), value.takes)
        });
        let (mut keys, mut columns, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
        for (field, sql_type, takes) in texts.chain(values) {
            let name = lines.names[field].clone().into_bytes();
            keys.push(Key { name, pointer: None, takes, absent: MissingValue::Null });
            columns.push(sql_type);
            kinds.push(field_values(schema.field(field)));
        }
        Ok(ObjectForm::new(&keys, &columns, &read_as.time_zone, |at| kinds[at]))
    }

    /// The form of rows as objects, where names and columns of fields are known.
    fn form(&self, read_as: &ReadAs) -> Result<Option<ObjectForm>> {
        let ReadAs { keys, columns, time_zone, .. } = read_as;
        if let Some(lines) = &read_as.lines {
            return self.line_form(lines, read_as).map(Some);
        }
        if keys.is_empty() || keys.len() != columns.len() {
            return Ok(None);
        }
        let schema = self.shared.schema()?;
        let values =
            |at: usize| schema.fields().get(at).map_or(FieldValues::Others, |it| field_values(it));
        Ok(Some(ObjectForm::new(keys, columns, time_zone, values)))
    }

    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let Some(part) = self.current()? else {
            let read = self.facts.bytes_total.unwrap_or(self.bytes_before);
            self.facts.bytes_read.store(read, Ordering::Relaxed);
            return Ok(false);
        };
        let mut bytes = self.facts.read_as.chunk_bytes as u64;
        if self.facts.read_as.lines.is_some() {
            bytes /= LINE_COPIES;
        }
        let mut rows_max = (VALUES_MAX / (self.projection.columns.len() as u64).max(1)).max(1);
        let rows = (bytes / part.row_bytes.max(1)).min(rows_max).max(1).min(part.rows - self.row);
        chunk.ordinal = self.ordinal;
        chunk.file = self.file;
        chunk.first_record = Some(part.first_row.unwrap_or(self.rows_before) + self.row);
        let (open, first) = (self.shared.open(self.file)?, self.part);
        self.take(chunk, &part, rows);
        // Parts of few rows share a chunk: each chunk is a transaction, or fills pages of its own.
        let (mut part, mut last, mut rows) = (part, first, rows);
        while self.row == part.rows && open.file.has_alike_parts() {
            bytes = bytes.saturating_sub(rows.saturating_mul(part.row_bytes));
            rows_max = rows_max.saturating_sub(rows);
            let is_room = |next: &Part| {
                next.rows <= rows_max && next.rows.saturating_mul(next.row_bytes) <= bytes
            };
            let next = self.current()?.filter(is_room).filter(|_| self.file == chunk.file);
            let Some(next) = next else { break };
            (part, last, rows) = (next, self.part, next.rows);
            self.take(chunk, &part, rows);
        }
        chunk.part = Some(open.place_of(first, last));
        self.ordinal += 1;
        let of_part = (part.end.saturating_sub(self.part_start) as f64
            * (self.row as f64 / part.rows as f64)) as u64;
        let read = self.bytes_before + self.part_start + of_part;
        self.facts.bytes_read.store(read, Ordering::Relaxed);
        Ok(true)
    }
}

impl ColumnarSource {
    /// Takes rows of the part at hand into a chunk.
    fn take(&mut self, chunk: &mut Chunk, part: &Part, rows: u64) {
        for number in [self.part as u64, self.row, rows, part.fingerprint] {
            chunk.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.row += rows;
    }
}

impl Source for ColumnarSource {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn begin(&mut self, read_as: ReadAs) -> Result<()> {
        read_as.check_no_formats()?;
        if let Some(lines) = &read_as.lines {
            self.projection = Arc::new(Projection::of_lines(&self.shared, lines)?);
            self.shared.check_columns(&self.projection.columns)?;
        } else if !read_as.columns.is_empty() {
            self.projection = Arc::new(Projection::new(&self.shared, &read_as.columns)?);
            self.shared.check_columns(&self.projection.columns)?;
        }
        self.form = self.form(&read_as)?.map(|form| Arc::new(form) as Arc<dyn LineForm>);
        self.facts.utc_fields = self.utc_fields(&read_as)?;
        self.facts.begin(read_as);
        (self.file, self.part, self.row, self.rows_before) = (0, 0, 0, 0);
        (self.bytes_before, self.part_start, self.ordinal) = (0, 0, 0);
        Ok(())
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear();
        if self.projection.fields.is_empty() {
            self.projection = Arc::new(Projection::new(&self.shared, &[])?);
        }
        let filled = self.fill(chunk);
        if filled.is_err() {
            self.file = self.shared.files.len() as u32;
        }
        filled
    }

    fn reader(&self) -> Box<dyn Reader> {
        let (shared, projection) = (Arc::clone(&self.shared), Arc::clone(&self.projection));
        let line_width = self.facts.read_as.lines.as_ref().map(|lines| lines.names.len());
        Box::new(ColumnReader { shared, projection, form: self.form.clone(), line_width })
    }

    fn start(&mut self) -> Result<Start> {
        let schema = self.shared.schema()?;
        let mut fields = schema.fields().iter();
        self.facts.has_moments = fields.any(|field| class(field) == Ok(Class::Moment));
        let names = schema.fields().iter().map(|field| field.name().clone().into_bytes());
        Ok(Start { names: Some(names.collect()), text: Vec::new() })
    }

    fn again(&self) -> Option<Box<dyn Source>> {
        let mut source = ColumnarSource::of(self.facts.of_another(), self.shared.again());
        source.projection = Arc::clone(&self.projection);
        source.form.clone_from(&self.form);
        Some(Box::new(source))
    }
}

/// Decodes the rows of chunks.
struct ColumnReader {
    shared: Arc<Shared>,
    projection: Arc<Projection>,
    form: Option<Arc<dyn LineForm>>,
    /// Number of fields, if rows are read as lines.
    line_width: Option<usize>,
}

impl ColumnReader {
    fn columns(&self, open: &OpenFile, chunk: &Chunk) -> Result<Vec<TypedColumn>> {
        let file = chunk.file;
        let name = chunk.part.as_ref().map_or("", |part| part.name.as_str());
        let wanted = open.columns(&self.projection.columns);
        let mut ascending: Vec<usize> = wanted.iter().copied().flatten().collect();
        ascending.sort_unstable();
        // Columns of the input may be one of the file.
        ascending.dedup();
        let shared = &self.shared;
        let bytes_max = shared.parts.room().bytes();
        let (mut parts, mut rows_read) = (Vec::new(), 0);
        for [part, row, rows, _] in places_of(&chunk.bytes) {
            let key = PartKey { file, part: part as usize, columns: ascending.clone() };
            let decoded = shared.parts.read(&key, &*open.file, row..row + rows);
            let of_part = || format!(", {} {}", open.file.part_name(), part + 1);
            parts.push(decoded.map_err(|problem| shared.error(file, of_part(), problem))?);
            rows_read += rows;
        }
        let decoded = match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => guard(|| cells::joined(parts, bytes_max)),
        };
        let decoded =
            decoded.map_err(|problem| shared.error(file, format!(", {name}"), problem))?;
        let column = |field: &Option<(usize, Option<SqlType>)>| {
            let place = field.as_ref().and_then(|(at, sql_type)| Some((wanted[*at]?, sql_type)));
            let Some((column, sql_type)) = place else {
                return Ok(TypedColumn::from(Cells::Null(rows_read as usize)));
            };
            let field = open.file.schema().field(column);
            let column = ascending.binary_search(&column).ok().and_then(|at| decoded.get(at));
            let cells = guard(|| {
                let column = column.ok_or_else(|| Problem::from("it was not decoded"))?;
                cells::column(column, field, sql_type.as_ref(), bytes_max)
            });
            cells.map_err(|problem| {
                let place = format!(", {name}, column `{}`", field.name());
                shared.error(file, place, problem)
            })
        };
        self.projection.fields.iter().map(column).collect()
    }
}

impl Reader for ColumnReader {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        let rows: u64 = places_of(&chunk.bytes).map(|[_, _, rows, _]| rows).sum();
        if rows == 0 {
            return Err(Error::Sorted("a chunk of typed rows has no place in its file".to_owned()));
        }
        if self.projection.fields.is_empty() {
            self.projection = Arc::new(Projection::new(&self.shared, &[])?);
        }
        let open = self.shared.open(chunk.file)?;
        let columns = self.columns(&open, chunk);
        // A file that changed meanwhile is the reason for whatever was found in it.
        open.file.check_unchanged()?;
        batch.typed().replace(rows as usize, columns?);
        batch.typed().set_form(self.form.clone());
        if let Some(width) = self.line_width {
            batch.make_lines(width)?;
        }
        Ok(())
    }
}

/// The values of a field, as far as objects differ by them.
fn field_values(field: &Field) -> FieldValues {
    match class(field) {
        _ if fit::is_bytes(field) => FieldValues::Bytes,
        Ok(Class::Nested) => FieldValues::Documents,
        _ => FieldValues::Others,
    }
}

/// All that decides which rows come of files.
fn words(kind: Kind, options: &ColumnarOptions) -> String {
    let how = match options.matching {
        ColumnMatching::ByName | ColumnMatching::ByNameOfTable => "",
        ColumnMatching::ByNameOrNull => ", missing columns NULL",
        ColumnMatching::ByPosition => ", columns by position",
    };
    let sheet = match (kind, &options.sheet) {
        (Kind::Excel, sheet) => format!(" {sheet:?}"),
        _ => String::new(),
    };
    format!("{} files{how}{sheet}", kind.name())
}

/// The parts of a chunk: part, first row and number of rows, and the part's fingerprint.
fn places_of(bytes: &[u8]) -> impl Iterator<Item = [u64; 4]> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (places, _) = numbers.as_chunks::<4>();
    places.iter().map(|place| place.map(u64::from_le_bytes))
}
