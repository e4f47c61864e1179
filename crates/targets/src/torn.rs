//! Tables of ours of which a power cut has left a part.
//!
//! CREATE and DROP write to several files, and the server makes sure of some of them only: a file system that
//! loses the others brings back what no kill of the server does (seen on 10.11.19).
//!
//! | left | the server says | removed by |
//! | --- | --- | --- |
//! | the description alone | 1932 | DROP TABLE IF EXISTS |
//! | that of a partitioned table, its list of partitions lost | 1030 or nothing, on DROP | us, then as the next |
//! | partitions in InnoDB | 1050, on CREATE | DROP TABLE of each, by the names of their files |
//! | a file that InnoDB does not know | 1005 or 1025, with 184 | us |

use disk::failpoint;
use server::error::{Error, Result};
use server::facts::ServerFacts;
use server::facts::database_dir::DatabaseDir;
use server::filename::filename;
use server::identifier::{TableName, quote_text};
use server::session::Session;

use crate::leftovers::is_folder_of;
use crate::lock::{ER_GONE, Folder, Lock};
use crate::names::{MARK, Names, is_merged, kind_prefix, part_prefix};

const ER_NO_SUCH_TABLE_IN_ENGINE: u16 = 1932;
/// ER_GET_ERRNO: "Got error 175", the engine's.
const ER_OF_ENGINE: u16 = 1030;

/// True if an error of a statement says that a table of ours is not there; a description without a table is
/// removed.
///
/// Errors: the server's. Where InnoDB has the table, or cannot be asked, 1932 is another fault than a cut.
pub fn is_gone(session: &mut Session, table: &TableName, error: &Error) -> Result<bool> {
    match error.errno() {
        Some(errno) if ER_GONE.contains(&errno) => return Ok(true),
        Some(ER_NO_SUCH_TABLE_IN_ENGINE) => {}
        _ => return Ok(false),
    }
    let is = format!("NAME={}", quote_text(&internal(session, table)?));
    if !in_engine(session, &is)?.is_empty() {
        return Ok(false);
    }
    session.exec(&format!("DROP TABLE IF EXISTS {}", table.quoted()))?;
    Ok(true)
}

/// Rows of a query about a table of ours; none where [`is_gone`].
///
/// Errors: the server's.
pub fn rows_if_there<T: Default>(
    session: &mut Session,
    table: &TableName,
    work: impl FnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    match work(session) {
        Err(error) if is_gone(session, table, &error)? => Ok(T::default()),
        rows => rows,
    }
}

/// Removes the files of tables that neither the server nor InnoDB knows, whose names `is_ours` and no other
/// command works at: a DROP that a power cut has half undone. Does nothing where the folder cannot be reached.
///
/// Errors: the server's.
pub fn remove_unknown_files(
    session: &mut Session,
    database: &str,
    is_ours: impl FnMut(&mut Session, &str) -> Result<bool>,
) -> Result<()> {
    let facts = ServerFacts::read(session)?;
    let Ok(dir) = facts.database_dir(session, database)? else { return Ok(()) };
    remove_unknown_files_in(&dir, session, database, is_ours)
}

/// The same in the folder of that database.
fn remove_unknown_files_in(
    dir: &DatabaseDir,
    session: &mut Session,
    database: &str,
    mut is_ours: impl FnMut(&mut Session, &str) -> Result<bool>,
) -> Result<()> {
    for file in dir.names()? {
        let Some(name) = file.strip_suffix(".ibd") else { continue };
        if !is_ours(session, name)? {
            continue;
        }
        let table = TableName::new(database, name);
        let is = format!("NAME={}", quote_text(&internal(session, &table)?));
        // Where nobody may ask InnoDB, it may have the table.
        let is_known = catalog::exists(session, &table)?
            || in_engine(session, &is).map_or(true, |names| !names.is_empty());
        if !is_known && is_folder_of(session, dir, &Names::of(&table).row_ids)? {
            dir.remove(&dir.path.join(&file))?;
        }
    }
    Ok(())
}

impl Lock {
    /// The files of tables that a load only keeps while it sends, where a power cut has undone half of their DROP:
    /// nothing could be created under these names.
    pub(super) fn remove_dropped(&mut self, dir: &DatabaseDir) -> Result<()> {
        let target = &self.table.name;
        let kinds = ["ledger", "append", MARK].map(|kind| kind_prefix(target, kind));
        let is_ours = |_: &mut Session, name: &str| {
            Ok(kinds.iter().any(|kind| name.starts_with(kind.as_str())))
        };
        remove_unknown_files_in(dir, &mut self.session, &target.database, is_ours)
    }

    /// Drops partitioned tables in which new rows are gathered, none of which was ever the target, though
    /// their lists of partitions are lost.
    ///
    /// Killed in it: fewer of them.
    pub(super) fn drop_without_partitions(&mut self) -> Result<()> {
        let Some(Folder { dir, .. }) = &self.folder else { return Ok(()) };
        let dir = dir.clone();
        for name in dir.names()? {
            let Some(table) = name.strip_suffix(".par") else { continue };
            let table = TableName::new(self.table.name.database.as_str(), table);
            let starts = gathering(&self.table.name, &self.names);
            let is_ours = starts.iter().any(|start| table.table.starts_with(start));
            if !is_ours || is_merged(&self.table.name, &table) {
                continue;
            }
            match self.exec(&format!("DROP TABLE IF EXISTS {}", table.quoted())) {
                Err(error) if error.errno() == Some(ER_OF_ENGINE) => {}
                done => done?,
            }
            // Also where the server has dropped it and left this.
            if dir.has(&dir.path.join(&name))? {
                self.prove_dir(&dir)?;
                for extension in ["par", "frm"] {
                    dir.remove(&dir.path.join(format!("{}.{extension}", table.table)))?;
                }
                failpoint::hit("torn.removed");
            }
        }
        Ok(())
    }

    /// Drops what InnoDB has left of tables in which new rows are gathered, and the server does not know.
    ///
    /// Killed in it: less of it.
    pub(super) fn drop_unknown(&mut self) -> Result<()> {
        let database = filename(&mut self.session, &self.table.name.database)?;
        let is = gathering(&self.table.name, &self.names).map(|start| {
            let start = format!("{database}/{start}");
            format!("LEFT(NAME, {})={}", start.chars().count(), quote_text(&start))
        });
        // An account that may not look there finds out by CREATE.
        let names = in_engine(&mut self.session, &is.join(" OR ")).unwrap_or_default();
        for name in names {
            let file = name.rsplit_once('/').map_or(name.as_str(), |(_, file)| file);
            let (table, partition) =
                file.split_once('#').map_or((file, None), |(table, _)| (table, Some(file)));
            let table = TableName::new(self.table.name.database.as_str(), table);
            if is_merged(&self.table.name, &table) || catalog::exists(&mut self.session, &table)? {
                continue;
            }
            // That of a partition is known to InnoDB alone.
            let left = partition.map_or_else(
                || table.clone(),
                |partition| {
                    TableName::new(table.database.as_str(), format!("#mysql50#{partition}"))
                },
            );
            self.exec(&format!("DROP TABLE IF EXISTS {}", left.quoted()))?;
        }
        Ok(())
    }

    /// Makes the descriptions durable of tables that are to be published: the server does not of the list of
    /// partitions, without which nobody can open a table. Does nothing where the folder cannot be reached.
    pub(super) fn sync_descriptions<'n>(
        &self,
        tables: impl IntoIterator<Item = &'n TableName>,
    ) -> Result<()> {
        let Some(Folder { dir, .. }) = &self.folder else { return Ok(()) };
        for table in tables {
            for extension in ["frm", "par"] {
                let path = dir.path.join(format!("{}.{extension}", table.table));
                if dir.has(&path)? {
                    dir.sync_adopted(&path, "description")?;
                }
            }
        }
        Ok(())
    }

    /// Has the names that a RENAME gave survive a power cut: the server leaves that to the file system, and does
    /// not start where its log has two RENAMEs and the folder none. Does nothing where the folder cannot be
    /// reached.
    pub(super) fn sync_names(&mut self) {
        let Some(Err(error)) = self.folder.as_ref().map(|folder| folder.dir.sync_names()) else {
            return;
        };
        self.remarks
            .push(format!("the new names of tables may not survive a power cut yet: {error}"));
    }
}

/// How the names of tables begin in which the rows of a target are gathered. One with rows of the old table,
/// [`is_merged`], begins so too.
fn gathering(target: &TableName, names: &Names) -> [String; 2] {
    [names.staging.table.clone(), part_prefix(target)]
}

/// The name that InnoDB has for a table.
fn internal(session: &mut Session, table: &TableName) -> Result<String> {
    Ok(format!("{}/{}", filename(session, &table.database)?, filename(session, &table.table)?))
}

/// InnoDB's tables of which a condition is true.
fn in_engine(session: &mut Session, condition: &str) -> Result<Vec<String>> {
    let view = session.version().flavor.innodb_view("TABLES");
    let sql = format!("SELECT NAME FROM information_schema.{view} WHERE {condition}");
    session.query(&sql)?.iter().map(|row| row.text(0)).collect()
}
