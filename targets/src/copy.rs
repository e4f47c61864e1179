//! An empty table like the target, as the server copies it.

use crate::lock::Lock;
use server::catalog::definition;
use server::error::Result;
use server::identifier::quote_text;
use server::version::Flavor;

/// Options that CREATE TABLE .. LIKE forgets of an InnoDB table, where they mean nothing.
/// Source: tried on MariaDB 10.11.19.
const FORGOTTEN: [&str; 2] = ["PAGE_CHECKSUM=1", "PAGE_CHECKSUM=0"];

impl Lock {
    /// Makes [`Names::shadow`](super::names::Names::shadow) like the target: whether it has the same
    /// definition.
    pub(super) fn copy_target(&mut self) -> Result<bool> {
        let (shadow, target) = (self.names.shadow.clone(), self.table.name.clone());
        let like = format!("CREATE TABLE {} LIKE {}", shadow.quoted(), target.quoted());
        // Strict mode would refuse zero dates in defaults, and rows too wide for a page.
        match self.session.version().flavor {
            Flavor::MariaDb => self.exec(&format!(
                "SET STATEMENT innodb_strict_mode=0, sql_mode='ALLOW_INVALID_DATES' FOR {like}"
            ))?,
            Flavor::MySql => self.exec_in_sql_mode("ALLOW_INVALID_DATES", &like)?,
        }
        let mut made = definition(&mut self.session, &shadow)?;
        for option in FORGOTTEN {
            let is_forgotten = |definition: &str| !definition.contains(option);
            if !is_forgotten(&self.table.definition) && is_forgotten(&made) {
                self.exec(&format!("ALTER TABLE {} {option}", shadow.quoted()))?;
                made = definition(&mut self.session, &shadow)?;
            }
        }
        Ok(made == self.table.definition)
    }

    /// A statement under another `sql_mode`, for servers without SET STATEMENT.
    fn exec_in_sql_mode(&mut self, mode: &str, sql: &str) -> Result<()> {
        let before = self.session.query_row("SELECT @@SESSION.sql_mode")?.text(0)?;
        self.session.exec(&format!("SET SESSION sql_mode={}", quote_text(mode)))?;
        let done = self.exec(sql);
        self.session.exec(&format!("SET SESSION sql_mode={}", quote_text(&before)))?;
        done
    }
}
