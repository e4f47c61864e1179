//! The files of a command: none that is read is written over, and none is written twice.

use std::path::{Path, PathBuf};
use std::slice;

use ::export::ExportOptions;
use load::options::{InputOptions, files_of};
use load::{CommandFiles, LoadOptions};
use sources::{Part, Sample, remote};
use terminal::connect::ConnectArgs;
use terminal::failure::Failure;

use crate::args::{LoadArgs, WatchArgs};

/// Judges the files of a load, a check or a comparison, before any is opened for writing.
pub(crate) fn check_load(args: &LoadArgs, tables: &[LoadOptions]) -> Result<(), Failure> {
    let mut files = files_of(tables);
    for (option, path) in [("--ddl", &args.ddl), ("the job file", &args.job)] {
        path.iter().for_each(|path| files.reads(option, path));
    }
    args.report.iter().for_each(|path| files.writes("--report", path));
    args.watch.metrics.iter().for_each(|path| files.writes("--metrics", path));
    check(files, &args.connect)
}

/// Judges the files of an export.
pub(crate) fn check_export(
    options: &ExportOptions,
    watch: &WatchArgs,
    args: &ConnectArgs,
) -> Result<(), Failure> {
    let mut files = CommandFiles::new();
    watch.metrics.iter().for_each(|path| files.writes("--metrics", path));
    options.written_over().iter().for_each(|path| files.writes("-o", path));
    check(files, args)
}

/// Judges the inputs of a command that only prints: its output may go to one of them.
pub(crate) fn check_inputs(
    inputs: &[PathBuf],
    watch: &WatchArgs,
    args: &ConnectArgs,
) -> Result<(), Failure> {
    let mut files = CommandFiles::new();
    watch.metrics.iter().for_each(|path| files.writes("--metrics", path));
    inputs.iter().for_each(|path| files.reads("the input", path));
    check(files, args)
}

/// Prints notes about the input: files that have only their header, and quotes that are not read as they were
/// written.
pub(crate) fn tell_notes(args: &LoadArgs, tables: &[LoadOptions]) -> Result<(), Failure> {
    if args.quiet {
        return Ok(());
    }
    // The lines of all tables of a job file are those of the same files.
    let tables_with_files = if args.job.is_some() { 1 } else { tables.len() };
    for options in &tables[..tables_with_files] {
        for file in encode::input::only_headers(options)? {
            tell!("note: {} has no rows behind its first line", file.display());
        }
    }
    if !args.create && args.format.fields_escaped_by.is_none() {
        tables.first().and_then(escaped_quotes).iter().for_each(|path| {
            tell!(
                "note: quoted fields of {} contain \\\", which is read as a backslash and a quote; \
                 --fields-escaped-by '\\' reads it as a quote",
                path.display()
            );
        });
    }
    Ok(())
}

/// The first file, if it has quoted fields with quotes behind backslashes, which its dialect keeps.
fn escaped_quotes(options: &LoadOptions) -> Option<&Path> {
    /// Memory for a look at the file.
    const LOOK_BYTES: u64 = 1 << 20;
    let InputOptions { files, dialect, encoding, kept, .. } = &options.input;
    let quote = dialect.enclosed_by.filter(|_| dialect.escaped_by.is_none())?;
    let path = files.first().filter(|path| remote::plain_bytes(path).is_some())?;
    let temp_dir = &options.limits.temp_dir;
    let sample = Sample::take(slice::from_ref(path), kept, *encoding, temp_dir, LOOK_BYTES).ok()?;
    // At the end of a field the backslash is a character, as in "C:\".
    let ends = |byte: u8| {
        byte == quote
            || b"\r\n".contains(&byte)
            || dialect.fields_terminated_by.first() == Some(&byte)
    };
    let is_escaped = |bytes: &[u8]| bytes[0] == b'\\' && bytes[1] == quote && !ends(bytes[2]);
    let has_escape = |part: &Part| part.bytes.windows(3).any(is_escaped);
    sample.parts.iter().any(has_escape).then_some(path)
}

fn check(mut files: CommandFiles, args: &ConnectArgs) -> Result<(), Failure> {
    // An option file that cannot be read is refused where the server is looked for.
    let option_files = args.option_files().paths().unwrap_or_default();
    option_files.iter().for_each(|path| files.reads("the option file", path));
    args.secure.files().for_each(|(option, path): (_, &Path)| files.reads(option, path));
    files.writes_streams();
    Ok(files.check()?)
}
