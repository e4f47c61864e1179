//! `inrush bench tproch`: every table by the server's own ways, by INSERTs, and by Inrush's paths.
//!
//! Same run, same server, same files. The server is the benchmark's own unless one is given: a
//! buffer pool larger than the data and 4 GB of redo log, else as it comes. Which way goes first
//! changes from table to table; before each, the input is read once and the server is idle.

use std::fs;
use std::path::{Path, PathBuf};

use crate::choice::Choice;
use crate::error::Error;
use crate::head::Head;
use crate::host::{self, DATABASE, Host, HostOptions};
use crate::outcome::{LoadWay, Outcome, TableOutcome, WayOutcome};
use crate::rows::{self, TableFile};
use crate::together::Together;
use crate::tpch::{Schema, Table};
use crate::ways::{Limits, Loaded, Ways, table_bytes};

/// Options of a run. `TprochOptions::default()` is scale 1, all tables, a server of its own.
#[derive(Clone, Debug)]
pub struct TprochOptions {
    /// TPC-H scale factor: 1 is 1.1 GB of text, 8.7 million rows. dbgen's rule for the suppliers
    /// of a part repeats keys of partsupp at some scales below 0.025, though not at 0.01.
    pub scale: f64,
    /// HammerDB's schema, or lineitem alone in dbgen's order of columns.
    pub schema: Schema,
    /// Only these tables; empty for all of the schema.
    pub tables: Vec<Table>,
    /// The ways to load each of them; empty for all.
    pub ways: Vec<LoadWay>,
    /// Memory for Inrush, in bytes; none for its default.
    pub memory_bytes_max: Option<u64>,
    /// Threads for Inrush; none for its default.
    pub threads: Option<usize>,
    /// The server, and the program that is measured.
    pub host: HostOptions,
}

impl Default for TprochOptions {
    fn default() -> TprochOptions {
        TprochOptions {
            scale: 1.0,
            schema: Schema::Tproch,
            tables: Vec::new(),
            ways: Vec::new(),
            memory_bytes_max: None,
            threads: None,
            host: HostOptions::default(),
        }
    }
}

/// Makes the rows (and the CREATE TABLE beside them) and nothing else; gives their folder.
///
/// `say` gets a line before each table.
pub fn make_rows(options: &TprochOptions, say: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let dir = rows_dir(options)?;
    for table in tables(options)? {
        make_file(table, options.scale, &dir, say)?;
        let ddl = dir.join(format!("{table}.sql"));
        fs::write(&ddl, table.ddl(options.schema)?).map_err(Error::io("writing", &ddl))?;
    }
    Ok(dir)
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Needs the space of the rows twice, three times that of the largest table, and 5 GB. Errors: no
/// space, no server, a load that fails, or ways that disagree about a table.
pub fn run(options: &TprochOptions, say: &mut dyn FnMut(&str)) -> Result<Outcome, Error> {
    let dir = rows_dir(options)?;
    let tables = tables(options)?;
    let parents = parents(&tables, options.schema);
    let all: Vec<Table> = parents.iter().chain(&tables).copied().collect();
    check_space(options, &all)?;
    let host = start(options, &all)?;
    let mut ways = ways(&host, options)?;
    // What a run before left there refers to tables that are dropped here.
    ways.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    for table in parents {
        let file = make_file(table, options.scale, &dir, say)?;
        ways.fill(table, &file)?;
    }
    let (mut outcomes, mut files) = (Vec::new(), Vec::new());
    for (index, &table) in tables.iter().enumerate() {
        let file = make_file(table, options.scale, &dir, say)?;
        outcomes.push(compare(&mut ways, table, &file, index, say)?);
        files.push((table, file));
        if !options.host.keep && options.schema == Schema::Dbgen {
            ways.drop_table(table)?;
        }
    }
    let is_several = files.len() > 1 && ways.list.contains(&LoadWay::Direct);
    let together = match is_several {
        true => Some(load_together(&mut ways, &files, &outcomes, say)?),
        false => None,
    };
    let mut notes = host.notes.clone();
    if Table::ALL.iter().all(|table| all.contains(table)) {
        notes.push(check_consistent(&mut ways)?);
    }
    let outcome = Outcome {
        head: Head::new(ways.session.version().to_string()),
        server_settings: host::settings(&mut ways.session)?,
        scale: options.scale,
        schema: options.schema.name(),
        notes,
        tables: outcomes,
        together,
    };
    if !options.host.keep {
        ways.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    }
    drop(ways);
    host.finish()?;
    Ok(outcome)
}

/// Loads one table in every way, the way at `first` (counted round) first.
fn compare(
    ways: &mut Ways,
    table: Table,
    file: &TableFile,
    first: usize,
    say: &mut dyn FnMut(&str),
) -> Result<TableOutcome, Error> {
    let mut order = ways.list.clone();
    let length = order.len();
    order.rotate_left(first % length);
    let mut loads: Vec<(LoadWay, Loaded)> = Vec::new();
    let (mut floor, mut file_bytes) = (None, 0);
    for way in order {
        say(&format!("{table}: {} rows by {}", file.rows, way.name()));
        let loaded = ways.load(way, table, file)?;
        say(&format!("{table}: {:.2} s", loaded.took.seconds));
        let reference = loads.first().map(|(way, first)| (way.name(), first.checksum.as_str()));
        check_equal(table, file, way, &loaded, reference)?;
        if way == LoadWay::Direct {
            let measured = ways.floor(table, file)?;
            (floor, file_bytes) = (Some(measured.0), measured.1);
        }
        loads.push((way, loaded));
    }
    loads.sort_by_key(|(way, _)| *way);
    let checksum = loads.first().map(|(_, loaded)| loaded.checksum.clone()).unwrap_or_default();
    let outcome = |(way, loaded): (LoadWay, Loaded)| WayOutcome {
        way,
        took: loaded.took,
        report: loaded.report,
    };
    Ok(TableOutcome {
        table: table.name().to_owned(),
        rows: file.rows,
        text_bytes: file.bytes,
        file_bytes,
        loads: loads.into_iter().map(outcome).collect(),
        floor,
        checksum,
    })
}

/// Loads all tables once more, by one command.
fn load_together(
    ways: &mut Ways,
    files: &[(Table, TableFile)],
    outcomes: &[TableOutcome],
    say: &mut dyn FnMut(&str),
) -> Result<WayOutcome, Error> {
    say(&format!("{} tables by one command", files.len()));
    let together = Together::new(ways.scratch.join("together"), files)?;
    let (outcome, loaded) = together.load(ways)?;
    say(&format!("{} tables: {:.2} s", files.len(), outcome.took.seconds));
    for (((table, file), loaded), known) in files.iter().zip(&loaded).zip(outcomes) {
        check_equal(
            *table,
            file,
            LoadWay::Direct,
            loaded,
            Some(("the ways before", &known.checksum)),
        )?;
    }
    Ok(outcome)
}

/// Checks HammerDB's conditions for its tables behind a load.
fn check_consistent(ways: &mut Ways) -> Result<String, Error> {
    match ways.inconsistent_orders()? {
        0 => {
            Ok("HammerDB's consistency check passes: the price of each order is that of its lines"
                .to_owned())
        }
        count => Err(Error::Different {
            table: Table::Orders.name().to_owned(),
            method: "the ways".to_owned(),
            seen: format!("{count} orders whose price is not that of their lines"),
            reference: "HammerDB's consistency check".to_owned(),
            expected: "none".to_owned(),
        }),
    }
}

/// Every line of the file is a row, and every way gives the same rows.
fn check_equal(
    table: Table,
    file: &TableFile,
    way: LoadWay,
    loaded: &Loaded,
    reference: Option<(&str, &str)>,
) -> Result<(), Error> {
    let different = |seen: String, reference: &str, expected: String| Error::Different {
        table: table.name().to_owned(),
        method: way.name().to_owned(),
        seen,
        reference: reference.to_owned(),
        expected,
    };
    if loaded.rows != file.rows {
        let (seen, lines) = (format!("{} rows", loaded.rows), format!("{} lines", file.rows));
        return Err(different(seen, "the generator", lines));
    }
    match reference {
        Some((other, checksum)) if checksum != loaded.checksum => Err(different(
            format!("rows of checksum {}", loaded.checksum),
            other,
            checksum.to_owned(),
        )),
        _ => Ok(()),
    }
}

fn make_file(
    table: Table,
    scale: f64,
    dir: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<TableFile, Error> {
    say(&format!("{table}: rows of scale {scale}"));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    rows::generate(table, scale, dir, threads)
}

/// `sf1`, `sf0.01`: one folder a scale, so that a change of scale costs nothing the second time.
fn rows_dir(options: &TprochOptions) -> Result<PathBuf, Error> {
    let data_dir = options.host.data_dir()?;
    Ok(data_dir.join(format!("sf{}", options.scale)))
}

/// Those that are measured, parents before children.
fn tables(options: &TprochOptions) -> Result<Vec<Table>, Error> {
    if options.tables.is_empty() {
        return Ok(options.schema.tables().to_vec());
    }
    let mut tables = options.tables.clone();
    for table in &tables {
        table.ddl(options.schema)?;
    }
    tables.sort();
    tables.dedup();
    Ok(tables)
}

/// Those that the rows of others refer to, and theirs, which are not measured; parents before
/// children.
fn parents(tables: &[Table], schema: Schema) -> Vec<Table> {
    let mut wanted: Vec<Table> = tables.to_vec();
    let mut at = 0;
    while let Some(table) = wanted.get(at) {
        let new: Vec<Table> =
            table.parents(schema).into_iter().filter(|parent| !wanted.contains(parent)).collect();
        wanted.extend(new);
        at += 1;
    }
    let mut parents = wanted.split_off(tables.len());
    parents.sort();
    parents
}

fn text_bytes(table: Table, scale: f64) -> u64 {
    (table.text_bytes_at_scale_1() as f64 * scale) as u64
}

fn check_space(options: &TprochOptions, tables: &[Table]) -> Result<(), Error> {
    let sizes = || tables.iter().map(|&table| text_bytes(table, options.scale));
    // Tables stay for those that refer to them.
    let stay = options.host.keep || options.schema == Schema::Tproch;
    let files = if stay { sizes().sum() } else { 0 };
    // Copied for the one command that loads all.
    let copies: u64 = if tables.len() > 1 { sizes().sum() } else { 0 };
    let largest = sizes().max().unwrap_or(0);
    let needed_bytes =
        sizes().sum::<u64>() + table_bytes(files) + copies + 3 * table_bytes(largest);
    options.host.check_space(needed_bytes)
}

fn start(options: &TprochOptions, tables: &[Table]) -> Result<Host, Error> {
    let sizes = tables.iter().map(|&table| table_bytes(text_bytes(table, options.scale)));
    Host::start(&options.host, sizes.sum())
}

fn ways(host: &Host, options: &TprochOptions) -> Result<Ways, Error> {
    let mut session = host.session()?;
    Ok(Ways {
        data_dir: host.datadir(&mut session)?,
        session,
        program: host.program(&options.host),
        limits: Limits { memory_bytes_max: options.memory_bytes_max, threads: options.threads },
        list: LoadWay::chosen(&options.ways),
        schema: options.schema,
        own_server: host.is_own(),
        server_pid: host.pid(),
        scratch: options.host.data_dir()?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn parents_of_a_few_tables_are_filled_before() {
        let of = |tables: &[Table]| parents(tables, Schema::Tproch);
        assert_eq!(of(&[Table::Region]), []);
        assert_eq!(of(&[Table::Customer, Table::Orders]), [Table::Region, Table::Nation]);
        assert_eq!(of(&[Table::LineItem]), Table::ALL[..7]);
        assert_eq!(parents(&[Table::LineItem], Schema::Dbgen), []);
    }

    #[test]
    fn a_table_that_is_not_in_the_schema_is_refused_before_anything() {
        let options = TprochOptions {
            schema: Schema::Dbgen,
            tables: vec![Table::Orders],
            host: HostOptions { data_dir: "/nonexistent".into(), ..HostOptions::default() },
            ..TprochOptions::default()
        };
        let error = run(&options, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("no table orders"), "{error}");
    }
}
