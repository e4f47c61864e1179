//! A dump's statements, read as the server reads them.

use std::path::{Path, PathBuf};

use server::Session;
use server::version::Flavor;
use sources::dump::{SqlOptions, SqlReader, Statement};
use sql::command::may_be_statement;
use sql::{Comments, StatementKind, Syntax};

use crate::error::Error;
use crate::options::ReplayOptions;
use crate::place::head;
use crate::state::SessionState;

/// Part of the memory that one statement may take: it is held as read, and as it is sent.
const STATEMENT_SHARE: u64 = 4;

/// How statements are read that go to the server of this session.
pub(crate) fn options(options: &ReplayOptions, own: &Session) -> SqlOptions {
    SqlOptions { comments: comments(own), ..without_server(options) }
}

/// Which version comments the server of this session runs.
pub(crate) fn comments(own: &Session) -> Comments {
    let version = own.version();
    let (major, minor, patch) = version.number;
    Comments {
        mariadb: version.flavor == Flavor::MariaDb,
        version: u32::from(major) * 10_000 + u32::from(minor) * 100 + u32::from(patch),
    }
}

/// The same where no server is asked.
pub(crate) fn without_server(options: &ReplayOptions) -> SqlOptions {
    SqlOptions {
        statement_bytes_max: usize::try_from(options.memory_bytes_max / STATEMENT_SHARE)
            .unwrap_or(usize::MAX),
        below: options.folder(),
        partial: options.partial,
        temp_dir: options.temp_dir.clone(),
        stop: options.interrupt.flag(),
        ..SqlOptions::default()
    }
}

/// Has a reader go on as a session reads that is set to `state`.
pub(crate) fn follow(reader: &mut SqlReader, state: &SessionState) {
    reader.set_syntax(Syntax {
        no_backslash_escapes: state.has_mode("NO_BACKSLASH_ESCAPES"),
        ansi_quotes: state.has_mode("ANSI_QUOTES"),
        characters: reader.syntax().characters,
    });
}

/// Opens files of statements. A dump that is one file may name files beside it by `source`.
///
/// Errors: opening; a dump of another format.
pub(crate) fn open(
    files: &[PathBuf],
    options: &ReplayOptions,
    reading: SqlOptions,
) -> Result<SqlReader, Error> {
    let reading = SqlOptions { source_folder: source_folder(files, options), ..reading };
    let mut reader = SqlReader::open(files, reading)?;
    if is_dump(&reader, options) {
        check_format(&mut reader, &options.dump)?;
    }
    Ok(reader)
}

/// True if the reader has all of a dump that is one file, or a pipe.
fn is_dump(reader: &SqlReader, options: &ReplayOptions) -> bool {
    reader.files().first().is_some_and(|file| file.path == options.dump)
}

/// The folder of a dump that is one file.
fn source_folder(files: &[PathBuf], options: &ReplayOptions) -> Option<PathBuf> {
    let path = files.first().filter(|&path| *path == options.dump)?;
    if sources::is_stdin(path) || !path.is_file() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Some(folder.unwrap_or(Path::new(".")).to_owned())
}

/// Errors: the first bytes are those of another format, or there are none.
fn check_format(reader: &mut SqlReader, dump: &Path) -> Result<(), Error> {
    match reader.begin() {
        Ok(Some(start)) => match sniff::other_than_sql(start) {
            Some(what) => Err(Error::Usage(format!("{} is {what}", dump.display()))),
            None => Ok(()),
        },
        Ok(None) => {
            Err(Error::Usage(format!("{} is empty; create the dump again", dump.display())))
        }
        Err(error) => Err(unfit(error.into())),
    }
}

/// Checks the first statement that a dump of one file gave.
///
/// Errors: there is none, its first word begins none, or the dump has another format.
pub(crate) fn first(
    reader: &SqlReader,
    options: &ReplayOptions,
    found: Result<Option<Statement>, Error>,
) -> Result<Option<Statement>, Error> {
    if !is_dump(reader, options) {
        return found;
    }
    let dump = options.dump.display();
    match found.map_err(unfit)? {
        None => Err(Error::Usage(format!(
            "{dump} holds no SQL statement, only comments; create the dump again"
        ))),
        Some(Statement { kind: StatementKind::Other, text, line, .. })
            if !may_be_statement(&text) =>
        {
            let begin = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
            Err(Error::Usage(format!(
                "{dump} is not a SQL dump: line {line} begins with {:?}, which is no SQL statement; \
                 inrush load loads delimited files",
                head(begin)
            )))
        }
        statement => Ok(statement),
    }
}

/// Checks a dump that is one file before a server is asked. A pipe is checked when it is read.
pub(crate) fn check(options: &ReplayOptions) -> Result<(), Error> {
    if !options.dump.is_file() {
        return Ok(());
    }
    let mut reader = open(std::slice::from_ref(&options.dump), options, without_server(options))?;
    let found = reader.next().map_err(Error::from);
    match first(&reader, options, found) {
        // The replay says it, or passes over it.
        Ok(_) | Err(Error::Source(sources::Error::Sql { .. })) => Ok(()),
        Err(error) => Err(error),
    }
}

/// An input that is no SQL is unfit, and no failure.
fn unfit(error: Error) -> Error {
    match error {
        Error::Source(sources::Error::NotText { .. }) => Error::Usage(error.to_string()),
        error => error,
    }
}

/// The file of a statement. It may be one that the dump names by `source`.
pub(crate) fn file_of(
    reader: &SqlReader,
    statement: &Statement,
    options: &ReplayOptions,
) -> PathBuf {
    let file = reader.files().get(statement.file as usize);
    file.map_or_else(|| options.dump.clone(), |file| file.path.clone())
}
