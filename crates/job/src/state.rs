//! The folder of what is kept from one load to the next: journals, speeds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use face::option::STATE_DIR;

use crate::error::Error;

/// `inrush` in the user's state folder, by the variables XDG_STATE_HOME and HOME; empty where neither
/// names a folder, since any other one could be somebody else's.
pub fn default_dir() -> PathBuf {
    dir_by(|name| std::env::var_os(name)).unwrap_or_default()
}

/// Refuses to go without a folder.
pub fn check(state_dir: &Path) -> Result<(), Error> {
    if state_dir.as_os_str().is_empty() {
        return Err(Error::Usage(format!(
            "neither XDG_STATE_HOME nor HOME is set, so the journal has no folder: name one with \
             {STATE_DIR}"
        )));
    }
    Ok(())
}

/// A path that does not begin at the root means nothing to the next process.
fn dir_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    state.map(|state| state.join("inrush"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_home_there_is_no_state_folder() {
        let dir = |state: Option<&str>, home: Option<&str>| {
            dir_by(|name| if name == "HOME" { home } else { state }.map(OsString::from))
        };
        assert_eq!(dir(Some("/s"), Some("/h")), Some(PathBuf::from("/s/inrush")));
        assert_eq!(dir(Some("s"), Some("/h")), Some(PathBuf::from("/h/.local/state/inrush")));
        assert_eq!(dir(Some(""), None), None);
        assert_eq!(dir(None, Some("")), None);
        assert_eq!(dir(None, Some("h")), None);
        let error = check(Path::new("")).map_err(|error| (error.exit_status(), error.to_string()));
        assert!(error.is_err_and(|(status, text)| status == 2 && text.contains("--state-dir")));
    }
}
