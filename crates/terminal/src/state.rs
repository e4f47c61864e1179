//! The folder of journals and of what was measured.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The folder that was named, or the user's.
pub fn folder(named: Option<&Path>) -> PathBuf {
    named.map_or_else(job::state::default_dir, Path::to_owned)
}

/// The same, if it can be used.
pub fn state_dir(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let state_dir = folder(named);
    job::state::check(&state_dir)?;
    Ok(state_dir)
}
