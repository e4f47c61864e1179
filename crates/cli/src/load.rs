//! `inrush load` and `inrush plan`: from what was typed to what it means.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::Duration;

use load::options::{InputOptions, Written};
use load::{Batches, CommandLine, LoadOptions, LoadPath, Progress, Replicas, charset};
use schema::TableName;
use sources::{Dialect, Preset, is_stdin};
use terminal::failure::{Failure, REJECTS, USAGE};
use terminal::{signals, size};

use crate::args::{BatchArgs, LoadArgs, PathArg, WrittenArgs, is_typed};
use crate::dialect::{dialect, preset};
use crate::html::ReportFile;
use crate::input::FormatArg;
use crate::print::Detail;
use crate::sniff::option_of;
use crate::watch::{Totals, Watch};
use crate::{
    backup_note, connect, files, guess, html, input, left_keys, print, proof, sniff, tuned,
};

/// Loads, and prints the report.
pub(crate) fn run(args: &LoadArgs, target: &TableName, watch: &Watch) -> Result<u8, Failure> {
    let mut options = options(args, target)?;
    files::check_load(args, slice::from_ref(&options))?;
    args.report.as_deref().map_or(Ok(()), html::check)?;
    options.command =
        CommandLine::of_this_process(options.input.files.iter().map(PathBuf::as_path));
    // No server is made or started for what cannot be loaded.
    let server = connect::meant(&args.connect)?;
    match server.is_made() {
        true => load::check(&options).map_err(Failure::of_load)?,
        false => drop(spider::plan(None, &options)?),
    }
    let visit = server.resolve(args.quiet)?;
    let server = watch.label(visit.connect.clone());
    left_keys::carry_over(&server, args.state_dir.as_deref());
    ::load::evaluate_expressions(&server, slice::from_mut(&mut options))?;
    ::load::check_types(&server, &options, &args.guessed.types)?;
    signals::watch(&options.interrupt, signals::LOADED, args.quiet)?;
    guess::guess(args, &server, slice::from_mut(&mut options))?;
    if args.is_verbose() && args.format.dialect.is_none() && !args.create {
        tell_dialect(&options.input.files[0]);
    }
    files::tell_notes(args, slice::from_ref(&options))?;
    let server = proof::before_load(server, &args.untested, &options, |server| {
        let is_known = proof::may_be_planned(&options);
        Ok(!is_known || spider::plan(Some(server), &options)?.is_direct())
    })?;
    let report = |path| ReportFile::create(path, &options, &target.to_string(), &server);
    let file = args.report.as_deref().map(report).transpose()?;
    let load = |progress: &dyn Progress| spider::load(&server, &options, progress);
    let outcome = html::recorded(file, watch.progress(), load);
    let mut out = terminal::lines();
    match outcome {
        Ok(report) => {
            watch.totals(Totals {
                rows: report.rows,
                bytes: Some(report.bytes),
                rejected: report.rejects,
            });
            // The rows are in, whether or not anybody can be told.
            print::tell_unprinted("load", show(&mut out, args, &report));
            for warning in &report.warnings {
                tell!("inrush: warning: {warning}");
            }
            let rejects = if report.rejects > 0 { REJECTS } else { 0 };
            Ok(left_keys::tell(&report.job, [&report]).unwrap_or(rejects))
        }
        Err(error) => Err(Failure::of_load(error)),
    }
}

/// A name's ending decides what the bytes mean: in `.tsv`, for one, that `\N` is text.
pub(crate) fn tell_dialect(file: &Path) {
    let preset = Preset::by_ending(file);
    let has_columns = InputOptions { files: vec![file.to_owned()], ..Default::default() };
    if preset != Preset::Mysql && !has_columns.has_columns() {
        let option = option_of(preset);
        tell!("note: read as --{option} {}, by the ending of {}", preset.name(), file.display());
    }
}

/// The detail in which these reports are printed.
pub(crate) fn detail(args: &LoadArgs, reports: &[load::Report]) -> Detail {
    Detail {
        is_verbose: args.is_verbose(),
        has_backup_note: backup_note::take(args.state_dir.as_deref(), reports),
    }
}

fn show(out: &mut impl Write, args: &LoadArgs, report: &load::Report) -> std::io::Result<()> {
    if args.json {
        print::json(out, report)
    } else if args.quiet {
        print::tell_left_out(print::left_out(report));
        Ok(())
    } else {
        print::report(out, report, detail(args, slice::from_ref(report)))
    }
}

/// Refuses typed options for files that this command does not write. Option files and variables are for all commands.
pub(crate) fn refuse_unwritten(options: &[&str]) -> Result<(), Failure> {
    let typed: Vec<OsString> = std::env::args_os().collect();
    match options.iter().find(|option| is_typed(&typed, option)) {
        None => Ok(()),
        Some(option) => Err(Failure::usage(format!(
            "--{option} names a file that this command does not write; --json prints the result"
        ))),
    }
}

/// Prints which path a load would take, and why; touches nothing.
pub(crate) fn plan(args: &LoadArgs, target: &TableName) -> Result<u8, Failure> {
    refuse_unwritten(&["report", "metrics"])?;
    let mut options = options(args, target)?;
    files::check_load(args, slice::from_ref(&options))?;
    let plan = match connect::visit(&args.connect)? {
        Ok(visit) => {
            tuned::recover(&visit.connect, args.state_dir.as_deref());
            ::load::evaluate_expressions(&visit.connect, slice::from_mut(&mut options))?;
            ::load::check_types(&visit.connect, &options, &args.guessed.types)?;
            guess::guess(args, &visit.connect, slice::from_mut(&mut options))?;
            let (server, note) = proof::foresee(&visit.connect, &args.untested, &options)?;
            let mut plan = spider::plan(Some(&server), &options)?;
            proof::note(&mut plan, note);
            plan.notes.extend(left_keys::found(&visit.connect));
            plan
        }
        Err(sandbox) => {
            let mut plan = spider::plan(None, &options)?;
            plan.server =
                format!("a sandbox, which would be created in {}", sandbox.dir().display());
            plan
        }
    };
    print::result(args, &plan, |mut out| {
        let address = plan.server_address.as_deref();
        let has_backup_note =
            address.is_some_and(|address| backup_note::is_due(args.state_dir.as_deref(), address));
        print::plan(&mut out, &plan, has_backup_note)
    })?;
    let may_be_made = plan.makes_table && plan.refused.is_empty();
    Ok(if plan.path.is_some() || may_be_made { 0 } else { USAGE })
}

/// The options of a load of one table.
pub(crate) fn options(args: &LoadArgs, target: &TableName) -> Result<LoadOptions, Failure> {
    if args.job.is_some() {
        return Err(Failure::usage("with a job file, --into names the database only: --into DB"));
    }
    if !args.map.is_empty() || args.each {
        return Err(Failure::usage(
            "--map and --each are for several tables: --into DB, without a table",
        ));
    }
    options_of(args, target, input::files(&args.files)?)
}

/// The options of a load of `files`, at least one, into a table.
pub(crate) fn options_of(
    args: &LoadArgs,
    target: &TableName,
    files: Vec<PathBuf>,
) -> Result<LoadOptions, Failure> {
    let mut options = options_but_ddl(args, target, files)?;
    options.ddl = match (&args.sent_ddl, &args.ddl) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(path)) => Some(read_ddl(path)?),
        (None, None) => None,
    };
    if args.create {
        sniff::create(args, slice::from_mut(&mut options))?;
    }
    Ok(options)
}

/// The same without what makes the table.
pub(crate) fn options_but_ddl(
    args: &LoadArgs,
    target: &TableName,
    files: Vec<PathBuf>,
) -> Result<LoadOptions, Failure> {
    let mut options = LoadOptions::new(files, &target.database, &target.table);
    if args.ddl.as_deref().is_some_and(is_stdin)
        && options.input.files.iter().any(|file| is_stdin(file))
    {
        return Err(Failure::usage(
            "--ddl and the input cannot both be the standard input; give --ddl another descriptor: \
             --ddl /dev/fd/3 3<FILE",
        ));
    }
    options.mode = args.mode.unwrap_or_default();
    options.path = match args.path {
        PathArg::Auto => LoadPath::Auto,
        PathArg::Direct => LoadPath::Direct,
        PathArg::Stream => LoadPath::Stream,
        PathArg::Insert | PathArg::Coordinator => LoadPath::Insert,
        PathArg::Import => LoadPath::Import,
    };
    options.server.through_head = args.path == PathArg::Coordinator;
    options.atomic = args.atomic;
    options.limits.batches = batches(&args.batches)?;
    options.server.replicas = replicas(&args.batches);
    options.server.shard_addresses.clone_from(&args.batches.shard);
    options.input.dialect = dialect(&args.format, &options.input.files[0])?;
    options.input.matching = args.format.matching();
    options.input.sheet.clone_from(&args.format.sheet);
    options.input.columnar = args.format.format.and_then(FormatArg::kind);
    if !sniff::says_dialect(&args.format, &options.input.files[0]) && options.input.has_columns() {
        // The ending of a name does not matter then.
        options.input.dialect = Dialect::mysql();
    }
    let meant = preset(&args.format, &options.input.files[0]);
    options.input.empty_is_null = meant.empty_is_null();
    options.input.columns = args.format.columns.clone();
    options.input.header = args.format.has_header();
    options.input.skip_lines = args.format.skip_lines;
    options.input.ignore_unknown_columns = args.written.ignore_unknown_columns;
    if let Some(json) = &mut options.input.dialect.json {
        json.ignores_unknown = args.written.ignore_unknown_columns || args.format.columns.is_some();
    }
    options.rows.constants = args.written.constants(None);
    options.input.written = written(&args.written);
    (options.input.charset, options.input.encoding) =
        charset::of_file(args.format.charset.as_deref());
    let is_preset = args.format.dialect.is_none() && !args.create;
    options.input.escape_is_assumed = is_preset && args.format.fields_escaped_by.is_none();
    // No text is read, so its escapes do not matter.
    options.input.escape_is_assumed &= options.input.kind()?.is_none();
    if let Some(memory) = &args.memory {
        options.limits.memory_bytes_max =
            size::of_option("--memory", memory).map_err(Failure::usage)?;
    }
    if let Some(page_cache) = &args.page_cache {
        let bytes = size::of_option("--page-cache", page_cache).map_err(Failure::usage)?;
        options.limits.page_cache_bytes = Some(bytes);
    }
    options.server.unlogged = args.unlogged;
    options.server.verifies = !args.no_verify;
    options.server.stamps = args.stamp.is_asked();
    options.server.no_triggers = args.no_triggers;
    options.server.untested = args.untested.untested_server;
    options.server.unchecked_keys = args.no_foreign_key_checks;
    options.keep_auto_increment = args.keep_auto_increment;
    if let Some(folder) = &args.temp_dir {
        options.limits.temp_dir = folder.clone();
    }
    if !args.create && args.guessed.are_given() {
        return Err(Failure::usage("--types, --collation and --one-column need --create"));
    }
    options.rows.rejects = args.rejects.clone();
    (options.rows.rejects_max, options.rows.rejects_max_percent) = rejects_max(&args.rejects_max)?;
    options.allow_empty = args.allow_empty;
    options.rows.on_duplicate = args.on_duplicate.unwrap_or_default();
    options.rows.duplicates = args.duplicates.clone();
    if let Some(threads) = args.threads {
        if threads == 0 {
            return Err(Failure::usage("--threads must be at least 1"));
        }
        options.limits.threads = threads;
    }
    if let Some(folder) = &args.state_dir {
        options.state_dir = folder.clone();
    }
    if let Some(percent) = args.fill {
        options.limits.fill = fill(percent)?;
    }
    options.server.lock_wait_seconds = args.lock_wait;
    options.server.tune = args.tune.class()?;
    options.server.write_block_seconds_max = match (args.max_write_block, args.path) {
        (Some(seconds), _) => Some(seconds),
        // Whoever asks for the path knows.
        (None, PathArg::Direct) => None,
        (None, _) => options.server.write_block_seconds_max,
    };
    options.rows.sql_mode.clone_from(&args.sql_mode);
    options.rows.time_zone.clone_from(&args.time_zone);
    Ok(options)
}

fn written(args: &WrittenArgs) -> Written {
    Written {
        columns: args.format_of.clone(),
        decimal_comma: args.decimal_comma,
        dates: args.date_format.clone(),
        yes_no: args.yes_no,
        trim: args.trim,
    }
}

/// How many rows may be refused: so many, or any number up to a part of them.
fn rejects_max(typed: &str) -> Result<(u64, Option<f64>), Failure> {
    let wrong = || {
        Failure::usage(format!(
            "--rejects-max {typed} is not a number of rows or a percentage, such as 100 or 0.5%"
        ))
    };
    match typed.strip_suffix('%') {
        None => typed.parse().map(|rows| (rows, None)).map_err(|_| wrong()),
        Some(percent) => {
            let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
            if percent == 0.0 { Ok((0, None)) } else { Ok((u64::MAX, Some(percent))) }
        }
    }
}

/// Reads the file of `--ddl`.
pub(crate) fn read_ddl(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("reading --ddl {}: {error}", path.display())))
}

fn batches(args: &BatchArgs) -> Result<Batches, Failure> {
    let size = |option: &str, text: &Option<String>| {
        let bytes = text.as_deref().map(|text| size::of_option(option, text));
        bytes.transpose().map_err(Failure::usage)
    };
    Ok(Batches {
        rows: args.batch_rows,
        bytes: size("--batch-bytes", &args.batch_bytes)?,
        connections: args.connections,
        bytes_per_second_max: size("--max-rate", &args.max_rate)?,
    })
}

fn replicas(args: &BatchArgs) -> Replicas {
    let lag_max = match args.max_lag {
        Some(0) => None,
        Some(seconds) => Some(Duration::from_secs(seconds.into())),
        None => Replicas::default().lag_max,
    };
    Replicas { named: args.replica.clone(), lag_max }
}

fn fill(percent: f64) -> Result<load::Fill, Failure> {
    if !(50.0..=100.0).contains(&percent) {
        return Err(Failure::usage(format!("--fill {percent} is not between 50 and 100")));
    }
    let reserve = ((100.0 - percent) / 100.0 * innodb::ids::PAGE_SIZE as f64).round() as usize;
    Ok(load::Fill { clustered_reserve: reserve, secondary_reserve: reserve })
}
