//! The source of one table's rows: that of the lines, seen otherwise.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sources::{Batch, Chunk, Error, FieldKind, Formats, InputFile, Layout, Reader, Result, Source};

use super::Share;
use super::picking::Picker;
use super::resolved::{Lines, Resolved};

/// The rows of one table.
pub(super) struct MappedSource {
    input: Box<dyn Source>,
    share: Share,
    lines: Arc<Lines>,
    resolved: Arc<Resolved>,
    files: Arc<Vec<(PathBuf, Vec<u8>)>>,
    formats: Arc<Formats>,
    /// The columns that fields go to, where they are those of the header.
    header: Option<Vec<Vec<u8>>>,
}

impl MappedSource {
    /// Of a source of lines that nothing was read of yet.
    ///
    /// Errors: fields that lines do not have; reading the first of them.
    pub(super) fn new(mut input: Box<dyn Source>, share: &Share) -> Result<MappedSource> {
        if input.layout() != Layout::Separated {
            return Err(Error::Dialect(
                "fields as wide as their columns are those of one table: a job file wants lines whose \
                 fields something separates"
                    .to_owned(),
            ));
        }
        let lines = Lines::of(&mut *input, share.mapping.fields.as_deref())?;
        input.set_fields(lines.kinds())?;
        let resolved = Resolved::new(&share.mapping, &lines)?;
        let file = |file: &InputFile| {
            let name = file.path.file_name().unwrap_or(file.path.as_os_str());
            (file.path.clone(), name.as_encoded_bytes().to_vec())
        };
        let files = input.files().iter().map(file).collect();
        let is_named = share.mapping.columns.is_some();
        let names = || lines.names().iter().map(|name| name.clone().into_bytes()).collect();
        Ok(MappedSource {
            header: (!is_named).then(names),
            files: Arc::new(files),
            input,
            share: share.clone(),
            lines: Arc::new(lines),
            resolved: Arc::new(resolved),
            formats: Arc::default(),
        })
    }
}

impl Source for MappedSource {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        self.input.next_chunk(chunk)
    }

    fn files(&self) -> &[InputFile] {
        self.input.files()
    }

    fn reader(&self) -> Box<dyn Reader> {
        let MappedSource { share, lines, resolved, files, formats, .. } = self;
        let picker = Picker::new(share, lines, resolved, files, formats);
        Box::new(MappedReader { input: self.input.reader(), picker: picker.map_err(Some) })
    }

    fn row_end(&self) -> &[u8] {
        self.input.row_end()
    }

    /// Where a field goes, says the mapping; of lines it is known which fields they have.
    fn set_fields(&mut self, _fields: Vec<FieldKind>) -> Result<()> {
        Ok(())
    }

    fn set_formats(&mut self, formats: Arc<Formats>) -> Result<()> {
        self.formats = formats;
        Ok(())
    }

    fn set_chunks(&mut self, chunk_bytes: usize, record_bytes_max: usize) -> Result<()> {
        self.input.set_chunks(chunk_bytes, record_bytes_max)
    }

    fn header_bytes(&mut self) -> Result<Option<&[Vec<u8>]>> {
        Ok(self.header.as_deref())
    }

    fn preamble(&mut self) -> Result<Vec<u8>> {
        self.input.preamble()
    }

    fn held_bytes(&self) -> u64 {
        self.input.held_bytes()
    }

    fn words(&self) -> String {
        format!("{} {:?}", self.input.words(), self.share.mapping)
    }

    fn bytes_total(&self) -> Option<u64> {
        self.input.bytes_total()
    }

    fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    fn given_up(&self) -> Arc<AtomicBool> {
        self.input.given_up()
    }

    fn restart(&mut self) -> Result<()> {
        self.input.restart()
    }
}

struct MappedReader {
    input: Box<dyn Reader>,
    /// What it cannot be made for is said at the first batch.
    picker: std::result::Result<Picker, Option<Error>>,
}

impl Reader for MappedReader {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        let picker = match &mut self.picker {
            Ok(picker) => picker,
            Err(error) => {
                let again = || Error::Dialect("the fields of lines are not known".to_owned());
                return Err(error.take().unwrap_or_else(again));
            }
        };
        let mut picked = batch.unpick().unwrap_or_default();
        self.input.read(chunk, batch)?;
        let Some(rows) = batch.text_rows(chunk) else {
            return Err(Error::Dialect("only of delimited text are rows picked".to_owned()));
        };
        picker.pick(chunk, rows, &mut picked)?;
        batch.pick(picked);
        Ok(())
    }
}
