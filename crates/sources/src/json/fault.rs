//! Why the fields of a record are not known.

use face::option::COLUMNS;

/// Bytes of an unknown field's name in a message.
const SHOWN_BYTES: usize = 60;

/// Why a record has no known fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Something else is there than JSON has.
    Expected {
        /// Byte of the record.
        at: usize,
        /// What JSON has there.
        what: &'static str,
    },
    /// More arrays and objects in each other than are read, from this byte of the record on.
    TooDeep(usize),
    /// Bytes that are no UTF-8, from this one of the record on.
    NotUtf8(usize),
    /// A column is named twice.
    Twice(Vec<u8>),
    /// A field that nobody wants.
    Unknown(Vec<u8>),
    /// A field that the first records lack, of lines whose fields all count.
    LateField(Vec<u8>),
    /// A field of a column that the first records lack, and that has no value for records without it.
    Late(Vec<u8>),
    /// A number in a column of bits that is not whole, or below 0, or has more than 64 bits.
    NotBits(Vec<u8>),
    /// A field is lacking whose column has no constant default.
    NoDefault(Vec<u8>),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |name: &[u8]| {
            let text = String::from_utf8_lossy(name);
            let mut short: String = text.chars().take(SHOWN_BYTES).collect();
            if short.len() < text.len() {
                short.push_str("..");
            }
            short
        };
        match self {
            Fault::Expected { at, what } => {
                write!(
                    f,
                    "the record is not an object of JSON: {what} is expected at its byte {at}"
                )
            }
            Fault::TooDeep(at) => {
                write!(f, "the record has JSON of more than 100 levels at its byte {at}")
            }
            Fault::NotUtf8(at) => write!(f, "the record is not UTF-8 from its byte {at} on"),
            Fault::Twice(name) => write!(f, "the record has two fields for `{}`", shown(name)),
            Fault::Unknown(name) => {
                write!(f, "the record has a field `{}`, which is not a column", shown(name))
            }
            Fault::LateField(name) => write!(
                f,
                "the record has a field `{}`, which the first records lack; name it in columns of [input]",
                shown(name)
            ),
            Fault::Late(name) => write!(
                f,
                "the record has the column `{}`, which the first records lack; list the fields to load: {}",
                shown(name),
                COLUMNS.with("a,b")
            ),
            Fault::NotBits(name) => {
                write!(
                    f,
                    "the number in `{}` is not a whole number from 0 to 2^64 - 1",
                    shown(name)
                )
            }
            Fault::NoDefault(name) => {
                write!(
                    f,
                    "the record lacks `{}`, and the DEFAULT of that column is not one value",
                    shown(name)
                )
            }
        }
    }
}
