//! A table that could not be filled.

use crate::error::Error;

/// Why a table could not be filled, and the result of removing what was made for it.
#[derive(Debug)]
pub struct Failed {
    /// The reason.
    pub error: Error,
    /// The result of removing it.
    pub cleaned: server::Result<()>,
}

impl Failed {
    /// With what came of cleaning up.
    pub fn cleaned(error: Error, cleaned: server::Result<()>) -> Box<Failed> {
        Box::new(Failed { error, cleaned })
    }
}

/// Nothing was made.
impl From<Error> for Box<Failed> {
    fn from(error: Error) -> Box<Failed> {
        Failed::cleaned(error, Ok(()))
    }
}

/// Nothing was made.
impl From<server::Error> for Box<Failed> {
    fn from(error: server::Error) -> Box<Failed> {
        Error::from(error).into()
    }
}
