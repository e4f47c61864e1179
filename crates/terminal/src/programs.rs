//! Programs of ours, which know each other by name.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program of this name beside the running one, or else on PATH.
pub fn find(name: &str) -> Option<PathBuf> {
    let running = env::current_exe().ok();
    let beside = running.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let path = env::var_os("PATH").unwrap_or_default();
    // An empty entry means the folder at hand, which may be anybody's.
    let path = env::split_paths(&path).filter(|folder| folder.is_absolute());
    beside.into_iter().chain(path).map(|folder| folder.join(name)).find(|path| can_run(path))
}

fn can_run(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
