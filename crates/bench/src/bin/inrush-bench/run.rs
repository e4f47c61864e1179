//! Each benchmark, by its options.

use std::path::Path;
use std::time::Duration;

use bench::batch::outcome::BatchOutcome;
use bench::batch::shards::{ShardsOptions, ShardsOutcome};
use bench::batch::{self, BatchOptions, Cell};
use bench::choice::Choice;
use bench::export::{self, ExportOptions, ExportOutcome};
use bench::first_day::{self, FirstDayOptions, FirstDayOutcome};
use bench::folder::{self, FolderOptions, FolderOutcome};
use bench::formats::{self, FormatsOptions, FormatsOutcome};
use bench::host::{GivenServer, HostOptions};
use bench::insert::{self, InsertOptions, InsertOutcome};
use bench::outcome::Outcome;
use bench::replay::{self, ReplayOptions, ReplayOutcome};
use bench::split::{self, SplitOptions, SplitOutcome};
use bench::tpch::Table;
use bench::tproch::{self, TprochOptions};
use bench::tune::{self, TuneOptions, TuneOutcome};
use bench::writes::{self, WritesOptions, WritesOutcome};
use serde::Serialize;
use terminal::connect::ConnectArgs;
use terminal::failure::Failure;
use terminal::state::state_dir;
use terminal::{signals, size};

use crate::args::{
    BatchArgs, Command, ExportArgs, FirstDayArgs, FolderArgs, FormatsArgs, HostArgs, InsertArgs,
    ReplayArgs, SchemaArg, SplitArgs, TprochArgs, TuneArgs, WritesArgs,
};

/// Runs the one that was asked for.
pub(crate) fn run(command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Tproch(args) => tproch(args),
        Command::Batch(args) => batch(args),
        Command::Replay(args) => replay(args),
        Command::Insert(args) => insert(args),
        Command::Split(args) => split(args),
        Command::Folder(args) => folder(args),
        Command::Export(args) => export(args),
        Command::Formats(args) => formats(args),
        Command::Tune(args) => tune(args),
        Command::Writes(args) => writes(args),
        Command::FirstDay(args) => first_day(args),
    }
}

/// The TPC-H tables.
fn tproch(args: &TprochArgs) -> Result<u8, Failure> {
    let options = TprochOptions {
        scale: args.scale,
        schema: match args.schema {
            SchemaArg::Tproch => bench::tpch::Schema::Tproch,
            SchemaArg::Dbgen => bench::tpch::Schema::Dbgen,
        },
        tables: args.tables.iter().flatten().map(|name| table(name)).collect::<Result<_, _>>()?,
        ways: named("--ways", args.ways.as_ref())?,
        threads: args.threads,
        memory_bytes_max: bytes(args.memory.as_ref())?,
        host: host(&args.host)?,
    };
    signals::watch(&options.host.interrupt, signals::LOADED, false)?;
    if args.rows_only {
        let folder = tproch::make_rows(&options, &mut say).map_err(Failure::failed)?;
        println!("{}", folder.display());
        return Ok(0);
    }
    let outcome = tproch::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.host.json, &outcome, Outcome::text)
}

/// Batch sizes and threads.
fn batch(args: &BatchArgs) -> Result<u8, Failure> {
    if let Some(shards) = &args.shards {
        return batch_shards(args, shards);
    }
    let defaults = BatchOptions::default();
    let rows = args.rows.unwrap_or(defaults.rows);
    let options = BatchOptions {
        rows,
        load_rows: args.load_rows.unwrap_or(defaults.load_rows.max(rows)),
        batches: args.batches.clone().unwrap_or(defaults.batches),
        threads: args.threads.clone().unwrap_or(defaults.threads),
        at: Cell { batch: args.at_batch, threads: args.at_threads.unwrap_or(defaults.at.threads) },
        sweeps_only: args.sweeps,
        repeat: args.repeat.unwrap_or(defaults.repeat),
        time_max: Duration::from_secs(args.seconds),
        memory_bytes_max: bytes(args.memory.as_ref())?,
        host: host(&args.host)?,
    };
    signals::watch(&options.host.interrupt, signals::LOADED, false)?;
    let outcome = batch::run(&options, &mut say).map_err(Failure::failed)?;
    if let Some(path) = &args.chart {
        draw(path, bench::batch::chart::draw(&outcome))?;
    }
    tell(args.host.json, &outcome, BatchOutcome::text)
}

/// The same against a head and its shards.
fn batch_shards(args: &BatchArgs, shards: &[usize]) -> Result<u8, Failure> {
    if given_server(&args.host.connect)?.is_some() {
        let only = "--shards starts its own Spider server and shards: omit options of a server";
        return Err(Failure::usage(only));
    }
    if args.chart.is_some() || args.load_rows.is_some() || args.host.log_size.is_some() {
        let none = "--shards has no --chart, --load-rows and --log-size";
        return Err(Failure::usage(none));
    }
    let defaults = ShardsOptions::default();
    let options = ShardsOptions {
        shards: shards.to_vec(),
        rows: args.rows.unwrap_or(defaults.rows),
        batches: args.batches.clone().unwrap_or(defaults.batches),
        threads: args.threads.clone().unwrap_or(defaults.threads),
        at: Cell { batch: args.at_batch, threads: args.at_threads.unwrap_or(defaults.at.threads) },
        repeat: args.repeat.unwrap_or(defaults.repeat),
        time_max: Duration::from_secs(args.seconds),
        memory: args.memory.clone(),
        data_dir: args.host.data_dir.clone().unwrap_or(defaults.data_dir),
        keep: args.host.keep,
        ..defaults
    };
    signals::watch(&options.interrupt, signals::LOADED, false)?;
    let outcome = bench::batch::shards::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.host.json, &outcome, ShardsOutcome::text)
}

/// Dumps of the TPC-H tables.
fn replay(args: &ReplayArgs) -> Result<u8, Failure> {
    let options = ReplayOptions {
        scale: args.scale,
        kinds: named("--dumps", args.dumps.as_ref())?,
        ways: named("--ways", args.ways.as_ref())?,
        repeat: args.repeat,
        threads: args.threads,
        connections: args.connections,
        memory_bytes_max: bytes(args.memory.as_ref())?,
        host: host(&args.host)?,
    };
    signals::watch(&options.host.interrupt, signals::LOADED, false)?;
    let outcome = replay::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.host.json, &outcome, ReplayOutcome::text)
}

/// The Insert Benchmark.
fn insert(args: &InsertArgs) -> Result<u8, Failure> {
    let defaults = InsertOptions::default();
    let options = InsertOptions {
        versions: named("--versions", args.versions.as_ref())?,
        steps: named("--steps", args.steps.as_ref())?,
        pools: named("--pools", args.pools.as_ref())?,
        rows: args.rows,
        more_sizes: args.sizes.clone().unwrap_or_default(),
        more_percent: args.more,
        seconds_max: args.seconds as f64,
        interval_seconds: args.interval as f64,
        path: args.path.clone(),
        keep: args.keep,
        pool_bytes: bytes(args.pool.as_ref())?,
        memory_bytes_max: bytes(args.memory.as_ref())?,
        log_file_bytes: bytes(args.log_size.as_ref())?.unwrap_or(defaults.log_file_bytes),
        data_dir: args.data_dir.clone().unwrap_or(defaults.data_dir),
        ..defaults
    };
    signals::watch(&options.interrupt, signals::LOADED, false)?;
    let outcome = insert::run(&options, &mut say).map_err(Failure::failed)?;
    if let Some(path) = &args.chart {
        draw(path, insert::chart::draw(&outcome))?;
    }
    tell(args.json, &outcome, InsertOutcome::text)
}

/// One file into several tables.
fn split(args: &SplitArgs) -> Result<u8, Failure> {
    let options = SplitOptions {
        lines: args.lines,
        ways: named("--ways", args.ways.as_ref())?,
        repeat: args.repeat,
        python: args.python.clone(),
        memory_bytes_max: bytes(args.memory.as_ref())?,
        host: host(&args.host)?,
    };
    signals::watch(&options.host.interrupt, signals::LOADED, false)?;
    let outcome = split::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.host.json, &outcome, SplitOutcome::text)
}

/// The tables of an application.
fn folder(args: &FolderArgs) -> Result<u8, Failure> {
    let options = FolderOptions {
        tables: args.tables.clone(),
        ways: named("--ways", args.ways.as_ref())?,
        repeat: args.repeat,
        host: host(&args.host)?,
    };
    signals::watch(&options.host.interrupt, signals::LOADED, false)?;
    let outcome = folder::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.host.json, &outcome, FolderOutcome::text)
}

/// The way back.
fn export(args: &ExportArgs) -> Result<u8, Failure> {
    let options = ExportOptions {
        scale: args.scale,
        ways: named("--ways", args.ways.as_ref())?,
        repeat: args.repeat,
        threads: args.threads,
        host: host(&args.host)?,
    };
    signals::watch(&options.host.interrupt, signals::LOADED, false)?;
    let outcome = export::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.host.json, &outcome, ExportOutcome::text)
}

/// Files of several formats.
fn formats(args: &FormatsArgs) -> Result<u8, Failure> {
    let options = FormatsOptions {
        scale: args.scale,
        ways: named("--ways", args.ways.as_ref())?,
        repeat: args.repeat,
        python: args.python.clone(),
        memory_bytes_max: bytes(args.memory.as_ref())?,
        host: host(&args.host)?,
    };
    signals::watch(&options.host.interrupt, signals::LOADED, false)?;
    let outcome = formats::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.host.json, &outcome, FormatsOutcome::text)
}

/// Settings of a server.
fn tune(args: &TuneArgs) -> Result<u8, Failure> {
    let defaults = TuneOptions::default();
    let options = TuneOptions {
        lines: args.lines,
        files: args.files,
        settings: named("--settings", args.settings.as_ref())?,
        repeat: args.repeat,
        state_dir: Some(state_dir(args.state_dir.as_deref())?),
        data_dir: args.data_dir.clone().unwrap_or(defaults.data_dir),
        keep: args.keep,
        ..defaults
    };
    signals::watch(&options.interrupt, signals::LOADED, false)?;
    let outcome = tune::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.json, &outcome, TuneOutcome::text)
}

/// Ways of writing a file.
fn writes(args: &WritesArgs) -> Result<u8, Failure> {
    let defaults = WritesOptions::default();
    let options = WritesOptions {
        file_bytes: bytes(args.file_size.as_ref())?.unwrap_or(defaults.file_bytes),
        threads: args.threads.unwrap_or(defaults.threads),
        repeat: args.repeat,
    };
    let outcome = writes::run(&args.data_dir, &options).map_err(Failure::failed)?;
    tell(args.json, &outcome, WritesOutcome::text)
}

/// Files of a folder, by one command each.
fn first_day(args: &FirstDayArgs) -> Result<u8, Failure> {
    let mut options = FirstDayOptions { folder: args.folder.clone(), host: host(&args.host)? };
    if args.host.log_size.is_none() {
        // Small files need no large log.
        options.host.log_file_bytes = 96 << 20;
    }
    signals::watch(&options.host.interrupt, signals::LOADED, false)?;
    let outcome = first_day::run(&options, &mut say).map_err(Failure::failed)?;
    tell(args.host.json, &outcome, FirstDayOutcome::text)
}

/// The server of a benchmark, and the program that is measured.
fn host(args: &HostArgs) -> Result<HostOptions, Failure> {
    let defaults = HostOptions::default();
    Ok(HostOptions {
        log_file_bytes: bytes(args.log_size.as_ref())?.unwrap_or(defaults.log_file_bytes),
        data_dir: args.data_dir.clone().unwrap_or(defaults.data_dir),
        keep: args.keep,
        server: given_server(&args.connect)?,
        ..defaults
    })
}

/// A size that was given, in bytes.
fn bytes(given: Option<&String>) -> Result<Option<u64>, Failure> {
    given.map(|text| size::parse(text)).transpose().map_err(Failure::usage)
}

/// A line before each step that takes time.
fn say(line: &str) {
    eprintln!("{line}");
}

/// Prints what was found: as JSON, or for people.
fn tell<T: Serialize>(json: bool, outcome: &T, text: fn(&T) -> String) -> Result<u8, Failure> {
    if json {
        let text = serde_json::to_string_pretty(outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", text(outcome));
    }
    Ok(0)
}

/// Writes a picture.
fn draw(path: &Path, picture: String) -> Result<(), Failure> {
    let said = |error| Failure::failed(format!("writing {}: {error}", path.display()));
    std::fs::write(path, picture).map_err(said)
}

/// The server that was named, if any.
fn given_server(args: &ConnectArgs) -> Result<Option<GivenServer>, Failure> {
    if args.sandbox.is_some() {
        return Err(Failure::usage("bench runs a server of its own, or the one given by -S or -h"));
    }
    if !args.names_a_server() {
        return Ok(None);
    }
    let connect = args.given(args.found()?)?.connect()?;
    Ok(Some(GivenServer { connect, arguments: args.arguments() }))
}

/// The values that an option was given by their names.
fn named<T: Choice>(option: &str, names: Option<&Vec<String>>) -> Result<Vec<T>, Failure> {
    T::named(option, names.map_or(&[], Vec::as_slice)).map_err(Failure::usage)
}

fn table(name: &str) -> Result<Table, Failure> {
    Table::ALL
        .into_iter()
        .find(|table| table.name().eq_ignore_ascii_case(name))
        .ok_or_else(|| Failure::usage(format!("--tables: TPC-H has no table {name:?}")))
}
