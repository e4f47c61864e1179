//! Rows left out as duplicates: their bytes to one file, to which row they lost to another.

use std::path::PathBuf;

use encode::binding::Binding;
use encode::encoder::Line;
use encode::left_out::LeftOut;
use job::error::Error;
use job::options::{LoadOptions, OnDuplicate};
use job::row_log::{Kind, RowLog};
use job::stop::Stop;
use serde::Serialize;
use sources::{Chunk, Rows};

use crate::duplicates::losers::{LoserStream, Losers};
use crate::duplicates::row_position::FileLine;
use crate::locate;

/// Writes down rows that were left out, in input order.
pub(crate) struct DuplicateLog<'a> {
    files: Option<RowLog>,
    losers: Option<LoserStream<'a>>,
    on_duplicate: OnDuplicate,
}

#[derive(Serialize)]
struct ReasonLine<'a> {
    file: &'a str,
    line: u64,
    byte: u64,
    key: &'a str,
    values: Vec<String>,
    lost_to: &'a FileLine,
    reason: &'a str,
}

/// A chunk of the input, cut into rows.
pub(crate) struct CutChunk<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) rows: &'a Rows,
    pub(crate) left_out: &'a LeftOut,
}

impl<'a> DuplicateLog<'a> {
    /// Begins empty files where the options say, if they do.
    pub(crate) fn create(
        options: &LoadOptions,
        losers: Option<&'a Losers>,
    ) -> Result<DuplicateLog<'a>, Stop> {
        let path = options.duplicates.as_deref();
        let terminator = &options.dialect.lines_terminated_by;
        let files =
            path.map(|path| RowLog::create(Kind::Duplicates, path, terminator)).transpose()?;
        let losers = losers.filter(|_| files.is_some()).map(Losers::stream).transpose()?;
        Ok(DuplicateLog { files, losers, on_duplicate: options.on_duplicate })
    }

    /// Writes the rows of a chunk that are left out. Chunks come in order.
    pub(crate) fn write(
        &mut self,
        cut: &CutChunk<'_>,
        binding: &Binding,
        paths: &[PathBuf],
    ) -> Result<(), Stop> {
        let (Some(files), Some(losers)) = (&mut self.files, &mut self.losers) else {
            return Ok(());
        };
        let CutChunk { chunk, rows, left_out } = cut;
        let file = paths.get(chunk.file as usize).map(|path| path.to_string_lossy());
        let what = match self.on_duplicate {
            OnDuplicate::Replace => "replaced by",
            _ => "skipped for",
        };
        let mut counted = (0, chunk.offset);
        for (_, row) in rows.iter().enumerate().filter(|&(index, _)| left_out.has(index)) {
            let Some(loser) = losers.next_before(chunk.file, u64::MAX)? else {
                return Err(Error::InputChanged.into());
            };
            let (start, end) = row.raw();
            let (from, offset) = counted;
            counted = (start, offset + chunk.unit.file_bytes(&chunk.bytes[from..start]));
            let lost_to = loser.winner.file_line(paths);
            let place = usize::from(loser.index);
            let line = Line { chunk: &chunk.bytes, rows, row };
            let reason = format!(
                "{what} {} line {}, which has the same {} key",
                lost_to.file,
                lost_to.line,
                locate::index_name(binding, place)
            );
            let reason = ReasonLine {
                file: file.as_deref().unwrap_or_default(),
                line: loser.place.line(),
                byte: counted.1,
                key: locate::plain_index_name(binding, place),
                values: locate::key_values(binding, place, &line),
                lost_to: &lost_to,
                reason: &reason,
            };
            files.write(&chunk.bytes[start..end], &reason)?;
        }
        Ok(())
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.files.as_mut().map_or(Ok(()), RowLog::flush)
    }
}
