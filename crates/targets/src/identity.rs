//! A check if another table may take the target's place, or rows have to go into the target itself.
//!
//! A staging table that is filled and swapped in is faster, by several connections and indexes built at the
//! end, and all or nothing at any size. But some things are tied to the table and not to its name:
//! foreign keys, triggers, history, and where its files lie. Engines that are a door to another
//! server are refused.

use schema::{BASE_TABLE, Engine, Staged, TableKind, TableName};

use crate::lock::Lock;
use server::Unsupported;
use server::engine::{Kind, Swap};
use server::error::Result;
use server::identifier::quote_text;
use server::version::Flavor;

/// Where rows for a target may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Ties of the target to itself: without any a staging table may take its place.
    pub ties: Vec<Unsupported>,
    /// True if rows in the target cannot be rolled back: its engine has no transactions.
    pub is_unsafe: bool,
    /// Reasons against sending rows at all.
    pub refused: Vec<Unsupported>,
}

impl Lock {
    /// Looks for everything that ties the target to itself. Changes nothing.
    pub fn identity(&mut self) -> Result<Identity> {
        let mut found = Identity::default();
        self.features(&mut found);
        self.rules(&mut found);
        self.engine(&mut found)?;
        self.invisible(&mut found);
        if found.refused.is_empty() && self.has_history()? {
            found.ties.push(Unsupported::History);
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
        let word = |row: &server::session::Row| {
            let [schema, table, key, rule] =
                [row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?];
            Ok(format!("{schema}.{table} by {key} (ON DELETE {rule})"))
        };
        rows.iter().map(word).collect()
    }

    /// Sorts what the catalog found by what it means here.
    fn features(&self, found: &mut Identity) {
        let flavor = self.session.version().flavor;
        for feature in self.table.features() {
            match feature.support().staged {
                Staged::TiedOnMySql if flavor != Flavor::MySql => {}
                Staged::Copied => {}
                Staged::Tied | Staged::TiedOnMySql => {
                    found.ties.push(Unsupported::Table(feature));
                }
                Staged::Refused => found.refused.push(Unsupported::Table(feature)),
            }
        }
        // A copy would be in the shared tablespace.
        let is_copied = self.table.engine == Engine::InnoDb && flavor == Flavor::MySql;
        if is_copied && !self.facts.file_per_table && self.facts.engine.kind.has_files() {
            found.ties.push(Unsupported::SharedTablespace);
        }
        // TiDB tells one, and has none.
        if self.facts.engine.kind.has_files() {
            found.ties.extend(self.facts.unsupported_row_format(&self.table));
        }
        let engine = self.facts.enforced_engine.clone();
        found.refused.extend(engine.map(Unsupported::EnforcedEngine));
        if !self.facts.read_only.is_empty() {
            found.refused.push(Unsupported::ReadOnly(self.facts.read_only.clone()));
        }
    }

    /// Checks the rules of the engine that answers, and of the table's, if it is not the server's
    /// own.
    fn rules(&self, found: &mut Identity) {
        let rules = &self.facts.engine;
        if let Swap::Never(why) = rules.swap {
            found.ties.push(Unsupported::Engine(rules.kind, why.to_owned()));
        }
        let why = rules.refuses(&self.table.name.database);
        found.refused.extend(why.map(|why| Unsupported::Engine(rules.kind, why)));
        if Kind::of_table(&self.table.engine) == Kind::Ndb {
            let why = Kind::NDB_REFUSED.to_owned();
            found.refused.push(Unsupported::Engine(Kind::Ndb, why));
        }
    }

    /// Checks the storage engine.
    fn engine(&mut self, found: &mut Identity) -> Result<()> {
        let engine = self.table.engine.clone();
        let rows = rows_of(&engine);
        if rows == EngineRows::Own || !found.refused.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT TRANSACTIONS FROM information_schema.ENGINES WHERE ENGINE={}",
            quote_text(&engine.to_string())
        );
        let transactions = self.session.query_text(&sql)?;
        found.is_unsafe = transactions.as_deref() != Some("YES");
        // ARCHIVE takes rows in the order of their numbers only, and above its counter.
        let counts = self.table.columns.iter().any(|column| column.auto_increment);
        if rows == EngineRows::Staged && !(counts && engine == Engine::Archive) {
            return Ok(());
        }
        found.refused.push(match found.is_unsafe {
            true => Unsupported::NoTransactions(engine),
            false => Unsupported::ForeignRows(engine),
        });
        Ok(())
    }

    /// Notes relations that the account may not see, and which may exist.
    fn invisible(&self, found: &mut Identity) {
        let (facts, name) = (&self.facts, &self.table.name);
        if self.table.engine == Engine::InnoDb {
            found.ties.extend(facts.unseen_foreign_keys());
        }
        found.ties.extend(facts.unseen_triggers(name));
        let missing = facts.privileges.missing_for_staging(&name.database, &facts.account);
        if !missing.is_empty() {
            found.ties.push(Unsupported::StagingPrivileges(missing));
        }
    }

    /// True if a system-versioned table keeps rows that a swap would take away.
    fn has_history(&mut self) -> Result<bool> {
        if self.table.kind != TableKind::SystemVersioned {
            return Ok(false);
        }
        let name = self.table.name.quoted();
        let sql = format!("SELECT 1 FROM {name} FOR SYSTEM_TIME ALL {BASE_TABLE} LIMIT 1");
        Ok(!self.session.query(&sql)?.is_empty())
    }
}

/// Whose the rows of an engine are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineRows {
    /// Its tables' own, with transactions: a copy is another table.
    Own,
    /// Its tables' own, without: their staging table is one of InnoDB until its end.
    Staged,
    /// Perhaps another server's.
    Unknown,
}

pub(super) fn rows_of(engine: &Engine) -> EngineRows {
    match engine {
        Engine::InnoDb | Engine::RocksDb | Engine::TokuDb => EngineRows::Own,
        Engine::MyIsam | Engine::Aria | Engine::Memory | Engine::Csv | Engine::Archive => {
            EngineRows::Staged
        }
        Engine::Other(_) | Engine::None => EngineRows::Unknown,
    }
}
