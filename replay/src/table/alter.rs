//! ALTER TABLE of a table that is not published yet.

use schema::TableName;
use sql::AlterTable;

use super::{Late, Reading, Shadow, Tables};
use crate::error::Error;
use crate::sessions::Sessions;

impl Tables {
    /// Has an ALTER TABLE done to the shadow of `name`, none of whose rows are on their way; foreign
    /// keys are added with the others. False where it cannot be done so.
    ///
    /// Errors: the server's.
    pub(crate) fn alter(
        &mut self,
        sessions: &mut Sessions,
        alter: &AlterTable,
        name: &TableName,
    ) -> Result<bool, Error> {
        let key = self.key(&mut sessions.own, name)?;
        let reading = Reading::of(&mut sessions.dump)?;
        let Some(entry) = self.entries.get_mut(&key) else { return Ok(false) };
        // The shadow's name is UTF-8.
        let is_ascii = alter.is_ascii() && entry.shadow.name.quoted().is_ascii();
        if !(reading.is_utf8 || is_ascii) {
            return Ok(false);
        }
        if !alter.keys.is_empty() {
            entry.keys.extend(alter.keys.iter().cloned());
            entry.late = Late { any: true, checked: entry.late.checked || reading.is_checking };
            return Ok(true);
        }
        // The index that a foreign key makes would come behind those of this.
        if entry.late.any {
            return Ok(false);
        }
        sessions.dump.exec_bytes(&alter.named(&entry.shadow.name.quoted()))?;
        let (table, shadow) = (entry.shadow.table.clone(), entry.shadow.name.clone());
        (entry.shadow, _) = Shadow::read(&mut sessions.own, table, shadow)?;
        Ok(true)
    }
}
