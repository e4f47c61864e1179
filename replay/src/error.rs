//! Why a replay ended.

/// Why a replay ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A load of rows.
    #[error(transparent)]
    Load(#[from] load::Error),
    /// The server, outside the dump's own statements.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The dump cannot be read.
    #[error(transparent)]
    Source(#[from] sources::Error),
    /// A wrong option, or a dump that cannot be replayed; nothing was done.
    #[error("{0}")]
    Usage(String),
}
