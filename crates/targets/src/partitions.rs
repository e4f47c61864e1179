//! Partitions of the target: where the server puts rows, tried on a small table like it; and a table for
//! each, which is built and imported as any other, and exchanged into the staging table:
//!
//! ```text
//! CREATE TABLE staging table LIKE target             CREATE TABLE part_0 LIKE staging table; REMOVE PARTITIONING
//! part_0: export, discard                     files for all partitions are built by its template
//! CREATE TABLE part_n LIKE part_0; discard    of those that got rows
//! part_n: import                              ALTER TABLE staging table EXCHANGE PARTITION p WITH TABLE part_n
//! ```
//!
//! A file that is built by the template of another table gets the number of its own tablespace in its first
//! page; IMPORT writes it into the others.
//!
//! The server reads every row of a table that it takes for a partition, and refuses it for one that
//! belongs elsewhere. Nobody sees the staging table before all is in it.
//! Source: MariaDB 10.11, sql/sql_partition_admin.cc, `exchange_partition`.

use schema::{BASE_TABLE, PartitionBound, PartitionMethod, Partitioning, quote_name};

use crate::built_file::BuiltFile;
use crate::export::{Export, partition_paths};
use crate::import::{AtBuilt, Building, Imported};
use crate::lock::Lock;
use crate::merged_partition::MergedPartition;
use crate::names::part_name;
use crate::publish::{Filled, FilledBy};
use crate::staging_table::{Direct, Discarded, LogState, StagingTable, space_id};
use catalog::{self, definition};
use disk::{File, failpoint};
use server::error::{Error, Result};
use server::filename::filename;
use server::identifier::{TableName, hex, quote_text};
use server::version::Flavor;

/// Rows of one statement.
const ROWS_AT_ONCE: usize = 200;

/// Rows of which the server is to say where they go.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'t> {
    /// The columns that say it.
    pub columns: &'t [&'t str],
    /// For each of them, true if it holds bytes.
    pub is_bytes: &'t [bool],
    /// Into what they are divided.
    pub by: &'t Partitioning,
    /// Their values, as text; None is NULL.
    pub rows: &'t [Vec<Option<Vec<u8>>>],
}

/// A partition of the staging table that has its rows.
#[derive(Debug)]
pub struct Exchanged {
    file: BuiltFile,
}

impl Direct<'_> {
    /// Makes an empty table like partition 0 of the staging table, which is there.
    ///
    /// Killed after it: an empty table.
    ///
    /// Errors: the server's.
    pub fn create_first_part(&mut self) -> Result<StagingTable<'_>> {
        let lock = &mut *self.lock;
        let (part, staging) = (part_name(&lock.table.name, "0"), lock.names.staging.quoted());
        lock.exec_lenient(&format!("CREATE TABLE {} LIKE {staging}", part.quoted()))?;
        lock.exec_lenient(&format!("ALTER TABLE {} REMOVE PARTITIONING", part.quoted()))?;
        self.staging(part)
    }

    /// Makes the file to build in for a partition whose table is made when it has rows.
    ///
    /// Killed after it: the file.
    ///
    /// Errors: the file system's.
    pub fn begin_part(&mut self, at: usize) -> Result<(File, Building<'_>)> {
        let staging = self.staging(part_name(&self.lock.table.name, &at.to_string()))?;
        Discarded { staging, space_id: None }.create_build_file()
    }

    /// Makes the table that goes with a file of [`Direct::begin_part`], and discards its own: like
    /// that of partition 0, which exists. The wait before an import begins anew with it.
    ///
    /// Killed after it: the file, and an empty table or one without tablespace.
    ///
    /// Errors: the server's; the file system's.
    pub fn create_part(&mut self, at: usize, built: AtBuilt) -> Result<AtBuilt> {
        let target = self.lock.table.name.clone();
        let (part, first) = (part_name(&target, &at.to_string()), part_name(&target, "0"));
        let like = format!("CREATE TABLE {} LIKE {}", part.quoted(), first.quoted());
        self.lock.exec_lenient(&like)?;
        let mut staging = self.staging(part)?;
        let number = staging.number()?;
        let discard = format!("ALTER TABLE {} DISCARD TABLESPACE", staging.table.quoted());
        staging.lock.exec_without_clones(&discard)?;
        staging.made.log.set(LogState::Unknown);
        Ok(built.numbered(number))
    }

    /// Removes the file for a partition that got no rows.
    ///
    /// Errors: the file system's.
    pub fn remove_part_file(&mut self, at: usize) -> Result<()> {
        let part = part_name(&self.lock.table.name, &at.to_string());
        let dir = self.lock.dir()?;
        dir.remove(&dir.path.join(format!("{}.build", part.table))).map(drop)
    }

    /// Drops the tables of these partitions, which have no rows any more.
    ///
    /// Errors: the server's.
    pub fn drop_parts(&mut self, which: &[usize]) -> Result<()> {
        let target = &self.lock.table.name;
        let names = which.iter().map(|at| part_name(target, &at.to_string()).quoted());
        let names: Vec<String> = names.collect();
        self.lock.exec(&format!("DROP TABLE {}", names.join(", ")))
    }

    /// The staging table, whose partitions have their rows; `last` is one of them. `row_id_max` is the largest
    /// hidden row id in all of them, as for [`Placed::import`](crate::import::Placed::import).
    ///
    /// Errors: it is not what the target is.
    pub fn filled_by_parts(
        &mut self,
        last: Exchanged,
        row_id_max: Option<u64>,
    ) -> Result<Filled<'_>> {
        let dir = self.lock.dir()?.clone();
        if let Some(imported) = row_id_max {
            self.lock.raise_row_ids(&dir, imported)?;
        }
        let Lock { session, table, names, .. } = &mut *self.lock;
        if definition(session, &names.staging)? != table.definition {
            let detail = "the partitions of the staging table define a different table".to_owned();
            return Err(Error::Altered { target: table.name.to_string(), detail });
        }
        Ok(Filled::built(self.lock, last.file, dir, row_id_max))
    }
}

impl StagingTable<'_> {
    /// The number of its tablespace.
    fn number(&mut self) -> Result<Option<u32>> {
        let path = self.path("ibd");
        let reading = |e| Error::io("reading", &path, e);
        // A server writes the first page of a file, and syncs it, when it makes the file.
        let mut file = self.dir.open(&path, "template")?;
        match space_id(&mut file).map_err(reading)? {
            None | Some(0) => {
                let template = self.lock.export(&self.dir, &self.table)?;
                space_id(&template.ibd[..]).map_err(reading)
            }
            number => Ok(number),
        }
    }
}

impl Imported<'_> {
    /// Exchanges the table with a partition of the staging table, which has no rows.
    ///
    /// Killed after it: the staging table with that partition filled, and an empty table.
    ///
    /// Errors: the server's, whose it is to refuse a row that does not belong there.
    pub fn exchange(self, partition: &str) -> Result<Exchanged> {
        let Imported { staging: StagingTable { lock, table, dir, .. }, mut file, .. } = self;
        let staging = lock.names.staging.clone();
        lock.exec(&format!(
            "ALTER TABLE {} EXCHANGE PARTITION {} WITH TABLE {}",
            staging.quoted(),
            quote_name(partition),
            table.quoted()
        ))?;
        failpoint::hit("partition.exchanged");
        let name = filename(&mut lock.session, partition)?;
        file.paths = partition_paths(&dir, &staging.table, &name);
        Ok(Exchanged { file })
    }

    /// The table as what takes the place of a partition of the target, which `export` holds. Drops the
    /// empty tables that it was made by.
    ///
    /// Killed in it: the table, perhaps with those.
    ///
    /// Errors: the server's.
    pub fn merged(self, partition: &str, export: Export) -> Result<FilledBy> {
        let Imported { staging: StagingTable { lock, table, .. }, .. } = self;
        let made = [lock.names.staging.clone(), part_name(&lock.table.name, "0")];
        let made: Vec<String> =
            made.iter().filter(|name| **name != table).map(TableName::quoted).collect();
        lock.exec(&format!("DROP TABLE {}", made.join(", ")))?;
        Ok(FilledBy::merged(MergedPartition::of(lock, &table, partition)?, export))
    }
}

impl Lock {
    /// Where the server puts rows: the number of the partition, None where there is none. They go into a
    /// small table with the target's columns and partitions, which is dropped again.
    ///
    /// Killed in it: that table, which the next load of the target drops.
    ///
    /// Errors: the server's.
    pub fn try_rows(&mut self, trial: &Trial<'_>) -> Result<Vec<Option<usize>>> {
        let scratch = part_name(&self.table.name, "try");
        let drop = format!("DROP TABLE IF EXISTS {}", scratch.quoted());
        // InnoDB is the only engine with partitions that MySQL has.
        let engine = match self.session.version().flavor {
            Flavor::MariaDb => "MEMORY",
            Flavor::MySql => "InnoDB",
        };
        let sql = create(&scratch.quoted(), &self.table.definition, engine, trial);
        self.exec(&drop)?;
        // Defaults of columns may be what strict mode would refuse.
        self.exec_lenient(&sql)?;
        let seen = self.insert_and_look(&scratch, trial);
        let dropped = self.exec(&drop);
        let seen = seen?;
        dropped.map(|()| seen)
    }

    fn insert_and_look(
        &mut self,
        scratch: &TableName,
        trial: &Trial<'_>,
    ) -> Result<Vec<Option<usize>>> {
        let name = scratch.quoted();
        let rows: Vec<String> =
            trial.rows.iter().enumerate().map(|(at, row)| tuple(at, row, trial)).collect();
        for rows in rows.chunks(ROWS_AT_ONCE) {
            // Without IGNORE the first row that no partition takes would end it.
            let sql = format!("INSERT IGNORE INTO {name} VALUES {}", rows.join(","));
            let strict = [("sql_mode", "STRICT_ALL_TABLES")];
            self.session.write_to(scratch, |session| session.exec_under(&strict, &sql))?;
        }
        let mut seen = vec![None; trial.rows.len()];
        for (place, partition) in trial.by.partitions.iter().enumerate() {
            let partition = quote_name(&partition.name);
            let sql = format!("SELECT * FROM {name} PARTITION ({partition}) {BASE_TABLE}");
            for row in self.session.query(&sql)? {
                if let Some(at) = seen.get_mut(row.number::<usize>(0)?) {
                    *at = Some(place);
                }
            }
        }
        Ok(seen)
    }
}

/// A table of a number and the columns of a trial, partitioned like the one of this definition.
fn create(name: &str, definition: &str, engine: &str, trial: &Trial<'_>) -> String {
    let column = |column: &&str| {
        let begin = format!("  {} ", quote_name(column));
        let line = catalog::lines(definition).find(|line| line.starts_with(&begin));
        let line = line.unwrap_or_default().trim_end_matches(',');
        line.replace(" AUTO_INCREMENT", "")
    };
    let columns: Vec<String> = trial.columns.iter().map(column).collect();
    let options = definition.rsplit_once("\n) ENGINE=").map_or("", |(_, options)| options);
    let options = options.split('\n').next().unwrap_or_default();
    let mut words = options.split(' ').skip_while(|word| !word.starts_with("CHARSET="));
    let charset = words.next().unwrap_or_default();
    let collation = words.next().filter(|word| word.starts_with("COLLATE=")).unwrap_or_default();
    format!(
        "CREATE TABLE {name} (`_inrush_row` INT,\n{}\n) ENGINE={engine} DEFAULT {charset} {collation}\n{}",
        columns.join(",\n"),
        clause(trial)
    )
}

/// The partitions.
fn clause(trial: &Trial<'_>) -> String {
    let by = trial.by;
    let linear = if by.is_linear { "LINEAR " } else { "" };
    let columns = if by.by_columns { " COLUMNS" } else { "" };
    let (method, takes) = match by.method {
        Some(PartitionMethod::Range) => ("RANGE", "VALUES LESS THAN"),
        Some(PartitionMethod::List) => ("LIST", "VALUES IN"),
        Some(PartitionMethod::Hash) => ("HASH", ""),
        Some(PartitionMethod::Key) => ("KEY", ""),
        Some(PartitionMethod::SystemTime) | None => ("SYSTEM_TIME", ""),
    };
    let expression = match by.expression.is_empty() {
        true => trial.columns.iter().map(|name| quote_name(name)).collect::<Vec<_>>().join(","),
        false => by.expression.clone(),
    };
    let partitions = by.partitions.iter().map(|partition| {
        let name = quote_name(&partition.name);
        match &partition.bound {
            PartitionBound::Hash => format!("PARTITION {name}"),
            PartitionBound::Values(values) => format!("PARTITION {name} {takes} ({values})"),
            PartitionBound::Default => format!("PARTITION {name} DEFAULT"),
        }
    });
    let partitions: Vec<String> = partitions.collect();
    format!("PARTITION BY {linear}{method}{columns} ({expression}) ({})", partitions.join(", "))
}

fn tuple(at: usize, row: &[Option<Vec<u8>>], trial: &Trial<'_>) -> String {
    let literal = |(value, is_bytes): (&Option<Vec<u8>>, &bool)| match value {
        None => "NULL".to_owned(),
        Some(bytes) if *is_bytes => format!("X'{}'", hex(bytes)),
        Some(text) => quote_text(&String::from_utf8_lossy(text)),
    };
    let values: Vec<String> = row.iter().zip(trial.is_bytes).map(literal).collect();
    format!("({at},{})", values.join(","))
}

#[cfg(test)]
mod tests {
    use schema::Partition;

    use super::*;

    #[test]
    fn the_table_that_is_tried_has_columns_and_partitions_of_the_target() {
        let definition = "  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `s` char(3) COLLATE latin1_bin \
             DEFAULT 'x',\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 \
             COLLATE=latin1_swedish_ci ROW_FORMAT=DYNAMIC\n PARTITION BY LIST  COLUMNS(`s`)";
        let bound = |text: &str| PartitionBound::Values(text.to_owned());
        let partition = |name: &str, bound| Partition { name: name.to_owned(), bound };
        let by = Partitioning {
            method: Some(PartitionMethod::List),
            by_columns: true,
            expression: "`s`".to_owned(),
            partitions: vec![
                partition("a", bound("'a','b'")),
                partition("o`o", PartitionBound::Default),
            ],
            ..Partitioning::default()
        };
        let rows = [vec![Some(b"it's".to_vec())], vec![None]];
        let trial = Trial { columns: &["s"], is_bytes: &[false], by: &by, rows: &rows };
        assert_eq!(
            create("`d`.`n`", definition, "MEMORY", &trial),
            "CREATE TABLE `d`.`n` (`_inrush_row` INT,\n  `s` char(3) COLLATE latin1_bin DEFAULT 'x'\n) \
             ENGINE=MEMORY DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci\nPARTITION BY LIST COLUMNS \
             (`s`) (PARTITION `a` VALUES IN ('a','b'), PARTITION `o``o` DEFAULT)"
        );
        assert_eq!(tuple(7, &rows[0], &trial), "(7,'it''s')");
    }
}
