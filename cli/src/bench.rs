//! `inrush bench`: our loads beside the server's own.

use bench::tpch::Table;
use bench::tproch::{self, GivenServer, TprochOptions};

use crate::args::{SchemaArg, TprochArgs};
use crate::failure::Failure;
use crate::{connect, size};

/// The TPC-H tables.
pub(crate) fn tproch(args: &TprochArgs) -> Result<u8, Failure> {
    let mut options = TprochOptions {
        scale: args.scale,
        schema: match args.schema {
            SchemaArg::Tproch => bench::tpch::Schema::Tproch,
            SchemaArg::Dbgen => bench::tpch::Schema::Dbgen,
        },
        tables: args.tables.iter().flatten().map(|name| table(name)).collect::<Result<_, _>>()?,
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
    if args.connect.sandbox.is_some() {
        return Err(Failure::usage("bench runs a server of its own, or the one given by -S or -h"));
    }
    if args.connect.names_a_server() {
        options.server = Some(GivenServer {
            connect: connect::named(&args.connect)?,
            arguments: connect::arguments(&args.connect),
        });
    }
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

fn table(name: &str) -> Result<Table, Failure> {
    Table::ALL
        .into_iter()
        .find(|table| table.name().eq_ignore_ascii_case(name))
        .ok_or_else(|| Failure::usage(format!("--tables: TPC-H has no table {name:?}")))
}
