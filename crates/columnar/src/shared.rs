//! State that a source and its readers share: the files, those that are open, and their common columns.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use face::option::MISSING_NULL;
use locks::Mutex;
use sources::{Error, FoundInput, PartPlace, Result, at_once};

use crate::arrow_file::ArrowFile;
#[cfg(feature = "excel")]
use crate::excel::ExcelFile;
use crate::file::TypedFile;
use crate::guard::Problem;
use crate::kind::Kind;
use crate::options::{ColumnMatching, ColumnarOptions, SheetOptions};
use crate::parquet_file::ParquetFile;
use crate::parts::Parts;
use crate::room::Room;

/// Files that stay open: the one at hand, and those that readers still read.
pub(crate) const FILES_OPEN_MAX: usize = 4;
/// The part of the memory for descriptions of files that were closed.
const CLOSED_SHARE: u64 = 32;
/// Files whose columns are in memory at once while those of all files are gathered.
const SCHEMAS_MAX: usize = 64;
/// Sheets of workbooks that stay in memory, and the part of the memory for each.
const SHEETS_OPEN_MAX: usize = 2;
const SHEET_SHARE: u64 = 4;

/// The files, and those that are open.
pub(crate) struct Shared {
    pub(crate) kind: Kind,
    pub(crate) files: Vec<FoundInput>,
    pub(crate) matching: ColumnMatching,
    pub(crate) sheet: SheetOptions,
    /// Memory for all that is read.
    pub(crate) memory_bytes: u64,
    pub(crate) parts: Parts,
    /// The columns of the input: those of the first file, or of all files that are not pipes.
    schema: OnceLock<SchemaRef>,
    known: Mutex<KnownFiles>,
    pub(crate) stop: Arc<AtomicBool>,
}

/// The files whose descriptions are in memory: those that are open, the oldest first, and those that were closed.
#[derive(Clone, Default)]
struct KnownFiles {
    open: Vec<(u32, Arc<OpenFile>)>,
    closed: BTreeMap<u32, (Arc<OpenFile>, u64)>,
    closed_bytes: u64,
}

impl KnownFiles {
    /// The file of this index, open from now on.
    fn find(&mut self, index: u32, limits: Limits) -> Option<Arc<OpenFile>> {
        if let Some((_, file)) = self.open.iter().find(|(at, _)| *at == index) {
            return Some(Arc::clone(file));
        }
        let (file, bytes) = self.closed.remove(&index)?;
        self.closed_bytes -= bytes;
        self.push(index, Arc::clone(&file), limits);
        Some(file)
    }

    /// Adds an open file. Of those that nobody reads the oldest is closed if there are too many; its description stays
    /// if there is room for it.
    fn push(&mut self, index: u32, file: Arc<OpenFile>, limits: Limits) {
        while self.open.len() >= limits.open
            && let Some(at) = self.open.iter().position(|(_, file)| Arc::strong_count(file) == 1)
        {
            let (index, file) = self.open.remove(at);
            let bytes = file.file.description_bytes();
            if let Some(bytes) = bytes.filter(|it| self.closed_bytes + it <= limits.closed_bytes) {
                file.file.close();
                self.closed_bytes += bytes;
                self.closed.insert(index, (file, bytes));
            }
        }
        self.open.push((index, file));
    }
}

/// Limits of the files whose descriptions are in memory.
#[derive(Clone, Copy)]
struct Limits {
    open: usize,
    closed_bytes: u64,
}

/// An open file.
pub(crate) struct OpenFile {
    pub(crate) file: Box<dyn TypedFile>,
    /// The column of this file that each of the input's is; None for one that it lacks.
    columns: Vec<Option<usize>>,
    /// The place of all parts of a sheet.
    sheet: Option<Arc<PartPlace>>,
}

impl OpenFile {
    fn new(file: Box<dyn TypedFile>, columns: Vec<Option<usize>>) -> OpenFile {
        let PartPlace { name, cells } = file.place(0);
        // Fields of rows are columns of the input.
        let sheet = cells.map(|own| {
            let cell = |column: &Option<usize>| own.get((*column)?)?.clone();
            Arc::new(PartPlace { name, cells: Some(columns.iter().map(cell).collect()) })
        });
        OpenFile { file, columns, sheet }
    }

    /// The place of a part, as positions of its rows have it.
    pub(crate) fn place(&self, part: usize) -> Arc<PartPlace> {
        self.sheet.clone().unwrap_or_else(|| Arc::new(self.file.place(part)))
    }

    /// The place of rows that are in several parts.
    pub(crate) fn place_of(&self, first: usize, last: usize) -> Arc<PartPlace> {
        if first == last {
            return self.place(first);
        }
        let one = self.file.part_name();
        let plural = if one.ends_with('h') { "es" } else { "s" };
        let name = format!("{one}{plural} {} to {}", first + 1, last + 1);
        Arc::new(PartPlace { name, cells: None })
    }

    /// The columns of this file that some of the input's are; None for one that it lacks.
    pub(crate) fn columns(&self, of_input: &[usize]) -> Vec<Option<usize>> {
        of_input.iter().map(|column| self.columns[*column]).collect()
    }
}

impl Shared {
    pub(crate) fn new(kind: Kind, files: Vec<FoundInput>, options: &ColumnarOptions) -> Shared {
        let ColumnarOptions { matching, sheet, memory_bytes, stop, .. } = options;
        Shared {
            kind,
            files,
            matching: *matching,
            sheet: sheet.clone(),
            memory_bytes: *memory_bytes,
            parts: Parts::new(Room::new(0)),
            schema: OnceLock::new(),
            known: Mutex::default(),
            stop: Arc::clone(stop),
        }
    }

    /// The same with room for parts; what is open stays open.
    pub(crate) fn with_room(self, room: Room) -> Shared {
        Shared { parts: Parts::new(room), ..self }
    }

    /// Another one of the same files, with room of its own.
    pub(crate) fn again(&self) -> Shared {
        let known = match self.kind {
            Kind::Excel => self.known.lock().clone(),
            Kind::Parquet | Kind::Arrow => KnownFiles::default(),
        };
        Shared {
            kind: self.kind,
            files: self.files.clone(),
            matching: self.matching,
            sheet: self.sheet.clone(),
            memory_bytes: self.memory_bytes,
            parts: Parts::new(Room::new(self.parts.room().bytes())),
            schema: self.schema.clone(),
            known: Mutex::new(known),
            stop: Arc::clone(&self.stop),
        }
    }

    fn limits(&self) -> Limits {
        let open = if self.kind == Kind::Excel { SHEETS_OPEN_MAX } else { FILES_OPEN_MAX };
        Limits { open, closed_bytes: self.memory_bytes / CLOSED_SHARE }
    }

    /// The columns of the input.
    ///
    /// Errors: opening files; a column that has different types in two of them.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        if let Some(schema) = self.schema.get() {
            return Ok(Arc::clone(schema));
        }
        if !self.matching.allows_missing() {
            return Ok(Arc::clone(self.open(0)?.file.schema()));
        }
        let mut schema = Arc::clone(self.open_new(0)?.schema());
        let of_other = |index: &u32| self.open_new(*index).map(|file| Arc::clone(file.schema()));
        for others in self.others().collect::<Vec<_>>().chunks(SCHEMAS_MAX) {
            for other in self.each_of(others, of_other)? {
                schema = with_columns(&schema, &other);
            }
        }
        let schema = self.with_types(schema)?;
        Ok(Arc::clone(self.schema.get_or_init(|| schema)))
    }

    /// Files behind the first that are no pipes.
    fn others(&self) -> impl Iterator<Item = u32> {
        (1..self.files.len())
            .filter(|index| self.files[*index].bytes().is_some())
            .map(|index| index as u32)
    }

    /// The columns, of which those without a value in the first file have the type of another file.
    fn with_types(&self, mut schema: SchemaRef) -> Result<SchemaRef> {
        for index in self.others() {
            if !schema.fields().iter().any(|field| is_null(field)) {
                break;
            }
            schema = with_types(&schema, self.open_new(index)?.schema(), self.matching);
        }
        Ok(schema)
    }

    /// The file of this index, opened if it is not.
    ///
    /// Errors: opening; a file that is damaged, or has other columns than the input.
    pub(crate) fn open(&self, index: u32) -> Result<Arc<OpenFile>> {
        if index > 0 || self.matching.allows_missing() {
            self.schema()?;
        }
        let mut known = self.known.lock();
        if let Some(file) = known.find(index, self.limits()) {
            return Ok(file);
        }
        let file = Arc::new(self.open_checked(index)?);
        known.push(index, Arc::clone(&file), self.limits());
        Ok(file)
    }

    /// Opens the files that are no pipes, several at a time; a few stay open. Gives the most memory that reading one of
    /// them takes.
    ///
    /// Errors: as [`Shared::open`].
    pub(crate) fn open_all(&self) -> Result<u64> {
        let is_file = |index: &u32| self.files[*index as usize].bytes().is_some();
        let indexes: Vec<u32> = (0..self.files.len() as u32).filter(is_file).collect();
        if indexes.is_empty() {
            return Ok(0);
        }
        self.schema()?;
        let bytes = |index: &u32| {
            let known = self.known.lock().find(*index, self.limits());
            let (file, is_new) = match known {
                Some(file) => (file, false),
                None => (Arc::new(self.open_checked(*index)?), true),
            };
            let bytes = file.file.reader_bytes();
            if is_new {
                self.known.lock().push(*index, file, self.limits());
            }
            bytes.map_err(|problem| self.error(*index, String::new(), problem))
        };
        Ok(self.each_of(&indexes, bytes)?.into_iter().max().unwrap_or_default())
    }

    /// The results of work on these files, several at a time.
    fn each_of<R: Send>(
        &self,
        indexes: &[u32],
        work: impl Fn(&u32) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let failed =
            || self.error(0, String::new(), "opening files: a thread has failed".to_owned());
        // Sheets are as large as memory allows.
        let threads = if self.kind == Kind::Excel { 1 } else { FILES_OPEN_MAX };
        at_once(threads, indexes, work, failed)
    }

    fn open_checked(&self, index: u32) -> Result<OpenFile> {
        let file = self.open_new(index)?;
        let schema = match self.schema.get() {
            Some(schema) => Arc::clone(schema),
            None => {
                let schema = self.with_types(Arc::clone(file.schema()))?;
                Arc::clone(self.schema.get_or_init(|| schema))
            }
        };
        let columns = columns(&schema, file.schema(), self.matching);
        let columns = columns.map_err(|problem| self.error(index, String::new(), problem))?;
        Ok(OpenFile::new(file, columns))
    }

    /// The places of some of the input's columns in a file, as [`OpenFile::columns`].
    ///
    /// Errors: a column that it lacks and may not lack.
    pub(crate) fn columns_of(
        &self,
        open: &OpenFile,
        index: u32,
        of_input: &[usize],
    ) -> Result<Vec<Option<usize>>> {
        let columns = open.columns(of_input);
        let missing = columns.iter().position(Option::is_none);
        match missing.filter(|_| self.matching == ColumnMatching::ByNameOfTable) {
            None => Ok(columns),
            Some(at) => {
                let schema = self.schema()?;
                let problem = lacks(schema.field(of_input[at]).name());
                Err(self.error(index, String::new(), problem))
            }
        }
    }

    /// Checks that all files, pipes left out, have these columns of the input.
    ///
    /// Errors: a file that lacks one of them.
    pub(crate) fn check_columns(&self, of_input: &[usize]) -> Result<()> {
        if self.matching != ColumnMatching::ByNameOfTable {
            return Ok(());
        }
        let indexes = self.files.iter().zip(0..).filter(|(file, _)| file.bytes().is_some());
        for (_, index) in indexes {
            self.columns_of(&*self.open(index)?, index, of_input)?;
        }
        Ok(())
    }

    fn open_new(&self, index: u32) -> Result<Box<dyn TypedFile>> {
        let found = &self.files[index as usize];
        let file: Result<Box<dyn TypedFile>, Problem> = match self.kind {
            Kind::Parquet => ParquetFile::open(found)?.map(|file| Box::new(file) as _),
            Kind::Arrow => ArrowFile::open(found)?.map(|file| Box::new(file) as _),
            Kind::Excel => open_sheet(found, &self.sheet, self.memory_bytes / SHEET_SHARE)?,
        };
        let file = file.and_then(|file| match file.schema().fields().is_empty() {
            true => Err("it has no columns".to_owned()),
            false => Ok(file),
        });
        file.map_err(|problem| self.error(index, String::new(), problem))
    }

    /// An error in a file.
    pub(crate) fn error(&self, index: u32, place: String, problem: Problem) -> Error {
        let path = self.files.get(index as usize).map(|file| file.path().to_owned());
        Error::Columns { path: path.unwrap_or_default(), place, problem }
    }

    /// Refuses to go on where somebody wants the end.
    pub(crate) fn check_stop(&self, given_up: &AtomicBool, index: u32) -> Result<()> {
        if !self.stop.load(Ordering::Relaxed) && !given_up.load(Ordering::Relaxed) {
            return Ok(());
        }
        let path = self.files.get(index as usize).map(|file| file.path().to_owned());
        Err(Error::Stopped { path: path.unwrap_or_default() })
    }
}

#[cfg(feature = "excel")]
fn open_sheet(
    found: &FoundInput,
    sheet: &SheetOptions,
    memory_bytes: u64,
) -> Result<Result<Box<dyn TypedFile>, Problem>> {
    let file = ExcelFile::open(found, sheet, memory_bytes)?;
    Ok(file.map(|file| Box::new(file) as _))
}

#[cfg(not(feature = "excel"))]
fn open_sheet(
    _: &FoundInput,
    _: &SheetOptions,
    _: u64,
) -> Result<Result<Box<dyn TypedFile>, Problem>> {
    Ok(Err("this program was built without support for Excel files".to_owned()))
}

/// The columns of a schema, and those of another file that it lacks.
fn with_columns(schema: &SchemaRef, other: &SchemaRef) -> SchemaRef {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    let lacks = |field: &&FieldRef| schema.fields().find(field.name()).is_none();
    fields.extend(other.fields().iter().filter(lacks).cloned());
    Arc::new(Schema::new(fields))
}

/// The columns of a schema, of which those without a type have that of another file.
fn with_types(schema: &SchemaRef, other: &SchemaRef, matching: ColumnMatching) -> SchemaRef {
    let typed = |(at, field): (usize, &FieldRef)| {
        let same = match matching {
            ColumnMatching::ByPosition => other.fields().get(at),
            _ => other.fields().find(field.name()).map(|(_, field)| field),
        };
        match same.filter(|_| is_null(field)) {
            Some(same) => Arc::new(Field::clone(same).with_name(field.name())),
            None => Arc::clone(field),
        }
    };
    Arc::new(Schema::new(schema.fields().iter().enumerate().map(typed).collect::<Vec<_>>()))
}

/// The column of a file that each of the input's is; None for one that it lacks.
///
/// Errors: a column that one of both lacks and may not lack, or that has another type.
fn columns(
    input: &SchemaRef,
    file: &SchemaRef,
    matching: ColumnMatching,
) -> Result<Vec<Option<usize>>, Problem> {
    let (expected, seen) = (input.fields().len(), file.fields().len());
    if matching == ColumnMatching::ByPosition && expected != seen {
        return Err(format!("it has {seen} columns, and the first file has {expected}"));
    }
    let mut columns = Vec::with_capacity(expected);
    for (at, field) in input.fields().iter().enumerate() {
        // Columns of one name are told apart by their place.
        let same = |at: usize| file.fields().get(at).is_some_and(|it| it.name() == field.name());
        let is_here = matching == ColumnMatching::ByPosition || same(at);
        let place = if is_here { Some(at) } else { (0..seen).find(|at| same(*at)) };
        let Some(place) = place else {
            if matching.allows_missing() {
                columns.push(None);
                continue;
            }
            return Err(lacks(field.name()));
        };
        let (expected, seen) = (field.data_type(), file.field(place).data_type());
        if !is_null(file.field(place)) && !is_same(expected, seen) {
            return Err(format!(
                "column `{}` is {seen}, and {expected} in a file before",
                file.field(place).name()
            ));
        }
        columns.push(Some(place));
    }
    match (0..seen).find(|at| !columns.contains(&Some(*at))) {
        None => Ok(columns),
        Some(at) => Err(format!(
            "it has a column `{}`, which the first file has not; {MISSING_NULL} makes it NULL in the rows of the first",
            file.field(at).name()
        )),
    }
}

fn lacks(column: &str) -> Problem {
    format!(
        "it has no column `{column}`, which another file has; {MISSING_NULL} makes it NULL in these rows"
    )
}

/// True if a column has no type, as its writer saw no value.
fn is_null(field: &Field) -> bool {
    *field.data_type() == DataType::Null
}

/// True if values of two types are read alike.
fn is_same(one: &DataType, other: &DataType) -> bool {
    let plain = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, values) => DataType::clone(values),
        other => other.clone(),
    };
    plain(one).equals_datatype(&plain(other))
}
