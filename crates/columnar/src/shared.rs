//! State that a source and its readers share: the files, those that are open, and their common columns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::{DataType, SchemaRef};
use sources::{Error, FoundInput, Result};

use crate::arrow_file::ArrowFile;
use crate::file::TypedFile;
use crate::guard::Problem;
use crate::kind::Kind;
use crate::parquet_file::ParquetFile;
use crate::parts::Parts;
use crate::room::Room;

/// Files that stay open: the one at hand, and those that readers still read.
const OPEN_MAX: usize = 4;

/// The files, and those that are open.
pub(crate) struct Shared {
    pub(crate) kind: Kind,
    pub(crate) files: Vec<FoundInput>,
    pub(crate) parts: Parts,
    /// The columns of the first file, once it was opened.
    schema: OnceLock<SchemaRef>,
    open: Mutex<Vec<(u32, Arc<OpenFile>)>>,
    pub(crate) stop: Arc<AtomicBool>,
}

/// An open file.
pub(crate) struct OpenFile {
    pub(crate) file: Box<dyn TypedFile>,
    /// The column of this file that each of the first file's is.
    columns: Vec<usize>,
}

impl OpenFile {
    /// The columns of this file that some of the first file's are.
    pub(crate) fn columns(&self, of_first: &[usize]) -> Vec<usize> {
        of_first.iter().map(|column| self.columns[*column]).collect()
    }
}

impl Shared {
    pub(crate) fn new(
        kind: Kind,
        files: Vec<FoundInput>,
        room: Room,
        stop: Arc<AtomicBool>,
    ) -> Shared {
        Shared {
            kind,
            files,
            parts: Parts::new(room),
            schema: OnceLock::new(),
            open: Mutex::default(),
            stop,
        }
    }

    /// The columns of the first file.
    ///
    /// Errors: opening it.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        if let Some(schema) = self.schema.get() {
            return Ok(Arc::clone(schema));
        }
        let opened = self.open(0)?;
        Ok(Arc::clone(opened.file.schema()))
    }

    /// The file of this index, opened if it is not.
    ///
    /// Errors: opening; a file that is damaged, or has other columns than the first.
    pub(crate) fn open(&self, index: u32) -> Result<Arc<OpenFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, file)) = open.iter().find(|(at, _)| *at == index) {
            return Ok(Arc::clone(file));
        }
        let file = self.open_new(index)?;
        let schema = Arc::clone(self.schema.get_or_init(|| Arc::clone(file.schema())));
        let columns = columns(&schema, file.schema());
        let columns = columns.map_err(|problem| self.error(index, String::new(), problem))?;
        let file = Arc::new(OpenFile { file, columns });
        if open.len() >= OPEN_MAX {
            open.remove(0);
        }
        open.push((index, Arc::clone(&file)));
        Ok(file)
    }

    fn open_new(&self, index: u32) -> Result<Box<dyn TypedFile>> {
        let found = &self.files[index as usize];
        let file: Result<Box<dyn TypedFile>, Problem> = match self.kind {
            Kind::Parquet => ParquetFile::open(found)?.map(|file| Box::new(file) as _),
            Kind::Arrow => ArrowFile::open(found)?.map(|file| Box::new(file) as _),
        };
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

/// The column of a file that each of the first file's is, by name.
///
/// Errors: a column that one of both lacks, or that has another type.
fn columns(first: &SchemaRef, other: &SchemaRef) -> Result<Vec<usize>, Problem> {
    let mut columns = Vec::with_capacity(first.fields().len());
    for (at, field) in first.fields().iter().enumerate() {
        // Columns of one name are told apart by their place.
        let same = |at: usize| other.fields().get(at).is_some_and(|it| it.name() == field.name());
        let place =
            if same(at) { Some(at) } else { (0..other.fields().len()).find(|at| same(*at)) };
        let Some(place) = place else {
            return Err(format!("it has no column `{}`, which the first file has", field.name()));
        };
        let (expected, seen) = (field.data_type(), other.field(place).data_type());
        if !is_same(expected, seen) {
            return Err(format!(
                "column `{}` is {seen}, and {expected} in the first file",
                field.name()
            ));
        }
        columns.push(place);
    }
    match (0..other.fields().len()).find(|at| !columns.contains(at)) {
        None => Ok(columns),
        Some(at) => Err(format!(
            "it has a column `{}`, which the first file has not",
            other.field(at).name()
        )),
    }
}

/// True if values of two types are read alike.
fn is_same(one: &DataType, other: &DataType) -> bool {
    let plain = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, values) => DataType::clone(values),
        other => other.clone(),
    };
    plain(one).equals_datatype(&plain(other))
}
