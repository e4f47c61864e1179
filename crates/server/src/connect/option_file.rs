//! Option files (`my.cnf`), read as the mariadb client reads them.
//!
//! Source: MariaDB 10.11, mysys/my_default.c `search_default_file_with_ext`.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Groups that are read, in no particular order: the line that comes last wins.
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "inrush"];
/// Files include files this deep.
const DEPTH_MAX: usize = 10;

/// Which option files to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionFiles {
    /// `--no-defaults`: none at all.
    pub none: bool,
    /// `--defaults-file`: only this one, which must exist.
    pub only: Option<PathBuf>,
    /// `--defaults-extra-file`: after the global ones, before the user's; must exist.
    pub extra: Option<PathBuf>,
    /// `--defaults-group-suffix`: `[client]` and `[client_suffix]`.
    pub group_suffix: Option<String>,
}

/// One option of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Setting {
    /// Lower case is not forced; `_` is written `-`, a `loose-` in front is gone.
    pub name: String,
    /// None when the line had no `=`.
    pub value: Option<String>,
    /// The group it stood in.
    pub group: String,
    /// The file.
    pub file: PathBuf,
    /// 1-based line; 0 for a setting that is in no file, whose source `file` names.
    pub line: usize,
    /// True if it is one of the machine's files, not the user's or one that an option names.
    pub is_global: bool,
}

impl Setting {
    /// `/etc/my.cnf, line 3`.
    pub fn place(&self) -> String {
        if self.line == 0 {
            return self.file.display().to_string();
        }
        format!("{}, line {}", self.file.display(), self.line)
    }

    /// True if a switch is on: no value, or anything but 0, off and false.
    pub fn is_on(&self) -> bool {
        let off = |v: &str| ["0", "off", "false", "no"].contains(&v.to_ascii_lowercase().as_str());
        !self.value.as_deref().is_some_and(off)
    }
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The value may be a password.
        write!(f, "{} = .. ({})", self.name, self.place())
    }
}

impl OptionFiles {
    /// All settings of our groups, in the order they are read.
    ///
    /// A file that everyone may write is passed over with a warning, as is one that cannot be
    /// read. Errors: a file named by an option that is missing; a line without sense.
    pub fn read(&self, warnings: &mut Vec<String>) -> Result<Vec<Setting>> {
        Ok(self.read_all(warnings)?.settings)
    }

    /// The files that are read, with those that they include.
    ///
    /// Errors: as [`OptionFiles::read`].
    pub fn paths(&self) -> Result<Vec<PathBuf>> {
        Ok(self.read_all(&mut Vec::new())?.paths)
    }

    fn read_all<'a>(&'a self, warnings: &'a mut Vec<String>) -> Result<Reader<'a>> {
        let (settings, paths) = (Vec::new(), Vec::new());
        let mut reader = Reader { files: self, settings, paths, warnings, is_global: false };
        if self.none {
            return Ok(reader);
        }
        if let Some(only) = &self.only {
            reader.required(only)?;
            return Ok(reader);
        }
        reader.is_global = true;
        for global in ["/etc/my.cnf", "/etc/mysql/my.cnf"] {
            reader.optional(Path::new(global))?;
        }
        reader.is_global = false;
        if let Some(extra) = &self.extra {
            reader.required(extra)?;
        }
        if let Some(home) = std::env::var_os("HOME") {
            reader.optional(&Path::new(&home).join(".my.cnf"))?;
        }
        Ok(reader)
    }

    fn wants(&self, group: &str) -> bool {
        let base = match &self.group_suffix {
            Some(suffix) => group.strip_suffix(suffix.as_str()).unwrap_or(group),
            None => group,
        };
        GROUPS.contains(&base) || GROUPS.contains(&group)
    }
}

struct Reader<'a> {
    files: &'a OptionFiles,
    settings: Vec<Setting>,
    paths: Vec<PathBuf>,
    warnings: &'a mut Vec<String>,
    is_global: bool,
}

impl Reader<'_> {
    fn required(&mut self, path: &Path) -> Result<()> {
        std::fs::metadata(path).map_err(|e| Error::io("reading", path, e))?;
        self.file(path, 0)
    }

    fn optional(&mut self, path: &Path) -> Result<()> {
        if path.exists() { self.file(path, 0) } else { Ok(()) }
    }

    fn file(&mut self, path: &Path, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            self.warnings.push(format!("{} is included too deep, ignored", path.display()));
            return Ok(());
        }
        let meta = std::fs::metadata(path).map_err(|e| Error::io("reading", path, e))?;
        if meta.is_file() && meta.mode() & 0o002 != 0 {
            self.warnings.push(format!("{} is world-writable, ignored", path.display()));
            return Ok(());
        }
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) => {
                self.warnings.push(format!("{} cannot be read ({e}), ignored", path.display()));
                return Ok(());
            }
        };
        self.paths.push(path.to_owned());
        let text = String::from_utf8_lossy(&bytes);
        let mut group = None;
        for (i, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            self.line(path, i + 1, line.trim(), &mut group, depth)?;
        }
        Ok(())
    }

    fn line(
        &mut self,
        path: &Path,
        number: usize,
        line: &str,
        group: &mut Option<String>,
        depth: usize,
    ) -> Result<()> {
        let wrong = |message: &str| Error::OptionFile {
            path: path.to_owned(),
            line: number,
            message: message.to_owned(),
        };
        if line.is_empty() || line.starts_with(['#', ';']) {
            return Ok(());
        }
        if let Some(directive) = line.strip_prefix('!') {
            return self.include(
                directive,
                depth,
                wrong(
                    "the line begins with ! but is neither \
                                                         !include nor !includedir",
                ),
            );
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split_once(']').ok_or_else(|| wrong("group without ]"))?.0;
            *group = Some(name.trim().to_owned());
            return Ok(());
        }
        let group = group.as_deref().ok_or_else(|| {
            wrong(
                "an option stands before the first \
                                                          [group]",
            )
        })?;
        if !self.files.wants(group) {
            return Ok(());
        }
        let line = without_comment(line);
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(unquoted(value.trim()))),
            None => (line.trim_end(), None),
        };
        let name = name.replace('_', "-");
        let name = name.strip_prefix("loose-").unwrap_or(&name).to_owned();
        let (file, group) = (path.to_owned(), group.to_owned());
        let is_global = self.is_global;
        self.settings.push(Setting { name, value, group, file, line: number, is_global });
        Ok(())
    }

    fn include(&mut self, directive: &str, depth: usize, wrong: Error) -> Result<()> {
        if let Some(dir) = directive.strip_prefix("includedir") {
            let Ok(entries) = std::fs::read_dir(dir.trim()) else {
                self.warnings.push(format!("folder {} cannot be read, ignored", dir.trim()));
                return Ok(());
            };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
            paths.retain(|path| path.extension().is_some_and(|e| e == "cnf"));
            paths.sort();
            return paths.iter().try_for_each(|path| self.file(path, depth + 1));
        }
        let Some(path) = directive.strip_prefix("include") else { return Err(wrong) };
        let path = Path::new(path.trim());
        if path.exists() { self.file(path, depth + 1) } else { Ok(()) }
    }
}

/// The line up to a `#` outside quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('#', None) => return line[..at].trim_end(),
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open && !escaped => quote = None,
            _ => {}
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line
}

/// A value without its quotes, escapes resolved. An unknown escape keeps its backslash.
fn unquoted(value: &str) -> String {
    let inner =
        ['\'', '"'].iter().find_map(|&q| value.strip_prefix(q)?.strip_suffix(q)).unwrap_or(value);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some(c @ ('\\' | '\'' | '"')) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unquoted_and_comments_cut() {
        let cases = [
            ("a=b # c", "b"),
            ("a='b # c' # d", "b # c"),
            ("a=\"x\\\"#y\"", "x\"#y"),
            ("a=p\\sq\\t\\\\", "p q\t\\"),
            ("a=C:\\dir", "C:\\dir"),
            ("a = ", ""),
            ("a='", "'"),
        ];
        for (line, want) in cases {
            let value = without_comment(line).split_once('=').map(|(_, v)| unquoted(v.trim()));
            assert_eq!(value.as_deref(), Some(want), "{line}");
        }
    }
}
