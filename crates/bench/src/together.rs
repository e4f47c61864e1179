//! All tables by one command: `inrush load FOLDER --into DATABASE`.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::clock::Clock;
use crate::error::Error;
use crate::outcome::{LoadWay, WayOutcome};
use crate::rows::TableFile;
use crate::tpch::Table;
use crate::ways::{Loaded, Ways, table_bytes};

/// Files of all tables in a folder of their own, each with its columns in the first line: that is how
/// one command knows the order of each. The folder goes with the value.
pub(crate) struct Together {
    folder: PathBuf,
    tables: Vec<Table>,
    /// Bytes of all files.
    bytes: u64,
}

impl Together {
    /// Copies the files.
    pub(crate) fn new(folder: PathBuf, files: &[(Table, TableFile)]) -> Result<Together, Error> {
        fs::create_dir_all(&folder).map_err(Error::io("making", &folder))?;
        let tables = files.iter().map(|(table, _)| *table).collect();
        let together =
            Together { folder, tables, bytes: files.iter().map(|(_, file)| file.bytes).sum() };
        for (table, file) in files {
            let copy = together.file(*table);
            copy_below_columns(*table, &file.path, &copy).map_err(Error::io("writing", &copy))?;
        }
        Ok(together)
    }

    fn file(&self, table: Table) -> PathBuf {
        self.folder.join(format!("{table}.tbl"))
    }

    /// Makes all tables anew and loads them; gives what each holds then, in their order.
    pub(crate) fn load(&self, ways: &mut Ways) -> Result<(WayOutcome, Vec<Loaded>), Error> {
        for &table in self.tables.iter().rev() {
            ways.drop_table(table)?;
        }
        for &table in &self.tables {
            ways.fresh(table)?;
            crate::floor::read_seconds(&self.file(table))?;
        }
        ways.make_ready(table_bytes(self.bytes))?;
        let clock = Clock::start(ways.server_pid);
        let report = ways.inrush_folder(&self.folder)?;
        let took = clock.stop();
        let loaded: Result<Vec<Loaded>, Error> =
            self.tables.iter().map(|&table| ways.loaded(table, took, &report)).collect();
        Ok((WayOutcome { way: LoadWay::Direct, took, report }, loaded?))
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        // Where it stays, it costs room and nothing else.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn copy_below_columns(table: Table, from: &Path, to: &Path) -> io::Result<()> {
    let mut to = BufWriter::new(File::create(to)?);
    writeln!(to, "{}|", table.file_columns().join("|"))?;
    io::copy(&mut BufReader::new(File::open(from)?), &mut to)?;
    to.flush()
}
