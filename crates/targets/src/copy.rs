//! An empty table like the target, as the server copies it.

use crate::lock::Lock;
use catalog::{definition, for_copies, plain_keys, row_format_of, without_references};
use schema::RowFormat;
use server::Unsupported;
use server::error::Result;
use server::identifier::quote_name;

/// Options that CREATE TABLE .. LIKE forgets of an InnoDB table, where they mean nothing.
/// Source: tried on MariaDB 10.11.19.
const FORGOTTEN: [&str; 2] = ["PAGE_CHECKSUM=1", "PAGE_CHECKSUM=0"];
/// Server error of a table without a primary key under `sql_require_primary_key`.
const ER_TABLE_WITHOUT_PK: u16 = 3750;

impl Lock {
    /// Makes [`Names::staging`](super::names::Names::staging) like the target. Gives the reason why none may take the
    /// target's place, if there is one: the server refuses it, another definition, another row format.
    pub(super) fn copy_target(&mut self) -> Result<Option<Unsupported>> {
        let (staging, target) = (self.names.staging.clone(), self.table.name.clone());
        let like = format!("CREATE TABLE {} LIKE {}", staging.quoted(), target.quoted());
        match self.exec_lenient(&like) {
            Err(error) if error.errno() == Some(ER_TABLE_WITHOUT_PK) => {
                return Ok(Some(Unsupported::PrimaryKeyRequired(self.facts.account.clone())));
            }
            made => made?,
        }
        self.keep_keys()?;
        let mut made = definition(&mut self.session, &staging)?;
        for option in FORGOTTEN {
            let is_forgotten = |definition: &str| !definition.contains(option);
            if !is_forgotten(&self.table.definition) && is_forgotten(&made) {
                self.exec(&format!("ALTER TABLE {} {option}", staging.quoted()))?;
                made = definition(&mut self.session, &staging)?;
            }
        }
        // Foreign keys are added when it takes the target's place.
        if made != without_references(&self.table.definition) {
            return Ok(Some(Unsupported::CopyDiffers));
        }
        self.other_row_format()
    }

    /// The row format of [`Names::staging`](super::names::Names::staging), if it is not the target's: where
    /// the table has none of its own, the server's setting of today decides.
    fn other_row_format(&mut self) -> Result<Option<Unsupported>> {
        let made = row_format_of(&mut self.session, &self.names.staging)?;
        let expected = self.table.row_format;
        Ok((made != expected && expected != RowFormat::Other).then(|| {
            Unsupported::RowFormat(format!(
                "the server creates {made:?} tables now, but this table is {expected:?}: set \
                 innodb_default_row_format, or give the table a ROW_FORMAT"
            ))
        }))
    }

    /// Has indexes that the server once made for foreign keys be as if somebody had asked for them:
    /// when the foreign keys are added it would make them anew, in another order and by other names.
    ///
    /// Source: MariaDB 10.11, sql/sql_table.cc, `mysql_prepare_create_table_finalize`, at `generated`.
    fn keep_keys(&mut self) -> Result<()> {
        let keys = plain_keys(&self.table.definition);
        if self.table.references.is_empty() || keys.is_empty() {
            return Ok(());
        }
        let again: Vec<String> = keys
            .iter()
            .map(|(name, line)| format!("DROP KEY {}, ADD {line}", quote_name(name)))
            .collect();
        // By a new file: an index that is dropped leaves its room in the old one.
        let (staging, again) = (self.names.staging.quoted(), again.join(", "));
        self.exec_lenient(&format!("ALTER TABLE {staging} {again}, ALGORITHM=COPY"))
    }

    /// A statement that makes a table as the target is. Strict mode would refuse zero dates in defaults, and rows
    /// too wide for a page; some servers of MySQL refuse tables without a primary key.
    pub(super) fn exec_lenient(&mut self, sql: &str) -> Result<()> {
        let mut variables = vec![("innodb_strict_mode", "0")];
        variables.extend(for_copies(self.session.version().flavor));
        let done =
            self.patience.watch(&mut self.session, |session| session.exec_under(&variables, sql));
        done.map(drop).map_err(|error| self.gone_meanwhile(error))
    }
}
