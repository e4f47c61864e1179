//! The two connections of the conductor.

use server::Session;

/// The two connections of the conductor.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Runs the dump's statements in their order: set to what the dump sets.
    pub(crate) dump: Session,
    /// Ours: utf8mb4, strict, never touched by the dump.
    pub(crate) own: Session,
}
