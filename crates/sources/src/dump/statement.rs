//! One statement of a dump.

use sql::StatementKind;

/// One statement. `text` is empty for [`StatementKind::Insert`]: its rows were not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its kind.
    pub kind: StatementKind,
    /// Its bytes without the delimiter, comments before it left out, version comments kept.
    pub text: Vec<u8>,
    /// Index of its input among those of the reader.
    pub file: u32,
    /// Byte of the (unpacked) input at which `text` begins.
    pub offset: u64,
    /// Line of the input, from 1.
    pub line: u64,
}
