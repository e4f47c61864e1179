//! Facts about the columns of fields, for a reader.

use sql::Literals;

/// The facts that a reader needs about the column of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldKind {
    /// The column holds text, and is read by characters: CHAR, VARCHAR, TEXT, JSON, ENUM, SET, UUID,
    /// INET4 and INET6, not BINARY, BLOB, numbers and dates, nor variables.
    pub is_text: bool,
    /// Bytes it takes at most in a row of fixed size: the server's display width of the column.
    pub bytes_max: u32,
    /// Bytes it counts for the size of such a row: the same, but 256 for BLOB and TEXT.
    pub row_bytes: u32,
    /// Which SQL literals the column takes as it takes a field of a file.
    pub literals: Literals,
    /// An empty field without quotes is NULL, whatever the dialect says.
    pub empty_is_null: bool,
}

impl FieldKind {
    /// A field of which nothing is known but which literals go there.
    pub fn of_literals(literals: Literals) -> FieldKind {
        FieldKind { is_text: false, bytes_max: 0, row_bytes: 0, literals, empty_is_null: false }
    }
}

/// How fields lie in a row: what besides [`FieldKind`]s has to be known of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Something tells where a field ends.
    Separated,
    /// Each is as wide as its column.
    Fixed {
        /// True if something ends a line, so that its last field may be shorter.
        has_line_ends: bool,
    },
}
