//! An open file of typed columns: parts of rows, which any thread can decode.

use std::any::Any;
use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use sources::PartPlace;
use sources::batch::TypedColumn;
use values::SqlType;

use crate::guard::Problem;

/// Values of a chunk at most, so that most buffers of a column stay below the size from which the allocator maps and
/// unmaps each. Of few columns there are more rows: readers give the decoder of a column to each other once a chunk.
pub(crate) const VALUES_MAX: u64 = 64 << 10;

/// A row group of Parquet or a record batch of Arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its rows.
    pub(crate) rows: u64,
    /// Number of its first row in the file, from 0; None if it follows the part before.
    pub(crate) first_row: Option<u64>,
    /// Bytes of the columns that are read, for a row, as typed values.
    pub(crate) row_bytes: u64,
    /// Bytes of the file up to its end.
    pub(crate) end: u64,
    /// A number that other contents hardly have: a load that is continued compares it.
    pub(crate) fingerprint: u64,
}

/// Adds bytes to a fingerprint.
///
/// Source: FNV-1a, by Fowler, Noll and Vo.
pub(crate) fn fingerprint(of: u64, bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(of, |of, byte| (of ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// True if no column has lists, structs or maps, whose arrays may differ from part to part.
pub(crate) fn are_plain(schema: &SchemaRef) -> bool {
    !schema.fields().iter().any(|field| field.data_type().is_nested())
}

/// Decoded rows of a column.
pub(crate) enum Decoded {
    /// Values of one type.
    Array(ArrayRef),
    /// Cells that have types of their own.
    #[cfg_attr(not(feature = "excel"), expect(dead_code))]
    Cells(Box<dyn MixedCells>),
}

/// Rows of a column in which each cell has its own type.
pub(crate) trait MixedCells {
    /// The cells for a column of the table of this type, if that is known.
    fn typed(&self, sql_type: Option<&SqlType>) -> TypedColumn;
}

/// Some columns of a part, which readers share.
pub(crate) trait OpenPart: Send + Sync {
    /// Memory that reading these rows takes, in bytes, if the open part does not have them.
    fn read_bytes(&self, _rows: &Range<u64>) -> Result<u64, Problem> {
        Ok(0)
    }

    /// Decoded rows of each of the columns.
    fn read(&self, rows: Range<u64>) -> Result<Vec<Decoded>, Problem>;
}

/// An open file.
pub(crate) trait TypedFile: Any + Send + Sync {
    /// Its columns.
    fn schema(&self) -> &SchemaRef;

    /// The part of this index; None behind the last. `columns` are those that are read, ascending.
    fn part(&self, index: usize, columns: &[usize]) -> Result<Option<Part>, Problem>;

    /// Memory that some columns of a part take while it is open, in bytes.
    fn part_bytes(&self, part: usize, columns: &[usize]) -> Result<u64, Problem>;

    /// Opens some columns of a part, ascending.
    fn open_part(&self, part: usize, columns: &[usize]) -> Result<Box<dyn OpenPart>, Problem>;

    /// Memory that a part takes with all columns, in bytes; an estimate.
    fn reader_bytes(&self) -> Result<u64, Problem>;

    /// True if rows of several parts can be read as one array of each column.
    fn has_alike_parts(&self) -> bool;

    /// The name of a part, for messages.
    fn part_name(&self) -> &'static str;

    /// The place of a part, as positions of its rows have it.
    fn place(&self, part: usize) -> PartPlace {
        PartPlace { name: format!("{} {}", self.part_name(), part + 1), cells: None }
    }

    /// Bytes that its description takes in memory: its footer, and what was examined of its parts; an estimate. None if
    /// it cannot be closed.
    fn description_bytes(&self) -> Option<u64>;

    /// Closes the input, which the next reading opens again.
    fn close(&self);

    /// Refuses a file that is not as it was found.
    fn check_unchanged(&self) -> sources::Result<()>;
}
