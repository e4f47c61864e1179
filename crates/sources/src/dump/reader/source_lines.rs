//! Files that a dump names by `source FILE`, read in its place.
//!
//! ```text
//! inputs: a.sql                       a.sql names b.sql
//!         a.sql  b.sql  a.sql         the rest of a.sql is an input of its own, so that places keep their order
//! ```

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use sql::Problem;

use super::SqlReader;
use crate::bytes::input::Input;
use crate::dump::window::Window;
use crate::error::{Error, Result};
use crate::source::InputFile;

/// Files that name each other, one in the other.
const DEPTH_MAX: usize = 16;

/// An input that waits for the end of one that it names.
#[derive(Debug)]
pub(in crate::dump) struct Suspended {
    window: Window,
    /// The named file, without links.
    named: PathBuf,
}

impl SqlReader {
    /// Goes on in the file that a line of `size` bytes names.
    ///
    /// Errors: [`Problem::Source`], behind the line; opening the file.
    pub(super) fn source(&mut self, file: &[u8], size: usize) -> Result<()> {
        let found = self.named_file(file);
        let Some(mut window) = self.window.take() else { return Ok(()) };
        let (folder, named) = match found {
            Ok(named) => named,
            Err(why) => {
                let file: String =
                    String::from_utf8_lossy(file).chars().take(SHOWN_CHARS).collect();
                let problem = Problem::Source { reason: format!("{file:?}, which {why}") };
                let at = window.position(0);
                window.take(size);
                self.window = Some(window);
                return Err(Error::Sql { at, problem, statement: String::new() });
            }
        };
        window.take(size);
        let rest = self.inputs.get(self.index).cloned();
        let input = Input::find_below(&folder, &named)?;
        let bytes = [input.bytes(), Some(0)];
        for (at, (input, bytes)) in std::iter::once(input).chain(rest).zip(bytes).enumerate() {
            self.files
                .insert(self.index + 1 + at, InputFile { path: input.path().to_owned(), bytes });
            self.inputs.insert(self.index + 1 + at, input);
        }
        self.bytes_before += window.consumed();
        self.suspended.push(Suspended { window, named });
        self.index += 1;
        self.lead = None;
        self.open_input().map(drop)
    }

    /// Goes on in the input that named the last one, if there is one.
    pub(super) fn resume(&mut self) -> bool {
        let Some(Suspended { window, .. }) = self.suspended.pop() else { return false };
        self.bytes_before -= window.consumed();
        self.window = Some(window);
        self.lead = None;
        true
    }

    /// The folder of the dump, and the path of a named file in it, both without links.
    ///
    /// Errors: the end of a sentence about the file: why it is not read, and what to do.
    fn named_file(&self, file: &[u8]) -> Result<(PathBuf, PathBuf), String> {
        let is_sandboxed = self.window.as_ref().is_some_and(|window| window.is_sandboxed);
        if is_sandboxed {
            return Err("is not read: the dump forbids it by its line \"enable the sandbox mode\""
                .to_owned());
        }
        let folder = self.options.source_folder.as_deref().ok_or(
            "is not read, because the dump is a pipe or a folder; replay a dump that is a file, or \
             the files one after the other",
        )?;
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let path = folder.join(OsStr::from_bytes(file));
        let missing = |error| {
            format!(
                "cannot be read ({error}); it must be in the folder of the dump, {}",
                folder.display()
            )
        };
        let path = fs::canonicalize(path).map_err(missing)?;
        let is_plain = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if !path.starts_with(&folder) || !is_plain {
            return Err(format!(
                "is not read: only plain files in the folder of the dump, {}, are; copy the file \
                 there, or replay it alone",
                folder.display()
            ));
        }
        let dump = self.inputs.first().and_then(|input| fs::canonicalize(input.path()).ok());
        if dump.as_ref() == Some(&path) || self.suspended.iter().any(|one| one.named == path) {
            return Err("is being read already: the files name each other in a circle".to_owned());
        }
        match self.suspended.len() < DEPTH_MAX {
            true => Ok((folder, path)),
            false => Err(format!("is not read: more than {DEPTH_MAX} files name each other")),
        }
    }
}

/// Characters of a file's name in messages.
const SHOWN_CHARS: usize = 80;
