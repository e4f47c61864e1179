//! Two tables that should be the same after all that happened to them.

use std::path::Path;

use innodb::verify::Report;

use crate::aged::history::Aged;
use crate::tables::compare::{Exported, same_scans, show, verdict};
use crate::tables::server::{Db, Server};

impl Aged {
    /// Rows through every index, definitions with their counters, and the server's opinion of both.
    #[track_caller]
    pub fn same(&self, db: &mut Db) {
        for table in ["a", "b"] {
            assert_eq!(verdict(db, table), ["OK"], "CHECK TABLE {table}, {}", self.family.name);
        }
        assert_eq!(definition(db, "b"), definition(db, "a"), "{}", self.family.name);
        match self.family.partitions {
            // No CHECKSUM TABLE: of virtual columns the server takes whatever is in its memory.
            [] => same_scans(db, "b", "a", self.family.indexes),
            partitions => self.same_partitions(db, partitions),
        }
    }

    /// Has both tables go on with one number, where the server was free to put by more of them for the
    /// one than for the other.
    pub fn same_counters(&self, db: &mut Db) {
        if !self.is_numbered() {
            return;
        }
        let next = "SELECT MAX(AUTO_INCREMENT) FROM information_schema.TABLES \
                    WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN ('a', 'b')";
        let next = db.number(next);
        for table in ["a", "b"] {
            db.sql(&format!("ALTER TABLE {table} AUTO_INCREMENT={next}"));
        }
    }

    /// HANDLER reads no partitions, so these are read by SELECT.
    #[track_caller]
    fn same_partitions(&self, db: &mut Db, partitions: &[&str]) {
        for partition in partitions {
            for index in self.family.indexes {
                let [ours, theirs] = ["b", "a"].map(|table| {
                    let order = if *index == "PRIMARY" { "id" } else { "x, id" };
                    let rows = db.rows(&format!(
                        "SELECT * FROM {table} PARTITION ({partition}) FORCE INDEX ({index}) \
                         ORDER BY {order}"
                    ));
                    rows.iter().map(show).collect::<Vec<_>>()
                });
                assert_eq!(ours, theirs, "partition {partition} through {index}");
            }
        }
    }

    /// The files of table `b`, as the server exports them, break no rule; what they hold.
    #[track_caller]
    pub fn verify(&self, server: &Server, db: &mut Db, folder: &Path) -> Vec<Report> {
        let files = Exported::files(server, db, "b", self.family.partitions);
        files.iter().map(|file| file.verify(db, folder)).collect()
    }
}

/// SHOW CREATE TABLE, of `b` as if it were `a`.
fn definition(db: &mut Db, table: &str) -> String {
    let rows = db.rows(&format!("SHOW CREATE TABLE {table}"));
    rows[0].text_lossy(1).replace("`b`", "`a`").replace("_b`", "_a`")
}
