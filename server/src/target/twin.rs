//! The empty twin of a target that rows are sent to, and its way back into the target's shape.
//!
//! ```text
//! create_twin -> (rows go in) -> finish_twin -> publish -> drop_old
//! ```
//!
//! Unlike the direct path's shadow a twin has a name of its own in each load. The named lock of a
//! load is lost with its connection, and others may then clean up and begin anew while connections
//! of the first still send rows: they find their table gone, never another's.
//!
//! While it is filled the twin can differ from the target: secondary indexes are missing, and a
//! table of an engine without transactions is one of InnoDB. That the way back leads to the very
//! definition of the target is tried on the empty twin, before any row is sent.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::catalog::{RowFormat, definition, row_format_of};
use crate::error::{Error, Result, Unsupported};
use crate::identifier::{TableName, digest, quote_text};
use crate::target::import::{Names, Target};
use crate::target::secondary::{Defer, Secondary, alter_text};
use crate::version::Flavor;

/// Connections lost in [`Target::finish_twin`] before it gives up.
const FINISH_TRIES: usize = 4;
const ER_CONNECTION_KILLED: u16 = 1927;

/// What is still to be done to a twin before it is the target's like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Twin {
    /// Indexes that are built when the rows are in.
    secondary: Secondary,
    /// The target's engine, where the twin is of InnoDB until the end.
    staged: Option<String>,
}

impl Target {
    /// Makes the empty twin, [`Names::shadow`] from then on, without the indexes that `defer`
    /// leaves for later; `staged` makes it a table of InnoDB for the time.
    ///
    /// AUTO_INCREMENT goes on where the target's does.
    ///
    /// Killed after it: an empty table, which [`Target::cleanup_tables`] finds.
    ///
    /// Errors: [`Error::Unsupported`] when the server's copy is another table than the target, the
    /// twin then gone again; the server's.
    pub fn create_twin(&mut self, defer: Defer, staged: bool) -> Result<()> {
        self.names.shadow = twin_name(&self.table.name, self.session.id());
        self.twin = Some(Twin::default());
        let made = self.shape_twin(defer, staged);
        if made.is_err() {
            let _shield = self.session.options().interrupt.shield();
            // The error that is reported says why; what stays the next load removes.
            let _ = self.drop_twin();
        }
        made
    }

    fn shape_twin(&mut self, defer: Defer, staged: bool) -> Result<()> {
        self.copy_target()?;
        let twin = Twin {
            secondary: Secondary::of(&self.table, defer),
            staged: staged.then(|| self.table.engine.clone()),
        };
        if !self.try_way_back(&twin)? {
            if staged {
                let detail = "turned into InnoDB and back it is another table than before";
                return Err(self.no_twin("storage engine", detail.to_owned()));
            }
            // Only indexes: they can just as well stay.
            self.drop_twin()?;
            self.copy_target()?;
            self.twin = Some(Twin::default());
        }
        if let Some(next) = self.table.auto_increment.filter(|&next| next > 1) {
            self.alter_twin(&[format!("AUTO_INCREMENT={next}")])?;
        }
        Ok(())
    }

    /// CREATE TABLE .. LIKE, and whether that made the same table.
    fn copy_target(&mut self) -> Result<()> {
        let (shadow, target) = (self.names.shadow.clone(), self.table.name.clone());
        let like = format!("CREATE TABLE {} LIKE {}", shadow.quoted(), target.quoted());
        // Strict mode would refuse zero dates in defaults, and rows too wide for a page.
        match self.session.version().flavor {
            Flavor::MariaDb => self.exec(&format!(
                "SET STATEMENT innodb_strict_mode=0, sql_mode='ALLOW_INVALID_DATES' FOR {like}"
            ))?,
            Flavor::MySql => self.in_sql_mode("ALLOW_INVALID_DATES", &like)?,
        }
        if definition(&mut self.session, &shadow)? != self.table.definition {
            let detail = "CREATE TABLE .. LIKE makes another table than it".to_owned();
            return Err(self.no_twin("copy of the table", detail));
        }
        // Where the table does not say, the server's setting of today does.
        let (made, expected) = (row_format_of(&mut self.session, &shadow)?, self.table.row_format);
        if made != expected && expected != RowFormat::Other {
            let detail = format!("the server makes {made:?} tables now, this is {expected:?}");
            return Err(self.no_twin("row format", detail));
        }
        Ok(())
    }

    /// A statement under another `sql_mode`, for servers without SET STATEMENT.
    fn in_sql_mode(&mut self, mode: &str, sql: &str) -> Result<()> {
        let before = self.session.query_row("SELECT @@SESSION.sql_mode")?.text(0)?;
        self.session.exec(&format!("SET SESSION sql_mode={}", quote_text(mode)))?;
        let done = self.exec(sql);
        self.session.exec(&format!("SET SESSION sql_mode={}", quote_text(&before)))?;
        done
    }

    /// Gives the empty twin the shape rows are sent to, brings it back, and if that leads to the
    /// target's definition takes it there again; false if it does not.
    fn try_way_back(&mut self, twin: &Twin) -> Result<bool> {
        let there = twin.there();
        if there.is_empty() {
            return Ok(true);
        }
        self.alter_twin(&there)?;
        let shadow = self.names.shadow.clone();
        let before = definition(&mut self.session, &shadow)?;
        for back in twin.back(&before, None) {
            self.alter_twin(&back)?;
        }
        if definition(&mut self.session, &shadow)? != self.table.definition {
            return Ok(false);
        }
        self.alter_twin(&there)?;
        self.twin = Some(twin.clone());
        Ok(true)
    }

    /// Gives the filled twin the indexes and the engine of the target; does nothing the second
    /// time. A connection that breaks meanwhile is made again, and what is still missing done.
    ///
    /// Killed in it, or the server: a table that lacks indexes and is never published.
    ///
    /// Errors: two rows with one key, where unique keys were left for later; the server's.
    pub fn finish_twin(&mut self) -> Result<()> {
        let mut tries = 0;
        loop {
            match self.finish_once() {
                Err(error) if is_cut(&error) && tries < FINISH_TRIES => {
                    tries += 1;
                    self.ensure_session()?;
                }
                done => return done,
            }
        }
    }

    fn finish_once(&mut self) -> Result<()> {
        let Some(twin) = self.twin.clone() else { return Ok(()) };
        let shadow = self.names.shadow.clone();
        let now = definition(&mut self.session, &shadow)?;
        for alter in twin.back(&now, self.table.auto_increment) {
            self.alter_twin(&alter)?;
        }
        self.check_twin()
    }

    /// Has the twin's AUTO_INCREMENT go on at `next`, and the target's after the swap.
    pub fn number_twin(&mut self, next: u64) -> Result<()> {
        self.table.auto_increment = Some(next);
        self.alter_twin(&[format!("AUTO_INCREMENT={next}")])
    }

    /// Names of the indexes that [`Target::finish_twin`] builds.
    pub fn deferred(&self) -> Vec<&str> {
        self.twin.iter().flat_map(|twin| twin.secondary.names()).collect()
    }

    /// The twin is what the target is, in every index: else it is not swapped in.
    pub(crate) fn check_twin(&mut self) -> Result<()> {
        if self.twin.is_none() {
            return Ok(());
        }
        let shadow = self.names.shadow.clone();
        if definition(&mut self.session, &shadow)? == self.table.definition {
            return Ok(());
        }
        let detail = format!("the load's own table, {shadow}, is not like it yet");
        Err(Error::Altered { target: self.table.name.to_string(), detail })
    }

    /// Removes the tables that a killed load of this target left, of either path; gives their
    /// names. Files that the direct path left are removed where they can be reached.
    ///
    /// Errors: [`Error::Leftover`] as [`Target::cleanup`]; a lock that does not come.
    pub fn cleanup_tables(&mut self) -> Result<Vec<String>> {
        let mut removed = self.drop_leftovers()?;
        // Of another server than this, they are none of our business here.
        removed.extend(self.remove_files().unwrap_or_default());
        Ok(removed)
    }

    /// Twins of this load and of others of the same target, which has but one load at a time.
    pub(crate) fn twins(&mut self) -> Result<Vec<TableName>> {
        let database = self.table.name.database.clone();
        let prefix = twin_prefix(&self.table.name);
        let sql = format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={} \
             AND TABLE_NAME LIKE {}",
            quote_text(&database),
            quote_text(&format!("{}%", prefix.replace('_', "\\_")))
        );
        let rows = self.session.query(&sql)?;
        rows.iter().map(|row| Ok(TableName::new(database.as_str(), row.text(0)?))).collect()
    }

    fn drop_twin(&mut self) -> Result<()> {
        let sql = format!("DROP TABLE IF EXISTS {}", self.names.shadow.quoted());
        self.exec(&sql)
    }

    fn alter_twin(&mut self, clauses: &[String]) -> Result<()> {
        let flavor = self.session.version().flavor;
        self.exec(&alter_text(flavor, &self.names.shadow, clauses))
    }

    fn no_twin(&self, feature: &'static str, detail: String) -> Error {
        let reasons = vec![Unsupported::new(feature, detail)];
        Error::NoTwin { target: self.table.name.to_string(), reasons }
    }
}

impl Twin {
    /// From the target's shape to the one rows are sent to.
    fn there(&self) -> Vec<String> {
        let mut clauses = self.secondary.drops();
        if self.staged.is_some() {
            clauses.push("ENGINE=InnoDB".to_owned());
        }
        clauses
    }

    /// The ALTERs that lead from `now` to the target's shape.
    fn back(&self, now: &str, next: Option<u64>) -> Vec<Vec<String>> {
        let mut alters = self.secondary.adds(now);
        let is_staged = now.contains("\n) ENGINE=InnoDB");
        if let Some(engine) = self.staged.as_ref().filter(|_| is_staged) {
            // In one statement: the other engine builds its indexes as it copies the rows.
            let mut all: Vec<String> = alters.drain(..).flatten().collect();
            all.push(format!("ENGINE={engine}"));
            all.extend(next.map(|next| format!("AUTO_INCREMENT={next}")));
            alters.push(all);
        }
        alters
    }
}

/// Whether a connection has ended in mid-statement, by itself or by an administrator.
fn is_cut(error: &Error) -> bool {
    matches!(error, Error::Lost { .. }) || error.errno() == Some(ER_CONNECTION_KILLED)
}

fn twin_prefix(target: &TableName) -> String {
    let names = Names::of(target);
    // The digest is in the lock's name, and nothing else of the target's.
    format!("_{}_", names.lock.replacen("inrush_", "inrush_twin_", 1))
}

/// A name that no other load gives: by time, process and connection.
pub(crate) fn twin_name(target: &TableName, connection: u64) -> TableName {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let word = format!("{} {} {connection}", since.as_nanos(), std::process::id());
    let token = digest(word.as_bytes());
    TableName::new(target.database.clone(), format!("{}{token:016x}", twin_prefix(target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_twins_differ_and_are_found() {
        let target = TableName::new("d", "t".repeat(64));
        let (one, other) = (twin_name(&target, 1), twin_name(&target, 2));
        assert_ne!(one, other);
        assert!(one.table.starts_with(&twin_prefix(&target)) && one.table.len() <= 64, "{one}");
        assert!(!one.table.starts_with(&twin_prefix(&TableName::new("e", "t".repeat(64)))));
    }

    #[test]
    fn the_way_back_names_only_what_is_missing() {
        let twin = Twin { secondary: Secondary::default(), staged: Some("Aria".to_owned()) };
        assert_eq!(
            twin.back("  `a` int\n) ENGINE=InnoDB", Some(7)),
            [["ENGINE=Aria", "AUTO_INCREMENT=7"]]
        );
        assert!(twin.back("  `a` int\n) ENGINE=Aria", Some(7)).is_empty());
    }
}
