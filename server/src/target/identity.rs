//! Whether another table may take the target's place, or rows have to go into the target itself.
//!
//! A twin that is filled and swapped in is faster, by several connections and indexes built at the
//! end, and all or nothing at any size. But some things are tied to the table and not to its name:
//! foreign keys, triggers, history, and where its files lie. Engines that are a door to another
//! server are refused.

use crate::error::{Result, Unsupported};
use crate::identifier::{TableName, quote_text};
use crate::target::lock::Lock;
use crate::version::Flavor;

/// Engines with transactions whose tables are their own: a copy is another table.
const OWN_ROWS: [&str; 3] = ["InnoDB", "ROCKSDB", "TokuDB"];
/// Engines without, whose tables are their own: their twin is one of InnoDB until its end.
const STAGED: [&str; 5] = ["MyISAM", "Aria", "MEMORY", "CSV", "ARCHIVE"];

/// Where rows for a target may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// What ties the target to itself: with none a twin may take its place.
    pub ties: Vec<Unsupported>,
    /// Whether rows in the target cannot be taken back: its engine has no transactions.
    pub is_unsafe: bool,
    /// What keeps every way of sending rows from it.
    pub refused: Vec<Unsupported>,
    /// Whether the target refers to others, or they to it.
    pub has_foreign_keys: bool,
    /// Whether statements on it run triggers.
    pub has_triggers: bool,
}

impl Lock {
    /// Looks for everything that ties the target to itself. Changes nothing.
    pub fn identity(&mut self) -> Result<Identity> {
        let mut found = Identity::default();
        self.features(&mut found);
        self.engine(&mut found)?;
        self.invisible(&mut found);
        if found.refused.is_empty() && self.has_history()? {
            let detail = "rows that are gone from it are kept in it".to_owned();
            found.ties.push(Unsupported::new("system versioning", detail));
        }
        Ok(found)
    }

    /// Tables that would lose or change rows with those of the target: `db.t by fk (CASCADE)`.
    ///
    /// Empty where the server refuses to delete a row that others refer to.
    pub fn cascades(&mut self) -> Result<Vec<String>> {
        let TableName { database, table } = self.table.name.clone();
        let (database, table) = (quote_text(&database), quote_text(&table));
        let rows = self.session.query(&format!(
            "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE \
             FROM information_schema.REFERENTIAL_CONSTRAINTS \
             WHERE UNIQUE_CONSTRAINT_SCHEMA={database} AND REFERENCED_TABLE_NAME={table} \
             AND DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION') \
             AND NOT (CONSTRAINT_SCHEMA={database} AND TABLE_NAME={table})"
        ))?;
        let word = |row: &crate::session::Row| {
            let [schema, table, key, rule] =
                [row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?];
            Ok(format!("{schema}.{table} by {key} (ON DELETE {rule})"))
        };
        rows.iter().map(word).collect()
    }

    /// Whether rows of the target refer to others of it: one can go in after that one only.
    pub fn refers_to_itself(&mut self) -> Result<bool> {
        let TableName { database, table } = self.table.name.clone();
        let (database, table) = (quote_text(&database), quote_text(&table));
        let rows = self.session.query(&format!(
            "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS \
             WHERE CONSTRAINT_SCHEMA={database} AND TABLE_NAME={table} \
             AND UNIQUE_CONSTRAINT_SCHEMA={database} AND REFERENCED_TABLE_NAME={table}"
        ))?;
        Ok(!rows.is_empty())
    }

    /// Sorts what the catalog found by what it means here.
    fn features(&self, found: &mut Identity) {
        for reason in &self.table.unsupported {
            match reason.feature {
                "view" | "sequence" | "table type" => found.refused.push(reason.clone()),
                "foreign key" => {
                    found.has_foreign_keys = true;
                    found.ties.push(reason.clone());
                }
                "trigger" => {
                    found.has_triggers = true;
                    found.ties.push(reason.clone());
                }
                "DATA DIRECTORY" => found.ties.push(reason.clone()),
                // The server's copy gives CHECK constraints names of its own.
                "CHECK constraint" if self.session.version().flavor == Flavor::MySql => {
                    found.ties.push(reason.clone());
                }
                _ => {}
            }
        }
        let read_only = &self.facts.read_only;
        if !read_only.is_empty() {
            let detail = format!("{} is set", read_only.join(" and "));
            found.refused.push(Unsupported::new("read-only server", detail));
        }
    }

    /// What the storage engine is like.
    fn engine(&mut self, found: &mut Identity) -> Result<()> {
        let engine = self.table.engine.clone();
        let is_in = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case(&engine));
        if is_in(&OWN_ROWS) || !found.refused.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT TRANSACTIONS FROM information_schema.ENGINES WHERE ENGINE={}",
            quote_text(&engine)
        );
        let transactions = self.session.query_text(&sql)?;
        found.is_unsafe = transactions.as_deref() != Some("YES");
        // ARCHIVE takes rows in the order of their numbers only, and above its counter.
        let counts = self.table.columns.iter().any(|column| column.auto_increment);
        if is_in(&STAGED) && !(counts && is_in(&["ARCHIVE"])) {
            return Ok(());
        }
        // FEDERATED of MariaDB 10.11 keeps the first rows of an INSERT that failed, and leaves out
        // the duplicates of a LOAD DATA LOCAL without a word.
        let detail = if found.is_unsafe {
            format!("{engine} has no transactions, so a load could not be taken back")
        } else {
            format!(
                "rows of a {engine} table are another server's, and it undoes no statement alone"
            )
        };
        found.refused.push(Unsupported::new("storage engine", detail));
        Ok(())
    }

    /// What the account may not see may be there.
    fn invisible(&self, found: &mut Identity) {
        let (privileges, account) = (&self.facts.privileges, &self.facts.account);
        let database = &self.table.name.database;
        let is_innodb = self.table.engine.eq_ignore_ascii_case("InnoDB");
        if is_innodb && !privileges.on_server("PROCESS") && !privileges.on_server("SELECT") {
            let detail = format!(
                "whether tables of other databases refer to it is not visible without GRANT \
                 PROCESS ON *.* TO {account}"
            );
            found.ties.push(Unsupported::new("foreign key", detail));
        }
        // MariaDB shows that there is one to whoever may use the table.
        let is_mysql = self.session.version().flavor == Flavor::MySql;
        if is_mysql && !privileges.on_database("TRIGGER", database) {
            let detail = format!(
                "whether it has any is not visible without {}",
                privileges.grant(&["TRIGGER"], database, account)
            );
            found.ties.push(Unsupported::new("trigger", detail));
        }
        let missing = privileges.missing_for_twin(database, account);
        if !missing.is_empty() {
            let detail = format!("to make a twin of it the account needs: {}", missing.join("; "));
            found.ties.push(Unsupported::new("privileges", detail));
        }
    }

    /// Whether a system-versioned table keeps rows that a swap would take away.
    fn has_history(&mut self) -> Result<bool> {
        if !self.table.unsupported.iter().any(|reason| reason.feature == "system versioning") {
            return Ok(false);
        }
        let name = self.table.name.quoted();
        let sql = format!("SELECT 1 FROM {name} FOR SYSTEM_TIME ALL LIMIT 1");
        Ok(!self.session.query(&sql)?.is_empty())
    }
}
