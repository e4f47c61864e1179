//! The first rows of an input, for the server to say where it would put them.
//!
//! They are handled as all rows are: read from the file, converted, placed. They are stored as text again,
//! for the server.

use encode::partition::{Sample, Unplaced};
use encode::reading;
use encode::row_keys::KeyReader;
use job::error::Error;
use server::Interrupt;
use sources::{Rows, Source, Visit};
use values::SqlType;
use values::decode::Decoder;

use super::RowRouter;

/// A row and its partition, None being that no partition takes it.
type PlacedSample = (Sample, Option<usize>);

/// Rows that are tried.
const ROWS_MAX: usize = 2_000;
/// Largest table of rows, in bytes; wide columns have fewer rows. The server keeps that table in
/// memory, each value as wide as its column.
const TABLE_BYTES_MAX: usize = 8 << 20;
/// Bytes of a column there that is no text.
const COLUMN_BYTES: usize = 64;

/// Rows of an input, each with its partition; and its start again.
/// `types` are those of the columns that the router looks at, in its order. No rows of moments, which are told
/// by the clock of a session.
///
/// Gives None where it is not known of a row which partition takes it.
///
/// Errors: what is no row; reading.
pub(crate) fn head_rows(
    router: &RowRouter,
    types: &[SqlType],
    source: &mut dyn Source,
    interrupt: &Interrupt,
) -> Result<Option<Vec<PlacedSample>>, Error> {
    let decoders: Option<Vec<Decoder>> = types.iter().map(decoder).collect();
    let Some(decoders) = decoders else { return Ok(Some(Vec::new())) };
    let width: usize = types.iter().map(width).sum();
    let mut head = Head {
        router,
        columns: KeyReader::new(router.plan.clone()),
        decoders,
        count: ROWS_MAX.min(TABLE_BYTES_MAX / width.max(1)),
        rows: Vec::new(),
        key: Vec::new(),
        is_known: true,
    };
    reading::read_start(source, interrupt, |chunk, batch| {
        batch.visit(chunk, &mut head);
        head.is_known && head.rows.len() < head.count
    })?;
    Ok(head.is_known.then_some(head.rows))
}

fn decoder(sql_type: &SqlType) -> Option<Decoder> {
    match sql_type {
        SqlType::Timestamp { .. } => None,
        sql_type => Decoder::new(sql_type),
    }
}

fn width(sql_type: &SqlType) -> usize {
    match sql_type {
        SqlType::Char { chars, .. } | SqlType::VarChar { chars, .. } => 4 * *chars as usize,
        SqlType::Binary { bytes, .. } => *bytes as usize,
        SqlType::VarBinary { bytes, .. } => *bytes as usize,
        _ => COLUMN_BYTES,
    }
}

struct Head<'r> {
    router: &'r RowRouter,
    columns: KeyReader,
    decoders: Vec<Decoder>,
    count: usize,
    rows: Vec<PlacedSample>,
    key: Vec<u8>,
    /// True if each row so far has a known partition, or known to be none.
    is_known: bool,
}

impl Visit for &mut Head<'_> {
    type Output = ();

    fn rows<R: Rows>(self, rows: R) {
        for row in rows.iter() {
            if self.rows.len() == self.count {
                break;
            }
            // What will be refused for its values goes nowhere.
            if self.columns.read(row)
                && let Some(row) = self.row()
            {
                self.rows.push(row);
            }
        }
    }
}

impl Head<'_> {
    /// The row that was read, if it has a partition or none takes it.
    fn row(&mut self) -> Option<PlacedSample> {
        let mut values = Sample::new();
        for (at, decoder) in self.decoders.iter().enumerate() {
            let Some(stored) = self.columns.stored(at).ok()? else {
                values.push(None);
                continue;
            };
            let mut text = Vec::new();
            decoder.decode(stored, &mut text).ok()?;
            values.push(Some(text));
        }
        let stored = |at| self.columns.stored(at).unwrap_or_default();
        match self.router.router.place(stored, &mut self.key) {
            Ok(place) => Some((values, Some(place))),
            Err(Unplaced::NoPartition(_)) => Some((values, None)),
            Err(Unplaced::Unknown(_)) => {
                self.is_known = false;
                None
            }
            Err(Unplaced::OutOfRange) => None,
        }
    }
}
