//! The files of a command: none that is read is written over, and none is written twice.

use std::path::{Path, PathBuf};

use ::export::ExportOptions;
use load::options::files_of;
use load::{CommandFiles, LoadOptions};
use terminal::connect::ConnectArgs;
use terminal::failure::Failure;

use crate::args::LoadArgs;

/// Judges the files of a load, a check or a comparison, before any is opened for writing.
pub(crate) fn check_load(args: &LoadArgs, tables: &[LoadOptions]) -> Result<(), Failure> {
    let mut files = files_of(tables);
    for (option, path) in [("--ddl", &args.ddl), ("the job file", &args.job)] {
        path.iter().for_each(|path| files.reads(option, path));
    }
    args.report.iter().for_each(|path| files.writes("--report", path));
    check(files, &args.connect)
}

/// Judges the files of an export.
pub(crate) fn check_export(options: &ExportOptions, args: &ConnectArgs) -> Result<(), Failure> {
    let mut files = CommandFiles::new();
    options.written_over().iter().for_each(|path| files.writes("-o", path));
    check(files, args)
}

/// Judges the inputs of a command that only prints: its output may go to one of them.
pub(crate) fn check_inputs(inputs: &[PathBuf], args: &ConnectArgs) -> Result<(), Failure> {
    let mut files = CommandFiles::new();
    inputs.iter().for_each(|path| files.reads("the input", path));
    check(files, args)
}

/// Names the files that have only their header: nobody has to look for the rows.
pub(crate) fn tell_headers(args: &LoadArgs, tables: &[LoadOptions]) -> Result<(), Failure> {
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
    Ok(())
}

fn check(mut files: CommandFiles, args: &ConnectArgs) -> Result<(), Failure> {
    // An option file that cannot be read is refused where the server is looked for.
    let option_files = args.option_files().paths().unwrap_or_default();
    option_files.iter().for_each(|path| files.reads("the option file", path));
    args.secure.files().for_each(|(option, path): (_, &Path)| files.reads(option, path));
    files.writes_streams();
    Ok(files.check()?)
}
