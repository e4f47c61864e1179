//! The account's privileges, read from SHOW GRANTS.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::grant;
use crate::identifier::{TableName, quoted_name};
use crate::session::Session;
use crate::version::Flavor;

/// Rights the direct path needs on the target's database: create, fill and swap the staging table.
const DATABASE: [&str; 6] = ["SELECT", "INSERT", "CREATE", "ALTER", "DROP", "LOCK TABLES"];
/// Rights it needs on databases of its own: a table waits there with its foreign keys.
const SCRATCH: [&str; 5] = ["SELECT", "INSERT", "CREATE", "ALTER", "DROP"];
/// The same on MySQL, where one connection locks the table there, and others that are published with it refer to it.
const SCRATCH_MYSQL: [&str; 7] =
    ["SELECT", "INSERT", "CREATE", "ALTER", "DROP", "LOCK TABLES", PARENT_MYSQL];
/// Rights it needs on the databases of tables that foreign keys join the target with.
const BESIDE: [&str; 2] = ["SELECT", "LOCK TABLES"];
/// The right that it needs on MySQL where a table is that a foreign key refers to.
const PARENT_MYSQL: &str = "REFERENCES";
/// Rights it needs on the server: FLUSH TABLES .. FOR EXPORT, and on MariaDB a checkpoint.
const SERVER: [&str; 2] = ["RELOAD", "SUPER"];
const SERVER_MYSQL: [&str; 1] = ["RELOAD"];

/// Rights a staging table needs on the target's database: it is made, altered, filled and swapped in.
const TWIN: [&str; 6] = DATABASE;

/// Rights that whoever makes a table for rows needs, to fill it or to take it back: a right on a table
/// that has gone again could not be given.
pub const TO_MAKE: &[&str] = &["SELECT", "INSERT", "CREATE", "DROP"];
/// Rights that whoever makes a table under another name needs, to have it take its place or to take it
/// back.
pub const TO_MAKE_BESIDE: &[&str] = &["SELECT", "INSERT", "CREATE", "ALTER", "DROP"];

/// Server error of SHOW GRANTS under `--skip-grant-tables`.
const ER_OPTION_PREVENTS_STATEMENT: u16 = 1290;
const EVERYTHING: &str = "GRANT ALL PRIVILEGES ON *.* TO ``@``";

/// The statement that gives the account those of `rights` on a database that it lacks: to be asked
/// before anything is made that could not be removed.
pub fn missing(session: &mut Session, rights: &[&str], database: &str) -> Result<Option<String>> {
    let privileges = Privileges::read(session)?;
    let row =
        session.query_row("SELECT CURRENT_USER(), SUBSTRING_INDEX(CURRENT_USER(), '@', -1)")?;
    let account = crate::grant::account(&row.text(0)?, &row.text(1)?);
    Ok(privileges.missing(rights, database, &account))
}

/// The account's rights, its active roles' included. Those on single columns are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privileges {
    grants: Vec<Grant>,
    /// Databases for which MySQL takes rights on the server away again.
    revokes: Vec<Grant>,
    /// True if the names of databases in GRANT are no patterns.
    is_literal: bool,
}

/// One `GRANT .. ON scope`, or `REVOKE .. ON scope`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    /// Upper-case names; `ALL PRIVILEGES` is one of them.
    privileges: Vec<String>,
    /// None: the whole server. Else a LIKE pattern of database names, or a database's name.
    database: Option<String>,
    /// The one table of the database.
    table: Option<String>,
}

/// The privileges for rows in the target itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InPlace {
    /// Rows there go: DELETE, which REPLACE needs too.
    pub deletes: bool,
    /// Rows there are changed: UPDATE.
    pub updates: bool,
    /// A table beside it says what was loaded: CREATE and DROP in its database.
    pub ledger: bool,
    /// The ledger may be corrected: UPDATE in its database.
    pub corrects: bool,
}

impl Privileges {
    pub(crate) fn read(session: &mut Session) -> Result<Privileges> {
        let rows = match session.query("SHOW GRANTS") {
            // A server without accounts lets everybody do everything.
            Err(error) if error.errno() == Some(ER_OPTION_PREVENTS_STATEMENT) => {
                return Ok(Privileges::of(&[EVERYTHING.to_owned()], false));
            }
            rows => rows?,
        };
        let lines = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>>>()?;
        let is_literal = session.version().flavor == Flavor::MySql
            && session.query(grant::LITERAL)?.iter().any(|row| row.bytes(1) == Some(b"ON"));
        Ok(Privileges::of(&lines, is_literal))
    }

    fn of(lines: &[String], is_literal: bool) -> Privileges {
        let all = |word: &str| lines.iter().filter_map(|line| parse(line, word)).collect();
        Privileges { grants: all("GRANT "), revokes: all("REVOKE "), is_literal }
    }

    /// True if a privilege holds on the whole server.
    pub fn on_server(&self, privilege: &str) -> bool {
        self.grants.iter().any(|g| g.database.is_none() && g.gives(privilege))
    }

    /// True if a privilege holds on one table.
    pub(crate) fn on_table(&self, privilege: &str, name: &TableName) -> bool {
        let is_it = |grant: &Grant| {
            let tables = grant.table.as_ref() == Some(&name.table);
            tables && grant.database.as_ref() == Some(&name.database) && grant.gives(privilege)
        };
        self.on_database(privilege, &name.database) || self.grants.iter().any(is_it)
    }

    /// True if a privilege holds on every table of a database, also those to be created.
    pub fn on_database(&self, privilege: &str, database: &str) -> bool {
        let is_revoked = self
            .revokes
            .iter()
            .any(|revoke| revoke.database.as_deref() == Some(database) && revoke.gives(privilege));
        self.grants.iter().any(|grant| {
            let covers = match grant.database.as_deref() {
                None => !is_revoked,
                Some(name) if self.is_literal => name == database,
                Some(name) => sql::is_like(database.as_bytes(), name.as_bytes()),
            };
            covers && grant.table.is_none() && grant.gives(privilege)
        })
    }

    /// The statement that gives an account `rights` on a database.
    pub fn grant(&self, rights: &[&str], database: &str, account: &str) -> String {
        grant::grant(rights, database, account, self.is_literal)
    }

    /// True if foreign keys of other databases that refer to a table are seen.
    pub(crate) fn sees_foreign_keys(&self) -> bool {
        self.on_server("PROCESS") || self.on_server("SELECT")
    }

    /// The rights of the direct path that are missing, as `GRANT .. TO account` would give them:
    /// one statement for the server, one for the database.
    pub(crate) fn missing_for_direct(
        &self,
        flavor: Flavor,
        database: &str,
        account: &str,
    ) -> Vec<String> {
        let needed = match flavor {
            Flavor::MariaDb => &SERVER[..],
            Flavor::MySql => &SERVER_MYSQL[..],
        };
        let mut server: Vec<&str> =
            needed.iter().copied().filter(|right| !self.on_server(right)).collect();
        if !self.sees_foreign_keys() {
            server.push("PROCESS");
        }
        let server = Some(server).filter(|rights| !rights.is_empty());
        let server =
            server.map(|rights| format!("GRANT {} ON *.* TO {account}", rights.join(", ")));
        server.into_iter().chain(self.missing(&DATABASE, database, account)).collect()
    }

    /// Those that it needs besides for a table with foreign keys: on databases of its own, whose
    /// names begin with `_inrush_`, on those of the `others` that they join it with, and on those of tables
    /// that it refers to.
    pub fn missing_for_keys(
        &self,
        flavor: Flavor,
        own: &[&str],
        others: &BTreeSet<&str>,
        parents: &BTreeSet<&str>,
        account: &str,
    ) -> Vec<String> {
        let of_parent = Some(PARENT_MYSQL).filter(|_| flavor == Flavor::MySql);
        let lacks = |right: &&str| own.iter().any(|own| !self.on_database(right, own));
        let scratch = if of_parent.is_some() { &SCRATCH_MYSQL[..] } else { &SCRATCH };
        let rights: Vec<&str> = scratch.iter().copied().filter(lacks).collect();
        let rights = Some(rights).filter(|rights| !rights.is_empty());
        let own = rights.map(|rights| match self.is_literal {
            true => own.iter().map(|own| self.grant(&rights, own, account)).collect(),
            false => {
                vec![format!("GRANT {} ON `\\_inrush\\_%`.* TO {account}", rights.join(", "))]
            }
        });
        let of_other = |database: &&str| {
            let beside = BESIDE.into_iter().filter(|_| others.contains(database));
            let of_parent = of_parent.filter(|_| parents.contains(database));
            let rights: Vec<&str> = beside.chain(of_parent).collect();
            self.missing(&rights, database, account)
        };
        own.into_iter().flatten().chain(others.union(parents).filter_map(of_other)).collect()
    }

    /// The rights that a staging table needs and that are missing, as `GRANT .. TO account` gives them.
    pub fn missing_for_staging(&self, database: &str, account: &str) -> Vec<String> {
        self.missing(&TWIN, database, account).into_iter().collect()
    }

    /// The same for rows that go into the target itself.
    pub fn missing_in_place(&self, name: &TableName, need: InPlace, account: &str) -> Vec<String> {
        let rows = [("INSERT", true), ("SELECT", true), ("DELETE", need.deletes)];
        let rows = rows.into_iter().chain([("UPDATE", need.updates)]);
        let rows: Vec<&str> = rows
            .filter(|(right, is_needed)| *is_needed && !self.on_table(right, name))
            .map(|(right, _)| right)
            .collect();
        let ledger: &[&str] = match need {
            InPlace { ledger: true, corrects: true, .. } => {
                &["SELECT", "INSERT", "UPDATE", "CREATE", "DROP"]
            }
            InPlace { ledger: true, .. } => &["SELECT", "INSERT", "CREATE", "DROP"],
            _ => &[],
        };
        let rows = Some(rows).filter(|rights| !rights.is_empty());
        let rows = rows
            .map(|rights| format!("GRANT {} ON {} TO {account}", rights.join(", "), name.quoted()));
        rows.into_iter().chain(self.missing(ledger, &name.database, account)).collect()
    }

    /// The statement that gives those of `rights` on a database that are missing.
    fn missing(&self, rights: &[&str], database: &str, account: &str) -> Option<String> {
        let missing = rights.iter().filter(|right| !self.on_database(right, database));
        let missing: Vec<&str> = missing.copied().collect();
        (!missing.is_empty()).then(|| self.grant(&missing, database, account))
    }
}

impl Grant {
    fn gives(&self, privilege: &str) -> bool {
        self.privileges.iter().any(|p| p == privilege || p == "ALL PRIVILEGES")
    }
}

/// Reads `GRANT a, b ON scope TO ..`, if it begins with that `word`; None for roles, proxies, columns and routines.
fn parse(line: &str, word: &str) -> Option<Grant> {
    let (list, rest) = line.strip_prefix(word)?.split_once(" ON ")?;
    let privileges = list.split(',').map(|p| p.trim().to_ascii_uppercase()).collect();
    if rest.starts_with("*.* ") {
        return Some(Grant { privileges, database: None, table: None });
    }
    // `` `data``base`.* TO .. ``
    let (database, rest) = quoted_name(rest)?;
    let rest = rest.strip_prefix('.')?;
    let table = if rest.starts_with("* ") { None } else { Some(quoted_name(rest)?.0) };
    Some(Grant { privileges, database: Some(database), table })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_of_a_modest_account() {
        let lines = [
            "GRANT `r` TO `bob`@`localhost`",
            "GRANT RELOAD, PROCESS, SUPER ON *.* TO `bob`@`localhost` IDENTIFIED BY PASSWORD '*EB'",
            "GRANT SELECT, INSERT ON `f`.* TO `bob`@`localhost`",
            "GRANT ALL PRIVILEGES ON `a\\_b%`.* TO `bob`@`localhost`",
            "GRANT DROP ON `f`.`lk` TO `bob`@`localhost`",
            "SET DEFAULT ROLE `r` FOR `bob`@`localhost`",
        ];
        let privileges = Privileges::of(&lines.map(str::to_owned), false);
        assert!(privileges.on_server("RELOAD") && !privileges.on_server("SELECT"));
        assert!(privileges.on_database("INSERT", "f") && !privileges.on_database("DROP", "f"));
        assert!(privileges.missing_for_direct(Flavor::MariaDb, "a_bc", "x").is_empty());
        assert!(!privileges.on_database("DROP", "axbc"), "the underscore is escaped");
        let missing = privileges.missing_for_direct(Flavor::MariaDb, "f", "`bob`@`localhost`");
        let expected = "GRANT CREATE, ALTER, DROP, LOCK TABLES ON `f`.* TO `bob`@`localhost`";
        assert_eq!(missing, [expected]);
        let table = TableName::new("f", "lk");
        assert!(privileges.on_table("DROP", &table) && privileges.on_table("INSERT", &table));
        let need = InPlace { deletes: true, ..InPlace::default() };
        assert_eq!(
            privileges.missing_in_place(&table, need, "x"),
            ["GRANT DELETE ON `f`.`lk` TO x"]
        );
        let need = InPlace { ledger: true, corrects: true, ..InPlace::default() };
        assert_eq!(
            privileges.missing_in_place(&table, need, "x"),
            ["GRANT UPDATE, CREATE, DROP ON `f`.* TO x"]
        );
        let (others, parents) = (BTreeSet::from(["o", "f"]), BTreeSet::from(["f", "g"]));
        let of_keys =
            |flavor| privileges.missing_for_keys(flavor, &["_inrush_x"], &others, &parents, "x");
        let own = |more: &str| {
            format!("GRANT SELECT, INSERT, CREATE, ALTER, DROP{more} ON `\\_inrush\\_%`.* TO x")
        };
        assert_eq!(
            of_keys(Flavor::MySql),
            [
                &*own(", LOCK TABLES, REFERENCES"),
                "GRANT LOCK TABLES, REFERENCES ON `f`.* TO x",
                "GRANT REFERENCES ON `g`.* TO x",
                "GRANT SELECT, LOCK TABLES ON `o`.* TO x",
            ]
        );
        let beside = ["GRANT LOCK TABLES ON `f`.* TO x", "GRANT SELECT, LOCK TABLES ON `o`.* TO x"];
        assert_eq!(of_keys(Flavor::MariaDb), [&*own(""), beside[0], beside[1]]);
        let nothing = Privileges::default();
        let missing = nothing.missing_for_direct(Flavor::MariaDb, "a_b`c", "x");
        assert_eq!(missing[0], "GRANT RELOAD, SUPER, PROCESS ON *.* TO x");
        assert!(missing[1].ends_with("LOCK TABLES ON `a\\_b``c`.* TO x"), "{missing:?}");
    }
    #[test]
    fn rights_that_mysql_revokes_for_a_database_are_missing_there() {
        let lines = [
            "GRANT SELECT, INSERT, CREATE, DROP, RELOAD, PROCESS, ALTER, LOCK TABLES ON *.* TO `u`@`%`",
            "GRANT TRIGGER ON `a\\_b`.* TO `u`@`%`",
            "GRANT TRIGGER ON `c_d`.* TO `u`@`%`",
            "REVOKE INSERT ON `c_d`.* FROM `u`@`%`",
        ];
        let privileges = Privileges::of(&lines.map(str::to_owned), true);
        let missing =
            |database: &str| privileges.missing_for_direct(Flavor::MySql, database, "`u`@`%`");
        assert_eq!(missing("c_d"), ["GRANT INSERT ON `c_d`.* TO `u`@`%`"]);
        assert!(missing("cxd").is_empty());
        let sees = |database: &str| privileges.on_database("TRIGGER", database);
        assert!(sees("c_d") && !sees("cxd") && !sees("a_b") && sees("a\\_b"));
    }
}
