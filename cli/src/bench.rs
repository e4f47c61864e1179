//! `inrush bench`: our loads beside the server's own.

use std::ffi::OsString;
use std::time::Duration;

use bench::batch::shards::ShardsOptions;
use bench::batch::{self, BatchOptions, Cell};
use bench::export;
use bench::host::GivenServer;
use bench::insert::outcome::Pool;
use bench::insert::{self, InsertOptions, Step, Version};
use bench::outcome::Way;
use bench::replay::{self, ReplayOptions};
use bench::split::{self, SplitOptions};
use bench::tpch::Table;
use bench::tproch::{self, TprochOptions};
use bench::tune::{self, Setting, TuneOptions};
use bench::writes::{self, WritesOptions};

use crate::args::ConnectArgs;
use crate::args::bench::{
    BatchBenchArgs, BenchArgs, BenchCommand, ExportBenchArgs, InsertBenchArgs, ReplayBenchArgs,
    SchemaArg, SplitBenchArgs, TprochArgs, TuneBenchArgs, WritesArgs,
};
use crate::failure::Failure;
use crate::jobs::state_dir;
use crate::{connect, signals, size};

/// Runs the one that was asked for.
pub(crate) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    match &args.which {
        BenchCommand::Tproch(args) => tproch(args),
        BenchCommand::Batch(args) => batch(args),
        BenchCommand::Replay(args) => replay(args),
        BenchCommand::Insert(args) => insert(args),
        BenchCommand::Split(args) => split(args),
        BenchCommand::Export(args) => export(args),
        BenchCommand::Tune(args) => tune(args),
        BenchCommand::Writes(args) => writes(args),
    }
}

/// The TPC-H tables.
fn tproch(args: &TprochArgs) -> Result<u8, Failure> {
    let ways = args.ways.iter().flatten();
    let mut options = TprochOptions {
        scale: args.scale,
        schema: match args.schema {
            SchemaArg::Tproch => bench::tpch::Schema::Tproch,
            SchemaArg::Dbgen => bench::tpch::Schema::Dbgen,
        },
        tables: args.tables.iter().flatten().map(|name| table(name)).collect::<Result<_, _>>()?,
        ways: ways
            .map(|name| named("--ways", name, &Way::ALL, Way::short))
            .collect::<Result<_, _>>()?,
        threads: args.threads,
        keep: args.keep,
        ..TprochOptions::default()
    };
    if let Some(memory) = &args.memory {
        options.memory_bytes_max = Some(size::parse(memory).map_err(Failure::usage)?);
    }
    if let Some(log) = &args.log_size {
        options.log_file_bytes = size::parse(log).map_err(Failure::usage)?;
    }
    if let Some(folder) = &args.data_dir {
        options.data_dir = folder.clone();
    }
    options.server = given_server(&args.connect)?;
    signals::watch(&options.interrupt, false)?;
    let mut say = |line: &str| eprintln!("{line}");
    if args.rows_only {
        let folder = tproch::make_rows(&options, &mut say).map_err(Failure::failed)?;
        println!("{}", folder.display());
        return Ok(0);
    }
    let outcome = tproch::run(&options, &mut say).map_err(Failure::failed)?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// Batch sizes and threads.
fn batch(args: &BatchBenchArgs) -> Result<u8, Failure> {
    if let Some(shards) = &args.shards {
        return batch_shards(args, shards);
    }
    let defaults = BatchOptions::default();
    let rows = args.rows.unwrap_or(defaults.rows);
    let mut options = BatchOptions {
        rows,
        load_rows: args.load_rows.unwrap_or(defaults.load_rows.max(rows)),
        batches: args.batches.clone().unwrap_or(defaults.batches),
        threads: args.threads.clone().unwrap_or(defaults.threads),
        at: Cell { batch: args.at_batch, threads: args.at_threads.unwrap_or(defaults.at.threads) },
        sweeps_only: args.sweeps,
        repeat: args.repeat.unwrap_or(defaults.repeat),
        time_max: Duration::from_secs(args.seconds),
        keep: args.keep,
        server: given_server(&args.connect)?,
        ..defaults
    };
    if let Some(memory) = &args.memory {
        options.memory_bytes_max = Some(size::parse(memory).map_err(Failure::usage)?);
    }
    if let Some(log) = &args.log_size {
        options.log_file_bytes = size::parse(log).map_err(Failure::usage)?;
    }
    if let Some(folder) = &args.data_dir {
        options.data_dir = folder.clone();
    }
    signals::watch(&options.interrupt, false)?;
    let outcome = batch::run(&options, &mut |line| eprintln!("{line}")).map_err(Failure::failed)?;
    if let Some(path) = &args.chart {
        let said = |error| Failure::failed(format!("writing {}: {error}", path.display()));
        std::fs::write(path, bench::batch::chart::draw(&outcome)).map_err(said)?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// The same against a head and its shards.
fn batch_shards(args: &BatchBenchArgs, shards: &[usize]) -> Result<u8, Failure> {
    if given_server(&args.connect)?.is_some() {
        let only = "--shards starts a head and its shards by itself: without options of a server";
        return Err(Failure::usage(only));
    }
    if args.chart.is_some() || args.load_rows.is_some() || args.log_size.is_some() {
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
        data_dir: args.data_dir.clone().unwrap_or(defaults.data_dir),
        keep: args.keep,
        ..defaults
    };
    signals::watch(&options.interrupt, false)?;
    let outcome = bench::batch::shards::run(&options, &mut |line| eprintln!("{line}"))
        .map_err(Failure::failed)?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// Dumps of the TPC-H tables.
fn replay(args: &ReplayBenchArgs) -> Result<u8, Failure> {
    let kinds = args.dumps.iter().flatten();
    let ways = args.ways.iter().flatten();
    let mut options = ReplayOptions {
        scale: args.scale,
        kinds: kinds
            .map(|name| named("--dumps", name, &replay::Kind::ALL, replay::Kind::name))
            .collect::<Result<_, _>>()?,
        ways: ways
            .map(|name| named("--ways", name, &replay::Way::ALL, replay::Way::short))
            .collect::<Result<_, _>>()?,
        repeat: args.repeat,
        threads: args.threads,
        connections: args.connections,
        keep: args.keep,
        server: given_server(&args.connect)?,
        ..ReplayOptions::default()
    };
    if let Some(memory) = &args.memory {
        options.memory_bytes_max = Some(size::parse(memory).map_err(Failure::usage)?);
    }
    if let Some(log) = &args.log_size {
        options.log_file_bytes = size::parse(log).map_err(Failure::usage)?;
    }
    if let Some(folder) = &args.data_dir {
        options.data_dir = folder.clone();
    }
    signals::watch(&options.interrupt, false)?;
    let outcome =
        replay::run(&options, &mut |line| eprintln!("{line}")).map_err(Failure::failed)?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// The Insert Benchmark.
fn insert(args: &InsertBenchArgs) -> Result<u8, Failure> {
    let versions = args.versions.iter().flatten();
    let steps = args.steps.iter().flatten();
    let pools = args.pools.iter().flatten();
    let mut options = InsertOptions {
        versions: versions
            .map(|name| named("--versions", name, &Version::ALL, Version::name))
            .collect::<Result<_, _>>()?,
        steps: steps
            .map(|name| named("--steps", name, &Step::ALL, Step::name))
            .collect::<Result<_, _>>()?,
        pools: pools
            .map(|name| named("--pools", name, &Pool::ALL, Pool::name))
            .collect::<Result<_, _>>()?,
        rows: args.rows,
        more_sizes: args.sizes.clone().unwrap_or_default(),
        more_percent: args.more,
        seconds_max: args.seconds as f64,
        interval_seconds: args.interval as f64,
        path: args.path.clone(),
        keep: args.keep,
        ..InsertOptions::default()
    };
    if let Some(pool) = &args.pool {
        options.pool_bytes = Some(size::parse(pool).map_err(Failure::usage)?);
    }
    if let Some(memory) = &args.memory {
        options.memory_bytes_max = Some(size::parse(memory).map_err(Failure::usage)?);
    }
    if let Some(log) = &args.log_size {
        options.log_file_bytes = size::parse(log).map_err(Failure::usage)?;
    }
    if let Some(folder) = &args.data_dir {
        options.data_dir = folder.clone();
    }
    signals::watch(&options.interrupt, false)?;
    let outcome =
        insert::run(&options, &mut |line| eprintln!("{line}")).map_err(Failure::failed)?;
    if let Some(path) = &args.chart {
        let said = |error| Failure::failed(format!("writing {}: {error}", path.display()));
        std::fs::write(path, insert::chart::draw(&outcome)).map_err(said)?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// One file into several tables.
fn split(args: &SplitBenchArgs) -> Result<u8, Failure> {
    let ways = args.ways.iter().flatten();
    let mut options = SplitOptions {
        lines: args.lines,
        ways: ways
            .map(|name| named("--ways", name, &split::Way::ALL, split::Way::short))
            .collect::<Result<_, _>>()?,
        repeat: args.repeat,
        python: args.python.clone(),
        keep: args.keep,
        server: given_server(&args.connect)?,
        ..SplitOptions::default()
    };
    if let Some(memory) = &args.memory {
        options.memory_bytes_max = Some(size::parse(memory).map_err(Failure::usage)?);
    }
    if let Some(log) = &args.log_size {
        options.log_file_bytes = size::parse(log).map_err(Failure::usage)?;
    }
    if let Some(folder) = &args.data_dir {
        options.data_dir = folder.clone();
    }
    signals::watch(&options.interrupt, false)?;
    let outcome = split::run(&options, &mut |line| eprintln!("{line}")).map_err(Failure::failed)?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// The way back.
fn export(args: &ExportBenchArgs) -> Result<u8, Failure> {
    let ways = args.ways.iter().flatten();
    let mut options = export::ExportOptions {
        scale: args.scale,
        ways: ways
            .map(|name| named("--ways", name, &export::Way::ALL, export::Way::short))
            .collect::<Result<_, _>>()?,
        repeat: args.repeat,
        threads: args.threads,
        keep: args.keep,
        server: given_server(&args.connect)?,
        ..export::ExportOptions::default()
    };
    if let Some(log) = &args.log_size {
        options.log_file_bytes = size::parse(log).map_err(Failure::usage)?;
    }
    if let Some(folder) = &args.data_dir {
        options.data_dir = folder.clone();
    }
    signals::watch(&options.interrupt, false)?;
    let outcome =
        export::run(&options, &mut |line| eprintln!("{line}")).map_err(Failure::failed)?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// Settings of a server.
fn tune(args: &TuneBenchArgs) -> Result<u8, Failure> {
    let settings = args.settings.iter().flatten();
    let mut options = TuneOptions {
        lines: args.lines,
        files: args.files,
        settings: settings
            .map(|name| named("--settings", name, &Setting::ALL, Setting::name))
            .collect::<Result<_, _>>()?,
        repeat: args.repeat,
        state_dir: Some(state_dir(args.state_dir.as_deref())?),
        keep: args.keep,
        ..TuneOptions::default()
    };
    if let Some(folder) = &args.data_dir {
        options.data_dir = folder.clone();
    }
    signals::watch(&options.interrupt, false)?;
    let outcome = tune::run(&options, &mut |line| eprintln!("{line}")).map_err(Failure::failed)?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// Ways of writing a file.
fn writes(args: &WritesArgs) -> Result<u8, Failure> {
    let mut options = WritesOptions { repeat: args.repeat, ..WritesOptions::default() };
    if let Some(size) = &args.file_size {
        options.file_bytes = size::parse(size).map_err(Failure::usage)?;
    }
    options.threads = args.threads.unwrap_or(options.threads);
    let outcome = writes::run(&args.data_dir, &options).map_err(Failure::failed)?;
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(Failure::failed)?;
        println!("{text}");
    } else {
        print!("{}", outcome.text());
    }
    Ok(0)
}

/// The server that was named, if any.
fn given_server(args: &ConnectArgs) -> Result<Option<GivenServer>, Failure> {
    if args.sandbox.is_some() {
        return Err(Failure::usage("bench runs a server of its own, or the one given by -S or -h"));
    }
    if !args.names_a_server() {
        return Ok(None);
    }
    let (connect, arguments) = (connect::named(args)?, arguments(args));
    Ok(Some(GivenServer { connect, arguments }))
}

/// The same arguments for another run of this program, less the password.
fn arguments(args: &ConnectArgs) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut add = |name: &str, value: Option<OsString>| {
        if let Some(value) = value {
            arguments.push(name.into());
            arguments.push(value);
        }
    };
    add("--host", args.host.clone().map(Into::into));
    add("--port", args.port.map(|port| port.to_string().into()));
    add("--socket", args.socket.clone().map(Into::into));
    add("--user", args.user.clone().map(Into::into));
    add("--defaults-file", args.defaults_file.clone().map(Into::into));
    add("--defaults-extra-file", args.defaults_extra_file.clone().map(Into::into));
    arguments.extend(args.secure.arguments());
    arguments
}

/// The one of `all` with this name, which `option` was given.
fn named<T: Copy>(
    option: &str,
    name: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, Failure> {
    let found = all.iter().copied().find(|&one| name_of(one) == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|&one| name_of(one)).collect();
        Failure::usage(format!("{option}: {name:?} is none of {}", names.join(", ")))
    })
}

fn table(name: &str) -> Result<Table, Failure> {
    Table::ALL
        .into_iter()
        .find(|table| table.name().eq_ignore_ascii_case(name))
        .ok_or_else(|| Failure::usage(format!("--tables: TPC-H has no table {name:?}")))
}
