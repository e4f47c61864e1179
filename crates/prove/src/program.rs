//! The program of a running server: found on this machine, and safe to run.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use face::option::SERVER_PROGRAM;
use sandbox::mariadbd::Binary;
use server::version::{Flavor, Version};
use server::{Row, Session};

/// Bits of a mode: others may write; in a folder with the second only to what is theirs.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// A server's program, and the checked program that makes its data directories; without the second, `Binary` finds it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) binary: Binary,
    pub(crate) installer: Option<PathBuf>,
}

/// The program that the server runs, which may be any of the same build; or why there is none, as a sentence.
///
/// A server names its process itself, so a program is run only if nobody but root and this user can have made it.
pub(crate) fn find(session: &mut Session, named: Option<&Path>) -> Result<Program, String> {
    let version = session.version().clone();
    if let Some(path) = named {
        let binary =
            Binary::at(path.to_owned(), SERVER_PROGRAM.typed()).map_err(|e| e.to_string())?;
        return match is_of(&binary, &version) {
            true => Ok(Program { binary, installer: None }),
            false => Err(format!(
                "{} is {}, but the server is {version}",
                path.display(),
                binary.version
            )),
        };
    }
    let mut seen = Vec::new();
    for path in candidates(session) {
        let path = match safe_path(&path) {
            Ok(path) => path,
            Err(why) => {
                seen.push(why);
                continue;
            }
        };
        match Binary::at(path.clone(), "the server's process") {
            Ok(binary) if is_of(&binary, &version) => match safe_installer(&binary) {
                Ok(installer) => return Ok(Program { binary, installer }),
                Err(why) => seen.push(why),
            },
            Ok(binary) => seen.push(format!("{} is {}", path.display(), binary.version)),
            Err(error) => seen.push(error.to_string()),
        }
    }
    seen.dedup();
    let seen = if seen.is_empty() { String::new() } else { format!(" ({})", seen.join("; ")) };
    Err(format!(
        "the server's program was not found on this machine{seen}; {} names it",
        SERVER_PROGRAM.with("PATH")
    ))
}

fn is_of(binary: &Binary, version: &Version) -> bool {
    // A server adds words of its packager, and what it logs.
    let bare = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.trim_end_matches("-log").to_owned()
    };
    bare(&binary.version.text) == bare(&version.text)
}

/// Programs that may be the server's: of its process, and the installed one.
fn candidates(session: &mut Session) -> Vec<PathBuf> {
    let process = process(session);
    let exe = process.and_then(|pid| fs::read_link(format!("/proc/{pid}/exe")).ok());
    let command = process.and_then(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok());
    let words = command.iter().flat_map(|line| line.split(|&byte| byte == 0));
    let words = words.map(|word| PathBuf::from(String::from_utf8_lossy(word).into_owned()));
    // A server may be started by a loader of its own, which has its program's name among its words.
    let is_program = |path: &PathBuf| {
        path.is_absolute()
            && path.file_name().is_some_and(|name| name == "mariadbd" || name == "mysqld")
    };
    let installed = sandbox::mariadbd::find_program(&["mariadbd", "mysqld"], None);
    let mut all = Vec::new();
    for path in exe.into_iter().chain(words.filter(is_program)).chain(installed) {
        if path.is_file() && !all.contains(&path) {
            all.push(path);
        }
    }
    all
}

/// The server's process on this machine, by its own words; none where they cannot be read.
fn process(session: &mut Session) -> Option<u32> {
    let row = session.query_row("SELECT @@pid_file, @@datadir").ok()?;
    let text = |row: &Row, at| row.text(at).ok();
    let (file, datadir) = (text(&row, 0)?, text(&row, 1)?);
    let path = Path::new(&datadir).join(file);
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The path of a program without links. Only root and this user can have made the file and its folders.
///
/// Errors: why the program is not run, as a sentence.
fn safe_path(path: &Path) -> Result<PathBuf, String> {
    let own = rustix::process::geteuid().as_raw();
    let not_run = |part: &Path, why: &str| format!("{} is not run: {why}", part.display());
    let path = fs::canonicalize(path).map_err(|error| not_run(path, &error.to_string()))?;
    for part in path.ancestors() {
        let meta = fs::symlink_metadata(part).map_err(|e| not_run(part, &e.to_string()))?;
        let is_ours = meta.uid() == 0 || meta.uid() == own;
        let others_write = meta.mode() & OTHERS_WRITE != 0 && meta.mode() & STICKY == 0;
        if !is_ours || others_write {
            return Err(not_run(part, "others than root could have changed it"));
        }
    }
    Ok(path)
}

/// The program that makes a server's data directories; none of a server that does so itself.
///
/// Errors: it is missing, or not safe to run, as a sentence.
fn safe_installer(binary: &Binary) -> Result<Option<PathBuf>, String> {
    match binary.version.flavor {
        Flavor::MySql => Ok(None),
        Flavor::MariaDb => {
            let path = binary.installer().map_err(|error| error.to_string())?;
            safe_path(&path).map(Some)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_that_others_may_write_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mariadbd");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        for (mode, is_run) in [(0o755, true), (0o775, false), (0o757, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(safe_path(&path).is_ok(), is_run, "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(safe_path(&path).is_err());
    }

    /// A link of somebody else to a program of root's could be changed between the check and the run.
    #[test]
    fn the_target_of_a_link_is_run_and_not_the_link() {
        let (real, links) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = real.path().join("mariadbd");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let link = links.path().join("mariadbd");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        fs::set_permissions(links.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(safe_path(&link).unwrap(), fs::canonicalize(&path).unwrap());
        assert!(safe_path(&links.path().join("none")).is_err());
    }

    /// The installer is a file beside the server's program, of an owner of its own.
    #[test]
    fn an_installer_that_others_may_write_is_not_run() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("bin")).unwrap();
        let installer = base.path().join("bin/mariadb-install-db");
        fs::write(&installer, "#!/bin/sh\n").unwrap();
        let path = base.path().join("bin/mariadbd");
        let binary = Binary { path, version: Version::parse("10.11.6-MariaDB").unwrap() };
        for (mode, is_run) in [(0o755, true), (0o777, false)] {
            fs::set_permissions(&installer, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(safe_installer(&binary).is_ok(), is_run, "{mode:o}");
        }
    }
}
