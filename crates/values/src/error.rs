//! Faults of a column or a collation, found before any row is read.

/// A column that cannot be converted to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A declaration no server makes.
    #[error("column {column}: type {declared} is unknown to this version")]
    BadType {
        /// Its name.
        column: String,
        /// Its type as it came.
        declared: String,
    },
    /// A time zone that neither the system nor the built-in database has.
    #[error("time zone {name:?} is unknown: {why}")]
    UnknownZone {
        /// As it was asked for.
        name: String,
        /// The database's answer.
        why: String,
    },
    /// Weights of a collation that do not fit together.
    #[error("collation {name}: {why}")]
    BadCollation {
        /// Full name.
        name: String,
        /// The part that does not fit.
        why: String,
    },
}

/// Why a collation cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CollationError {
    /// The self-test found another order than the server's, or learning found it impossible.
    #[error("keys in collation {name} cannot be sorted exactly as the server sorts them: {why}")]
    Refused {
        /// Full name.
        name: String,
        /// The fault.
        why: String,
    },
    /// The space has no weight, several units, or starts a contraction.
    #[error("the space has a weight that is not one unit")]
    Space,
    /// A weight that is not a whole number of units or has too many.
    #[error("the weight of U+{code:04X} has {bytes} bytes, not 0 to 30 whole units")]
    Weight {
        /// Code of the character.
        code: u32,
        /// Size of its weight.
        bytes: usize,
    },
    /// Collation data that contradicts itself.
    #[error("damaged collation data: {0}")]
    Damaged(&'static str),
}
