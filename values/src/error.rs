//! What can be wrong with a column before any row is read.

/// A column that cannot be converted to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A declaration no server makes.
    #[error("column {column}: {declared} is no type this version knows")]
    BadType {
        /// Its name.
        column: String,
        /// Its type as it came.
        declared: String,
    },
    /// A time zone that neither the system nor the built-in database has.
    #[error("time zone {name:?} is not known: {why}")]
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
        /// What does not fit.
        why: String,
    },
}
