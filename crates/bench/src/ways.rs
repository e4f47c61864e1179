//! The ways of loading a file into a fresh table, each timed from its first byte to its commit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use server::Session;
use server::identifier::{quote_name, quote_text};

use crate::clients;
use crate::clock::{Clock, Took};
use crate::error::Error;
use crate::floor;
use crate::host::{self, DATABASE};
use crate::outcome::{Floor, LoadWay};
use crate::program::Program;
use crate::rows::TableFile;
use crate::tpch::{Schema, Table};

/// Bytes of a finished tablespace for each byte of text; lineitem has 1.44.
const FILE_BYTES_PER_TEXT_BYTE: f64 = 1.6;

/// Bytes that a program takes for itself, about.
const PROGRAM_BYTES: u64 = 256 << 20;

/// Limits that are passed on to Inrush.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) memory_bytes_max: Option<u64>,
    pub(crate) threads: Option<usize>,
}

/// One server, one connection, and what to load with.
pub(crate) struct Ways {
    pub(crate) session: Session,
    pub(crate) program: Program,
    pub(crate) limits: Limits,
    /// Those that are compared.
    pub(crate) list: Vec<LoadWay>,
    pub(crate) schema: Schema,
    /// True if the server is the benchmark's own, so that its settings may be changed.
    pub(crate) own_server: bool,
    /// Its process, then.
    pub(crate) server_pid: Option<u32>,
    /// Its data directory as this process sees it.
    pub(crate) data_dir: PathBuf,
    /// Where this benchmark may write.
    pub(crate) scratch: PathBuf,
}

/// The result of a load.
pub(crate) struct Loaded {
    pub(crate) took: Took,
    pub(crate) rows: u64,
    pub(crate) checksum: String,
    /// Inrush's report; Null for the server's own ways.
    pub(crate) report: serde_json::Value,
}

impl Ways {
    /// Loads `file` into a fresh table, then counts and checksums it. The table stays.
    pub(crate) fn load(
        &mut self,
        way: LoadWay,
        table: Table,
        file: &TableFile,
    ) -> Result<Loaded, Error> {
        self.fresh(table)?;
        floor::read_seconds(&file.path)?;
        self.make_ready(table_bytes(file.bytes))?;
        let clock = Clock::start(self.server_pid);
        let report = match way {
            LoadWay::LoadData => self.load_data(table, &file.path, false)?,
            LoadWay::Unchecked => self.load_data(table, &file.path, true)?,
            LoadWay::Clients => self.clients(table, &file.path)?,
            LoadWay::Direct => self.inrush(table, &file.path, "direct")?,
            LoadWay::Stream => self.inrush(table, &file.path, "stream")?,
            LoadWay::Insert => self.inrush(table, &file.path, "insert")?,
        };
        let took = clock.stop();
        self.loaded(table, took, &report)
    }

    /// Counts and checksums a table that a load has filled.
    pub(crate) fn loaded(
        &mut self,
        table: Table,
        took: Took,
        report: &serde_json::Value,
    ) -> Result<Loaded, Error> {
        let name = qualified(table.name());
        let rows = self.session.query_row(&format!("SELECT COUNT(*) FROM {name}"))?.number(0)?;
        let checksum = self.session.query_row(&format!("CHECKSUM TABLE {name}"))?.text(1)?;
        Ok(Loaded { took, rows, checksum, report: report.clone() })
    }

    /// Fills a table that others refer to and that is not measured.
    pub(crate) fn fill(&mut self, table: Table, file: &TableFile) -> Result<(), Error> {
        self.fresh(table)?;
        self.load_data(table, &file.path, true).map(drop)
    }

    /// Orders whose price is not that of their lines: by HammerDB's consistency check, there are none.
    pub(crate) fn inconsistent_orders(&mut self) -> Result<u64, Error> {
        let price =
            "SUM(TRUNCATE(TRUNCATE(l_extendedprice * (1 - l_discount), 2) * (1 + l_tax), 2))";
        let (orders, lines) = (qualified("orders"), qualified("lineitem"));
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT o_orderkey FROM {orders} \
             LEFT JOIN {lines} ON l_orderkey=o_orderkey \
             GROUP BY o_orderkey, o_totalprice HAVING NOT o_totalprice <=> {price}) AS wrong"
        );
        Ok(self.session.query_row(&sql)?.number(0)?)
    }

    /// Measures reading `file`, writing as much as its table's file has, and importing that file.
    ///
    /// The table must be loaded; a staging table of it is made and dropped again.
    pub(crate) fn floor(&mut self, table: Table, file: &TableFile) -> Result<(Floor, u64), Error> {
        let (_, read_seconds) = floor::read_seconds(&file.path)?;
        let twin = format!("{}_floor", table.name());
        let (space, cfg) = self.exported_copy(table)?;
        let bytes = std::fs::metadata(&space).map_err(Error::io("reading", &space))?.len();
        let write_seconds = floor::write_seconds(&self.scratch.join("floor.tmp"), bytes)?;

        let (name, twin_name) = (qualified(table.name()), qualified(&twin));
        self.session.exec(&format!("DROP TABLE IF EXISTS {twin_name}"))?;
        self.session.exec(&format!("CREATE TABLE {twin_name} LIKE {name}"))?;
        self.session.exec(&format!("ALTER TABLE {twin_name} DISCARD TABLESPACE"))?;
        move_file(&space, &self.table_file(&twin, "ibd"))?;
        let twin_cfg = self.table_file(&twin, "cfg");
        move_file(&cfg, &twin_cfg)?;
        host::settle(&mut self.session, self.own_server)?;
        let started = Instant::now();
        self.session.exec(&format!("ALTER TABLE {twin_name} IMPORT TABLESPACE"))?;
        let import_seconds = started.elapsed().as_secs_f64();
        std::fs::remove_file(&twin_cfg).map_err(Error::io("removing", &twin_cfg))?;
        self.session.exec(&format!("DROP TABLE {twin_name}"))?;
        Ok((Floor { read_seconds, write_seconds, import_seconds }, bytes))
    }

    /// Drops the table of the benchmark.
    pub(crate) fn drop_table(&mut self, table: Table) -> Result<(), Error> {
        let sql = format!("DROP TABLE IF EXISTS {}", qualified(table.name()));
        self.session.exec(&sql)?;
        Ok(())
    }

    /// Makes the table anew, empty.
    pub(crate) fn fresh(&mut self, table: Table) -> Result<(), Error> {
        self.session.exec(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        self.session.exec(&format!("USE {DATABASE}"))?;
        self.drop_table(table)?;
        self.session.exec(table.ddl(self.schema)?)?;
        if let Some(keys) = table.foreign_keys(self.schema) {
            self.session.exec(keys)?;
        }
        Ok(())
    }

    /// Leaves the server and the disk idle, and warm memory for a program and tables of so many bytes.
    pub(crate) fn make_ready(&mut self, table_bytes: u64) -> Result<(), Error> {
        host::settle(&mut self.session, self.own_server)?;
        floor::warm_memory(&self.scratch.join("warm.tmp"), table_bytes + PROGRAM_BYTES)
    }

    fn load_data(
        &mut self,
        table: Table,
        path: &Path,
        unchecked: bool,
    ) -> Result<serde_json::Value, Error> {
        // Checks are this session's, and go back on before the next way.
        let check = if unchecked { 0 } else { 1 };
        let set = |check| format!("SET unique_checks={check}, foreign_key_checks={check}");
        self.session.exec(&set(check))?;
        let done = self.session.exec(&load_data_sql(table, path))?;
        self.session.exec(&set(1))?;
        if done.warnings > 0 {
            return Err(Error::Option(format!("LOAD DATA into {table} warned: {}", done.info)));
        }
        Ok(serde_json::Value::Null)
    }

    fn clients(&mut self, table: Table, path: &Path) -> Result<serde_json::Value, Error> {
        let columns = table.file_columns();
        clients::load(&mut self.session, &qualified(table.name()), columns, path)?;
        Ok(serde_json::Value::Null)
    }

    fn inrush(&self, table: Table, file: &Path, path: &str) -> Result<serde_json::Value, Error> {
        let into = format!("{DATABASE}.{table}");
        let mut arguments = load_arguments(&self.limits);
        arguments.extend(["--columns".into(), table.file_columns().join(",").into()]);
        arguments.extend(["--path".into(), path.into()]);
        self.program.load(file, &into, &arguments, self.session.options())
    }

    /// All files of a folder by the direct path, whose first lines name their columns.
    pub(crate) fn inrush_folder(&self, folder: &Path) -> Result<serde_json::Value, Error> {
        let mut arguments = load_arguments(&self.limits);
        arguments.extend(["--header", "--path", "direct"].map(OsString::from));
        self.program.load(folder, DATABASE, &arguments, self.session.options())
    }

    /// Copies of the table's `.ibd` and `.cfg` in the scratch folder, as FOR EXPORT leaves them.
    fn exported_copy(&mut self, table: Table) -> Result<(PathBuf, PathBuf), Error> {
        let name = table.name();
        self.session.exec(&format!("FLUSH TABLES {} FOR EXPORT", qualified(name)))?;
        let space = self.scratch.join("floor.ibd");
        let cfg = self.scratch.join("floor.cfg");
        // UNLOCK TABLES removes the .cfg: copy first, unlock in any case.
        let copied = copy_file(&self.table_file(name, "ibd"), &space)
            .and_then(|()| copy_file(&self.table_file(name, "cfg"), &cfg));
        self.session.exec("UNLOCK TABLES")?;
        copied.map(|()| (space, cfg))
    }

    fn table_file(&self, table: &str, extension: &str) -> PathBuf {
        self.data_dir.join(DATABASE).join(format!("{table}.{extension}"))
    }
}

/// Bytes of the finished tablespaces for so many bytes of text, about.
pub(crate) fn table_bytes(text_bytes: u64) -> u64 {
    (text_bytes as f64 * FILE_BYTES_PER_TEXT_BYTE) as u64
}

/// `database`.`table`, quoted.
fn qualified(table: &str) -> String {
    format!("{DATABASE}.{}", quote_name(table))
}

/// LOAD DATA of a `.tbl` file into its table of the benchmark's database.
pub(crate) fn load_data_sql(table: Table, path: &Path) -> String {
    format!(
        "LOAD DATA INFILE {} INTO TABLE {} CHARACTER SET latin1 \
         FIELDS TERMINATED BY '|' LINES TERMINATED BY '|\\n' ({})",
        quote_text(&path.to_string_lossy()),
        qualified(table.name()),
        table.file_columns().join(", ")
    )
}

/// The arguments after `inrush load FILE --into TABLE` for all tables, less the connection.
fn load_arguments(limits: &Limits) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["--dialect", "tbl", "--charset", "latin1"].map(OsString::from).into();
    if let Some(bytes) = limits.memory_bytes_max {
        arguments.extend(["--memory".into(), bytes.to_string().into()]);
    }
    if let Some(threads) = limits.threads {
        arguments.extend(["--threads".into(), threads.to_string().into()]);
    }
    arguments
}

fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    std::fs::copy(from, to).map(drop).map_err(Error::io("copying", from))
}

/// Moves a file into the data directory, writable by whoever the server runs as.
fn move_file(from: &Path, to: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    let all_may_write = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(from, all_may_write).map_err(Error::io("opening up", from))?;
    std::fs::rename(from, to).map_err(Error::io("moving", from))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn the_server_gets_the_files_order_of_columns() {
        let sql = load_data_sql(Table::PartSupp, Path::new("/d/it's.tbl"));
        assert!(sql.contains("LOAD DATA INFILE '/d/it"), "{sql}");
        assert!(!sql.contains("'/d/it's"), "{sql}");
        assert!(sql.contains("inrush_bench.`partsupp`"), "{sql}");
        assert!(sql.ends_with("(ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment)"));
    }

    #[test]
    fn limits_are_passed_on() {
        let limits = Limits { memory_bytes_max: Some(1 << 28), threads: Some(2) };
        let arguments = load_arguments(&limits);
        let tail: Vec<_> = arguments.iter().rev().take(4).rev().collect();
        assert_eq!(tail, ["--memory", "268435456", "--threads", "2"]);
    }
}
