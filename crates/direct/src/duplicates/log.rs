//! Rows left out as duplicates: their bytes to one file, to which row they lost to another.

use std::path::PathBuf;

use encode::binding::Binding;
use encode::left_out::LeftOut;
use job::error::Error;
use job::options::{OnDuplicate, RowOptions};
use job::position::PositionCursor;
use job::row_log::{LogForm, LogKind, RowLog};
use job::stop::Stop;
use serde::Serialize;
use sources::{Chunk, Row, Rows};

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
    byte: Option<u64>,
    key: &'a str,
    values: Vec<String>,
    /// None for a row that the table had.
    lost_to: Option<FileLine>,
    reason: &'a str,
}

impl<'a> DuplicateLog<'a> {
    /// Begins empty files where the options say, if they do.
    pub(crate) fn create(
        options: &RowOptions,
        form: &LogForm,
        losers: Option<&'a Losers>,
    ) -> Result<DuplicateLog<'a>, Stop> {
        let path = options.duplicates.as_deref();
        let files = path.map(|path| RowLog::create(LogKind::Duplicates, path, form)).transpose()?;
        let losers = losers.filter(|_| files.is_some()).map(Losers::stream).transpose()?;
        Ok(DuplicateLog { files, losers, on_duplicate: options.on_duplicate })
    }

    /// Writes the rows of a chunk that are left out. Chunks come in order.
    pub(crate) fn write<R: Rows>(
        &mut self,
        chunk: &Chunk,
        rows: R,
        left_out: &LeftOut,
        binding: &Binding,
        paths: &[PathBuf],
    ) -> Result<(), Stop> {
        let (Some(files), Some(losers)) = (&mut self.files, &mut self.losers) else {
            return Ok(());
        };
        let file = paths.get(chunk.file as usize).map(|path| path.to_string_lossy());
        let what = if self.on_duplicate.replaces() { "replaced by" } else { "skipped for" };
        let mut places = PositionCursor::of(chunk);
        for (_, row) in rows.iter().enumerate().filter(|&(index, _)| left_out.has(index)) {
            let Some(loser) = losers.next_before(chunk.file, u64::MAX)? else {
                return Err(Error::InputChanged.into());
            };
            let position = places.find(chunk, paths, row.start());
            let is_there = loser.winner.is_in_table();
            let lost_to = (!is_there).then(|| loser.winner.file_line(paths));
            let place = usize::from(loser.index);
            let winner = match &lost_to {
                Some(row) => format!("{} line {}", row.file, row.line),
                None => "a row of the table".to_owned(),
            };
            let key = locate::index_name(binding, place);
            let reason = format!("{what} {winner}, which has the same {key} key");
            let reason = ReasonLine {
                file: file.as_deref().unwrap_or_default(),
                line: loser.place.line(),
                byte: position.offset,
                key: locate::plain_index_name(binding, place),
                values: locate::key_values(binding, place, row),
                lost_to,
                reason: &reason,
            };
            files.write(&row.raw(), &reason)?;
        }
        Ok(())
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.files.as_mut().map_or(Ok(()), RowLog::flush)
    }
}
