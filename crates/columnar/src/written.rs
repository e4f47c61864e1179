//! Requests for files with typed columns, and the values that no such file has.

use std::fmt;

use values::{ShapeKind, SqlType};

use crate::Kind;

/// A column of a table whose values are written.
#[derive(Clone, Copy, Debug)]
pub struct WrittenColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub sql_type: &'a SqlType,
    /// True if it may have NULL.
    pub is_nullable: bool,
    /// The SRID of all values of a column of geometries.
    pub srid: u32,
}

/// How values inside of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// They are not.
    None,
    /// gzip; Parquet only.
    Gzip,
    /// zstd.
    Zstd,
}

/// How files are written.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// The kind of file.
    pub kind: Kind,
    /// True if Arrow is written as a stream, without a footer.
    pub is_stream: bool,
    /// How values are compressed.
    pub packing: Packing,
    /// Bytes of memory from which on a row group is full.
    pub group_bytes: usize,
    /// Most rows of a row group.
    pub group_rows: usize,
    /// Bytes of values from which on a row group is full, before they are encoded.
    pub value_bytes: u64,
}

impl WriteOptions {
    /// Most rows of a row group, where there is no reason for fewer.
    pub const GROUP_ROWS: usize = 1 << 20;
}

/// Why a file cannot have a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadCell {
    /// The bytes are no value of the column's type.
    NotStored,
    /// UTF-8 has no text that would become the same bytes again.
    NoText,
    /// A date that is in no calendar.
    NoDay,
    /// More than 2 GiB, with the values before it.
    TooLong,
    /// A geometry with this SRID, where the first of its column has another.
    Srid(u32),
}

impl fmt::Display for BadCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadCell::NotStored => f.write_str("it is no value of the column's type"),
            BadCell::NoText => f.write_str("its bytes are no text"),
            BadCell::NoDay => f.write_str(
                "its date is in no calendar, and files of this format have no other dates",
            ),
            BadCell::TooLong => f.write_str("it is longer than 2 GiB"),
            BadCell::Srid(srid) => {
                write!(f, "its SRID is {srid}, and the first value of the column has another")
            }
        }
    }
}

/// True if the values of a type are geometries: an SRID and well-known binary.
pub fn is_geometry(sql_type: &SqlType) -> bool {
    let declared = match sql_type {
        SqlType::Geometry { .. } => return true,
        SqlType::Opaque { declared, .. } => declared,
        _ => return false,
    };
    let word = declared.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    word.eq_ignore_ascii_case("geometry") || ShapeKind::named(word).is_some()
}
