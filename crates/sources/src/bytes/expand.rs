//! Names on a command line to paths: patterns, and `-`.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use glob::MatchOptions;

use super::remote;
use crate::error::{Error, Result};

/// As the shell matches: `*` does not go over `/` or find hidden files.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The inputs that names stand for, in their order: `-` is the standard input; what is there under
/// its own name is itself; any other name with `*`, `?` or `[` in it is a pattern, and stands for
/// the files that match, in the order of their names' bytes.
///
/// Errors: a pattern that matches nothing, or is none; a folder in which it cannot look.
pub fn expand(names: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for name in names {
        if name == Path::new("-") {
            paths.push(PathBuf::from("/dev/stdin"));
        } else if is_pattern(name) && !is_there(name) {
            paths.append(&mut matches(name)?);
        } else {
            paths.push(name.clone());
        }
    }
    Ok(paths)
}

fn is_there(name: &Path) -> bool {
    remote::of(name).is_some() || std::fs::symlink_metadata(name).is_ok()
}

fn is_pattern(name: &Path) -> bool {
    name.as_os_str().as_bytes().iter().any(|byte| b"*?[".contains(byte))
}

fn matches(name: &Path) -> Result<Vec<PathBuf>> {
    let wrong = |reason: String| Error::Pattern { pattern: name.display().to_string(), reason };
    let pattern = name.to_str().ok_or_else(|| wrong("a pattern must be UTF-8".to_owned()))?;
    let found = glob::glob_with(pattern, OPTIONS).map_err(|error| wrong(error.to_string()))?;
    let mut paths = found
        .collect::<Result<Vec<PathBuf>, _>>()
        .map_err(|error| wrong(format!("looking for files: {error}")))?;
    if paths.is_empty() {
        return Err(wrong("no file has this name or matches it as a pattern".to_owned()));
    }
    paths.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
    Ok(paths)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_files_in_the_order_of_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b.csv", "a.csv", "B.csv", "10.csv", "9.csv", ".c.csv", "x[1].csv", "x1.csv"] {
            std::fs::write(path(name), "").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let paths = expand(&[path(pattern)]).unwrap();
            paths
                .iter()
                .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(
            names("*.csv"),
            ["10.csv", "9.csv", "B.csv", "a.csv", "b.csv", "x1.csv", "x[1].csv"]
        );
        assert_eq!(names("[ab].csv"), ["a.csv", "b.csv"]);
        assert_eq!(names("?.csv"), ["9.csv", "B.csv", "a.csv", "b.csv"]);
        // What is there under the very name is meant, though it matches another file too.
        assert_eq!(names("x[1].csv"), ["x[1].csv"]);
        assert_eq!(names("missing.csv"), ["missing.csv"]);
        for wrong in ["*.txt", "[", "***"] {
            let error = expand(&[path(wrong)]).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
        assert_eq!(expand(&[PathBuf::from("-")]).unwrap(), [PathBuf::from("/dev/stdin")]);
    }
}
