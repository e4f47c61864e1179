//! The folder of journals and of what was measured.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The folder that was named, or the user's.
pub fn state_dir(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let state_dir = named.map_or_else(job::state::default_dir, Path::to_owned);
    job::state::check(&state_dir)?;
    Ok(state_dir)
}
