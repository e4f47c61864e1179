//! Hidden row ids: rows that come later must not get those of rows that were imported.
//!
//! The key of a table without one is DB_ROW_ID, from one counter for the whole server. IMPORT sets
//! that counter to the largest id of the file where it is behind, in memory alone: the next row of
//! the table gets the id of its last one and takes its place, and after a restart the counter is
//! where it was, so that every new row does. Seen on 10.11.19, also for files that the server
//! itself has exported.
//!
//! The server writes the counter down when it passes a multiple of 256, and goes on behind the next one after
//! a restart. So enough rows go into a table without a key, which is dropped again, for the counter to pass
//! such a number after the IMPORT. Their ids are read from their table's file: this is not left to trust.
//! Where they begin with 1, each table has a counter of its own, as on 11.8, which finds the largest id of an
//! imported table when it is opened. Source: MariaDB 10.11, storage/innobase/include/dict0boot.h,
//! `dict_sys_t::get_new_row_id`, `update_row_id`; dict0boot.cc, `dict_hdr_flush_row_id`, `dict_boot`.

use std::ops::RangeInclusive;

use innodb::cfg::Cfg;
use innodb::ids::PageNo;
use innodb::reader::SpaceReader;
use innodb::record::RecordShape;

use crate::lock::Lock;
use crate::staging_table::Template;
use server::error::{Error, Result};
use server::facts::database_dir::DatabaseDir;
use server::version::Flavor;

/// Ids between two that are written down.
/// Source: MariaDB 10.11, dict0boot.h, `ROW_ID_WRITE_MARGIN`.
const WRITTEN_EVERY: u64 = 256;
/// The first number of a table's own counter; the server's begins with 512.
const FIRST_OF_TABLE: u64 = 1;
/// More than those, and few enough for one page.
const ROWS: usize = 300;

impl Lock {
    /// Has all rows that are inserted from now on, on this server and after its restart or crash,
    /// get hidden ids above `imported`, the largest of a table that was imported.
    ///
    /// Killed in it: a small table under [`Names::row_ids`](super::names::Names::row_ids).
    ///
    /// Errors: [`Error::RowIds`] where neither the counter is seen to be above it, nor each table to
    /// have its own.
    pub(super) fn raise_row_ids(&mut self, dir: &DatabaseDir, imported: u64) -> Result<()> {
        if self.session.version().flavor == Flavor::MySql {
            // IMPORT has written the counter down.
            return Ok(());
        }
        let table = self.names.row_ids.clone();
        let name = table.quoted();
        self.exec(&format!("CREATE TABLE {name} (a TINYINT NOT NULL) ENGINE=InnoDB"))?;
        let rows = vec!["(0)"; ROWS].join(",");
        let sql = format!("INSERT INTO {name} VALUES {rows}");
        self.session.write_to(&table, |session| session.exec(&sql))?;
        let files = self.export(dir, &table)?;
        self.exec(&format!("DROP TABLE {name}"))?;
        match row_ids(&files) {
            Some(given) if *given.start() == FIRST_OF_TABLE => Ok(()),
            Some(given) if *given.end() > imported + WRITTEN_EVERY => Ok(()),
            given => Err(Error::RowIds { reached: given.map_or(0, |ids| *ids.end()), imported }),
        }
    }
}

/// The least and the largest DB_ROW_ID of a table, if it has rows with such a key and can be read.
fn row_ids(files: &Template) -> Option<RangeInclusive<u64>> {
    let cfg = Cfg::parse(&files.cfg).ok()?;
    let clustered = cfg.indexes.first()?;
    let shape = RecordShape::leaf(&cfg, clustered).ok()?;
    let source = files.ibd.as_slice();
    let space = SpaceReader::open(&source, source.len() as u64).ok()?;
    let mut records = space.records(PageNo(clustered.root), &shape).ok()?;
    let mut ids: Option<RangeInclusive<u64>> = None;
    while let Some(record) = records.advance().ok()? {
        let id = record.field(0).filter(|id| id.len() == innodb::record::ROW_ID_BYTES)?;
        let id = id.iter().fold(0, |id, &byte| id << 8 | u64::from(byte));
        ids = Some(ids.map_or(id..=id, |ids| *ids.start()..=id));
    }
    ids
}
