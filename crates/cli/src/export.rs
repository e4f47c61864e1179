//! `inrush export`: the rows of a table into files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;

use ::export::{Compression, ExportOptions, ExportReport, Format, Place, Split};
use columnar::Kind;
use schema::TableName;
use serde::Serialize;
use server::ConnectOptions;
use sources::{Preset, remote};
use terminal::failure::Failure;
use terminal::plain::Lines;
use terminal::signals;
use terminal::size::{self, count, group, show};

use crate::args::{CompressionArg, ExportArgs, FileFormatArg};
use crate::connect::{self, Into};
use crate::dialect::dialect;
use crate::watch::{Totals, Watch};
use crate::{files, objects, print};

/// Exports, and prints the report.
pub(crate) fn run(args: &ExportArgs, watch: &Watch) -> Result<u8, Failure> {
    let (table, is_database) = match connect::into(&args.table)? {
        Into::Table(table) => (table, false),
        // Options are judged before any server is asked for the names of tables.
        Into::Database(database) => (TableName::new(&database, "any"), true),
    };
    let mut options = options(args, table)?;
    if is_database {
        check_database(args, &options.place)?;
    }
    if remote::is_object_url(&args.output) {
        options.store = Some(objects::folder(&args.output, &options)?);
    }
    files::check_export(&options, &args.watch, &args.connect)?;
    let visit = connect::existing(&args.connect)?;
    signals::watch(&options.interrupt, signals::UNCHANGED, args.quiet)?;
    match is_database {
        true => all_tables(args, &options, &visit.connect, watch),
        false => one_table(args, &options, &visit.connect, watch),
    }
}

fn one_table(
    args: &ExportArgs,
    options: &ExportOptions,
    connect: &ConnectOptions,
    watch: &Watch,
) -> Result<u8, Failure> {
    let report = export(options, connect, watch).map_err(|error| match &error {
        ::export::Error::Io { source, .. }
            if options.place == Place::Stdout && source.kind() == io::ErrorKind::BrokenPipe =>
        {
            Failure::hung_up()
        }
        _ => failure(error),
    })?;
    watch.totals(totals(slice::from_ref(&report)));
    let printed = if args.json {
        print::json(&mut terminal::out(), &report)
    } else if args.quiet {
        Ok(())
    } else if options.place == Place::Stdout {
        print(&mut Lines::new(io::stderr().lock()), &report, &options.format)
    } else {
        print(&mut terminal::lines(), &report, &options.format)
    };
    print::tell_unprinted("export", printed);
    Ok(0)
}

/// Exports the tables of a database, one after the other; those before a failure keep their files.
fn all_tables(
    args: &ExportArgs,
    options: &ExportOptions,
    connect: &ConnectOptions,
    watch: &Watch,
) -> Result<u8, Failure> {
    let tables = ::export::tables(connect, &options.table.database).map_err(failure)?;
    let (mut reports, of) = (Vec::new(), tables.len());
    for table in tables {
        watch.table(&table.to_string(), reports.len() + 1, of);
        let of_table = ExportOptions { table, ..options.clone() };
        let report = export(&of_table, connect, watch).map_err(|error| {
            let failure = failure(error);
            let done = count(reports.len() as u64, "table");
            let text = format!("{}: {}; {done} exported before it", of_table.table, failure.text);
            Failure { text, ..failure }
        })?;
        if !args.json && !args.quiet {
            let printed = print(&mut terminal::lines(), &report, &options.format);
            print::tell_unprinted("export", printed);
        }
        reports.push(report);
    }
    watch.totals(totals(&reports));
    if args.json {
        let several = SeveralExports { database: &options.table.database, tables: &reports };
        print::tell_unprinted("export", print::json(&mut terminal::out(), &several));
    } else if !args.quiet && reports.len() > 1 {
        tell!("note: the tables are of different moments; each has all rows of one moment");
    }
    Ok(0)
}

/// The report of a database.
#[derive(Serialize)]
struct SeveralExports<'r> {
    database: &'r str,
    /// Each table, in the order in which they were exported.
    tables: &'r [ExportReport],
}

/// Rows and bytes of the files. An export rejects no rows.
fn totals(reports: &[ExportReport]) -> Totals {
    Totals {
        rows: reports.iter().map(|report| report.rows).sum(),
        bytes: Some(reports.iter().map(|report| report.file_bytes).sum()),
        rejected: 0,
    }
}

fn export(
    options: &ExportOptions,
    connect: &ConnectOptions,
    watch: &Watch,
) -> Result<ExportReport, ::export::Error> {
    // A bar that is still there would stand in the report.
    spider::export(connect, options, &*watch.progress())
}

/// Refuses options that mean one table.
fn check_database(args: &ExportArgs, place: &Place) -> Result<(), Failure> {
    let wrong = match () {
        () if !matches!(place, Place::Folder { .. }) => "-o must be a folder, which ends with /",
        () if args.condition.is_some() => "--where is for one table",
        () if args.columns.is_some() => "--columns is for one table",
        () => return Ok(()),
    };
    let database = &args.table;
    Err(Failure::usage(format!("{database} is a database: {wrong}; a table is named DB.TABLE")))
}

fn failure(error: ::export::Error) -> Failure {
    match error {
        ::export::Error::Server(error) => Failure::from(error),
        ::export::Error::Usage(text) => Failure::usage(text),
        error => Failure { status: error.exit_status(), ..Failure::failed(error) },
    }
}

/// The typed options as those of an export.
fn options(args: &ExportArgs, table: TableName) -> Result<ExportOptions, Failure> {
    let folder = is_folder(&args.output);
    let by_ending = Ending::of(if folder { Path::new("-") } else { &args.output });
    let format = format(args, &by_ending)?;
    let compression = match args.compression {
        Some(CompressionArg::None) => Compression::None,
        Some(CompressionArg::Gzip) => Compression::Gzip,
        Some(CompressionArg::Zstd) => Compression::Zstd,
        None if format == Format::Columnar(Kind::Parquet) => Compression::Zstd,
        None => by_ending.compression,
    };
    let place = if args.output.as_os_str() == "-" {
        Place::Stdout
    } else if folder {
        let ending = ending(args, &format, compression);
        Place::Folder { path: args.output.clone(), ending }
    } else {
        Place::File(args.output.clone())
    };
    if place == Place::Stdout && args.json {
        return Err(Failure::usage("--json and -o - both print on standard output"));
    }
    if args.no_create && format != Format::Sql {
        return Err(Failure::usage("--no-create needs --format sql"));
    }
    let mut options = ExportOptions::new(table, place);
    if let Some(threads) = args.threads {
        if threads == 0 {
            return Err(Failure::usage("--threads must be at least 1"));
        }
        options.threads = threads;
    }
    if let Some(memory) = &args.memory {
        options.memory_bytes_max = size::of_option("--memory", memory).map_err(Failure::usage)?;
    }
    if args.split_rows == Some(0) {
        return Err(Failure::usage("--split-rows must be at least 1"));
    }
    let bytes =
        args.split_size.as_deref().map(|text| size::of_option("--split-size", text)).transpose();
    options.split = Split { rows: args.split_rows, bytes: bytes.map_err(Failure::usage)? };
    options.way = args.path;
    Ok(ExportOptions {
        force: args.force,
        format,
        creates_table: !args.no_create,
        compression,
        columns: args.columns.clone(),
        condition: args.condition.clone(),
        time_zone: args.time_zone.clone(),
        lock_wait_seconds: args.lock_wait,
        shard_addresses: args.shard.clone(),
        ..options
    })
}

fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The meaning of a file's name.
struct Ending {
    compression: Compression,
    /// None of an ending that stands for no format.
    format: Option<FileFormatArg>,
    /// The name without the ending of what compresses it.
    plain: PathBuf,
}

impl Ending {
    fn of(file: &Path) -> Ending {
        let ending = |file: &Path| {
            file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase)
        };
        let compression = match ending(file).as_deref() {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        };
        let plain = match compression {
            Compression::None => file.to_owned(),
            _ => file.with_extension(""),
        };
        let format = match ending(&plain).as_deref() {
            Some("sql") => Some(FileFormatArg::Sql),
            Some("jsonl" | "ndjson") => Some(FileFormatArg::Jsonl),
            Some("parquet") => Some(FileFormatArg::Parquet),
            Some("arrow" | "feather") => Some(FileFormatArg::Arrow),
            Some("csv" | "tsv" | "tbl" | "txt") | None => Some(FileFormatArg::Text),
            Some(_) => None,
        };
        Ending { compression, format, plain }
    }
}

fn format(args: &ExportArgs, ending: &Ending) -> Result<Format, Failure> {
    let by_ending = match (args.cut.are_default(), ending.format) {
        (true, format) => format,
        (false, format @ Some(FileFormatArg::Parquet | FileFormatArg::Arrow)) => format,
        // Who says how fields are cut means text.
        (false, _) => Some(FileFormatArg::Text),
    };
    let Some(format) = args.format.or(by_ending) else {
        return Err(Failure::usage(format!(
            "-o {}: unknown ending; known endings are .csv .tsv .tbl .txt .sql .jsonl .ndjson, \
             each also with .gz or .zst, and .parquet .arrow .feather; other names need --format \
             text, sql, jsonl, parquet or arrow",
            args.output.display()
        )));
    };
    if format != FileFormatArg::Text && !args.cut.are_default() {
        return Err(Failure::usage("--dialect, --header and field separators need --format text"));
    }
    Ok(match format {
        FileFormatArg::Sql => Format::Sql,
        FileFormatArg::Jsonl => Format::JsonLines,
        FileFormatArg::Parquet => typed(args, ending, Kind::Parquet)?,
        FileFormatArg::Arrow => typed(args, ending, Kind::Arrow)?,
        FileFormatArg::Text => {
            let cut = args.cut.of_load();
            let header = cut.has_header();
            Format::Delimited { dialect: Box::new(dialect(&cut, &ending.plain)?), header }
        }
    })
}

/// A format of typed columns, which are compressed inside of the file.
fn typed(args: &ExportArgs, ending: &Ending, kind: Kind) -> Result<Format, Failure> {
    match ending.compression {
        Compression::None => Ok(Format::Columnar(kind)),
        Compression::Gzip | Compression::Zstd => Err(Failure::usage(format!(
            "-o {}: {} files compress their columns; --compression chooses how, and the name has no \
             .gz or .zst",
            args.output.display(),
            kind.name()
        ))),
    }
}

/// The end of the names of files in a folder.
fn ending(args: &ExportArgs, format: &Format, compression: Compression) -> String {
    let preset = args.cut.dialect.map_or(Preset::Mysql, Preset::from);
    let plain = match (format, preset) {
        (Format::Sql, _) => "sql",
        (Format::JsonLines, _) => "jsonl",
        (Format::Columnar(kind), _) => return kind.name().to_lowercase(),
        (Format::Delimited { .. }, Preset::Csv) => "csv",
        (Format::Delimited { .. }, Preset::Tsv) => "tsv",
        (Format::Delimited { .. }, Preset::Tbl) => "tbl",
        (Format::Delimited { .. }, _) => "txt",
    };
    match compression {
        Compression::None => plain.to_owned(),
        Compression::Gzip => format!("{plain}.gz"),
        Compression::Zstd => format!("{plain}.zst"),
    }
}

fn print(out: &mut impl Write, report: &ExportReport, format: &Format) -> io::Result<()> {
    let plain = if matches!(format, Format::Columnar(_)) { "values" } else { "text" };
    let ExportReport { table, path, why, server, server_address, .. } = report;
    writeln!(
        out,
        "{table}: {} exported, from {server} ({server_address})",
        count(report.rows, "row")
    )?;
    writeln!(
        out,
        "  {:.2} s, {} rows/s, {:.1} MB/s of {plain} ({} of {plain}, {} written), {}",
        report.seconds,
        group(report.rows_per_second as u64),
        report.megabytes_per_second,
        show(report.bytes),
        show(report.file_bytes),
        count(report.threads as u64, "thread"),
    )?;
    match report.files.as_slice() {
        [] => {}
        [file] => writeln!(out, "  file {}", file.display())?,
        [first, .., last] => {
            let files = count(report.files.len() as u64, "file");
            writeln!(out, "  {files}, {} to {}", first.display(), last.display())?;
        }
    }
    writeln!(out, "  path {path}: {why}")?;
    report.notes.iter().try_for_each(|note| writeln!(out, "  note: {note}"))
}
