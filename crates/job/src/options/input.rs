//! The input files of a load, and how they are read.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use columnar::{ColumnMatching, Kind, SheetOptions};
use face::option::{BY_POSITION, MISSING_NULL, SHEET};
use sources::{Dialect, Encoding, KeptPipes, Source};

use crate::error::Error;
use crate::written::Written;

/// Makes the source of a table's rows of that of the lines of files, where a line holds rows of several
/// tables.
pub trait Select: fmt::Debug + Send + Sync {
    /// The rows of the table. Nothing was read of the lines.
    ///
    /// Errors: lines that have no such rows.
    fn select(&self, lines: Box<dyn Source>) -> sources::Result<Box<dyn Source>>;

    /// True if fields have names that files do not say; `columns` are those of [`InputOptions::columns`].
    fn has_names(&self, columns: Option<&[String]>) -> bool {
        columns.is_some()
    }

    /// Bytes of the lines that have them; none if that may be all.
    fn line_bytes(&self) -> Option<u64> {
        None
    }
}

/// The input files, and how they are read.
#[derive(Clone, Debug)]
pub struct InputOptions {
    /// Input files, in the order their rows are taken.
    pub files: Vec<PathBuf>,
    /// How the input is cut into fields.
    pub dialect: Dialect,
    /// The format of typed columns that the input has, if that is known. Default: files are recognised by their
    /// first bytes.
    pub columnar: Option<Kind>,
    /// How names and places of fields decide about their columns. Default: by name, if the input has names.
    pub matching: ColumnMatching,
    /// The sheet of workbooks. Default: the first one that is visible.
    pub sheet: Option<String>,
    /// True if the first line of each file names the columns.
    pub header: bool,
    /// Lines to leave out at the start of each file, before the header.
    pub skip_lines: u64,
    /// Columns the fields of a line go to, in order. Default: the header's, or all in
    /// table order but the INVISIBLE ones.
    pub columns: Option<Vec<String>>,
    /// True if names in the header that are no column's are left out. Default no: they are refused.
    pub ignore_unknown_columns: bool,
    /// True if an empty field without quotes is NULL in a nullable column of numbers, dates, times or JSON.
    /// Default no: it is empty text, as for LOAD DATA.
    pub empty_is_null: bool,
    /// How values are written. Default: as the server reads them.
    pub written: Written,
    /// The rows of the input's lines that are the table's. Default: each line is one.
    pub selection: Option<Arc<dyn Select>>,
    /// Character set of the input. Default utf8mb4.
    pub charset: String,
    /// UTF-16 or UTF-32, if the input is one of these; it becomes UTF-8 before `charset` is asked.
    /// Default: if a byte order mark says so.
    pub encoding: Encoding,
    /// True if nobody gave the dialect's escape, so that LOAD DATA would use its default: under
    /// NO_BACKSLASH_ESCAPES that is none, and the load is refused. Default no.
    pub escape_is_assumed: bool,
    /// True if a line with a quote that nothing closes is a row that may be refused, or left out. Default:
    /// if any row may.
    pub leaves_unclosed: Option<bool>,
    /// Folder of the files, if they are those that it has: none may be a link out of it. Default: none.
    pub below: Option<PathBuf>,
    /// Pipes among the files that were read for a guess. Default: none.
    pub kept: KeptPipes,
}

impl Default for InputOptions {
    fn default() -> InputOptions {
        InputOptions {
            files: Vec::new(),
            dialect: Dialect::mysql(),
            columnar: None,
            matching: ColumnMatching::default(),
            sheet: None,
            header: false,
            skip_lines: 0,
            columns: None,
            ignore_unknown_columns: false,
            empty_is_null: false,
            written: Written::default(),
            selection: None,
            charset: "utf8mb4".to_owned(),
            encoding: Encoding::default(),
            escape_is_assumed: false,
            leaves_unclosed: None,
            below: None,
            kept: KeptPipes::default(),
        }
    }
}

impl InputOptions {
    /// True if the names of fields do not matter.
    pub fn is_by_position(&self) -> bool {
        self.matching == ColumnMatching::ByPosition
    }

    /// True if the files are of a format of typed columns; whatever is wrong with them is said when they are opened.
    pub fn has_columns(&self) -> bool {
        self.columnar.is_some() || Kind::of_files(&self.files).is_ok_and(|kind| kind.is_some())
    }

    /// The rows of a workbook that are read: with names for columns as they are typed, the first row is one of them.
    pub fn sheet_options(&self) -> SheetOptions {
        let has_typed_names = match &self.selection {
            Some(selection) => selection.has_names(self.columns.as_deref()),
            None => self.columns.is_some(),
        };
        SheetOptions {
            sheet: self.sheet.clone(),
            skip_rows: self.skip_lines,
            has_names: self.header || !has_typed_names,
        }
    }

    /// The format of typed columns that the files have; none of text. Looks at their first bytes.
    ///
    /// Errors: files of different formats; options of text for files of typed columns.
    pub fn kind(&self) -> Result<Option<Kind>, Error> {
        let usage = |error: sources::Error| Error::Usage(error.to_string());
        let is_dump = self.below.is_some();
        let kind = match self.columnar {
            None if is_dump => None,
            None => Kind::of_files(&self.files).map_err(usage)?,
            kind => kind,
        };
        if self.sheet.is_some() && kind != Some(Kind::Excel) {
            let input = kind.map_or("text", Kind::name);
            return Err(Error::Usage(format!(
                "{SHEET} is for Excel files, and the input is {input}"
            )));
        }
        let Some(known) = kind else {
            return self.check_matching().map(|()| None);
        };
        let is_utf8 = matches!(self.charset.as_str(), "utf8mb4" | "utf8mb3" | "utf8");
        let has_lines = self.skip_lines == 0 || known == Kind::Excel;
        let is_plain = self.dialect == Dialect::mysql() && has_lines && is_utf8;
        if !is_plain {
            return Err(Error::Usage(format!(
                "options of separators, quotes, NULL, lines and character sets are for text, and the input is {}",
                known.name()
            )));
        }
        Ok(kind)
    }

    /// Refuses ways to find columns that text and JSON do not have.
    fn check_matching(&self) -> Result<(), Error> {
        match self.matching {
            ColumnMatching::ByNameOrNull => Err(Error::Usage(format!(
                "{MISSING_NULL} is for Parquet and Arrow files, and the input is neither"
            ))),
            ColumnMatching::ByPosition if self.dialect.json.is_some() => {
                Err(Error::Usage(format!(
                    "{BY_POSITION} does not work for JSON, whose fields have names and no places"
                )))
            }
            _ => Ok(()),
        }
    }
}
