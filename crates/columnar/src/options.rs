//! How files of typed columns are opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sources::KeptPipes;

/// How the columns of files find those of the table, and those of the other files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnMatching {
    /// By name; all files have the same columns.
    #[default]
    ByName,
    /// By name; a file may lack columns that the table lacks, too.
    ByNameOfTable,
    /// By name; a column that a file lacks is NULL in its rows.
    ByNameOrNull,
    /// By place.
    ByPosition,
}

impl ColumnMatching {
    /// True if files may have columns that others lack.
    pub(crate) fn allows_missing(self) -> bool {
        matches!(self, ColumnMatching::ByNameOfTable | ColumnMatching::ByNameOrNull)
    }
}

/// The rows of a workbook that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetOptions {
    /// The name of the sheet. Default: the first one that is visible.
    pub sheet: Option<String>,
    /// Rows of the sheet to leave out at its start. Default none.
    pub skip_rows: u64,
    /// True if the first row has the names of columns. Default yes.
    pub has_names: bool,
}

impl Default for SheetOptions {
    fn default() -> SheetOptions {
        SheetOptions { sheet: None, skip_rows: 0, has_names: true }
    }
}

/// How files of typed columns are opened.
#[derive(Clone, Debug)]
pub struct ColumnarOptions {
    /// How columns of several files belong together.
    pub matching: ColumnMatching,
    /// The sheet of workbooks.
    pub sheet: SheetOptions,
    /// Most memory for reading, in bytes, apart from the typed rows.
    pub memory_bytes: u64,
    /// Folder in which a pipe's bytes are kept.
    pub temp_dir: PathBuf,
    /// Folder of the inputs, if they are files that it has: none may be a link out of it.
    pub below: Option<PathBuf>,
    /// Pipes that were read before.
    pub kept: KeptPipes,
    /// Set by somebody who wants the end.
    pub stop: Arc<AtomicBool>,
}

impl Default for ColumnarOptions {
    fn default() -> ColumnarOptions {
        ColumnarOptions {
            matching: ColumnMatching::default(),
            sheet: SheetOptions::default(),
            memory_bytes: 256 << 20,
            temp_dir: std::env::temp_dir(),
            below: None,
            kept: KeptPipes::default(),
            stop: Arc::default(),
        }
    }
}
