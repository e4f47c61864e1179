//! Files with typed columns in a build that writes none: no value of these types exists.

use std::convert::Infallible;
use std::io::{self, Write};

use crate::written::{BadCell, WriteOptions, WrittenColumn};

type Problem = String;

/// The contents of files of a table.
#[derive(Debug)]
pub struct TableFormat(Infallible);

/// Encodes rows.
#[derive(Debug)]
pub struct RowEncoder(Infallible);

/// Rows that are encoded.
#[derive(Debug)]
pub struct RowGroup {
    /// How many.
    pub rows: u64,
    /// Bytes of their values before they were encoded.
    pub value_bytes: u64,
    never: Infallible,
}

/// Puts a file together.
#[derive(Debug)]
pub struct FileWriter(Infallible);

/// Rows that cannot be written.
#[derive(Debug)]
pub enum WriteError {
    /// A value of the column of this number.
    Cell(usize, BadCell),
    /// A mistake of ours, or of the encoder's.
    Internal(Problem),
}

#[allow(missing_docs, reason = "the module `write` has the same functions")]
impl TableFormat {
    pub fn new(_: &[WrittenColumn<'_>], options: WriteOptions) -> Result<TableFormat, Problem> {
        let name = options.kind.name();
        Err(format!("this program was built without support for {name} files"))
    }

    pub fn encoder(&self) -> Result<RowEncoder, Problem> {
        match self.0 {}
    }

    pub fn file(&self) -> Result<FileWriter, Problem> {
        match self.0 {}
    }
}

#[allow(missing_docs, reason = "the module `write` has the same functions")]
impl RowEncoder {
    pub fn stored<'v>(
        &mut self,
        _: usize,
        _: impl Iterator<Item = Option<&'v [u8]>>,
    ) -> Result<(), (usize, BadCell)> {
        match self.0 {}
    }

    pub fn sent(&mut self, _: usize, _: Option<&[u8]>) -> Result<(), BadCell> {
        match self.0 {}
    }

    pub fn end_rows(&mut self, _: usize) -> Result<bool, WriteError> {
        match self.0 {}
    }

    pub fn rows_left(&self) -> usize {
        match self.0 {}
    }

    pub fn reuse(&mut self, _: RowGroup) {}

    pub fn take(&mut self) -> Result<Option<RowGroup>, WriteError> {
        match self.0 {}
    }
}

#[allow(missing_docs, reason = "the module `write` has the same functions")]
impl RowGroup {
    pub fn bytes(&self) -> u64 {
        match self.never {}
    }
}

#[allow(missing_docs, reason = "the module `write` has the same functions")]
impl FileWriter {
    pub fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
        match self.0 {}
    }

    pub fn group(&mut self, group: &mut RowGroup, _: &mut dyn Write) -> io::Result<()> {
        match group.never {}
    }

    pub fn finish(self, _: &mut dyn Write) -> io::Result<()> {
        match self.0 {}
    }
}
