//! UUID columns whose order is another: those of servers before 10.11.5.
//!
//! There every UUID is stored turned round (MDEV-29959). A table made by such a server keeps that
//! until it is rebuilt, and looks like any other but for CHECK TABLE .. FOR UPGRADE.

use values::SqlType;

use super::Table;
use crate::error::{Result, Unsupported};
use crate::session::Session;

/// Version 7: in time order as newer servers store it, the other way round as older ones do.
const PROBE: &str = "SELECT CAST('00000000-0000-7000-8000-000000000001' AS UUID) \
                     < CAST('00000001-0000-7000-8000-000000000000' AS UUID)";

/// Refuses a table with UUIDs of the older kind.
pub(super) fn refuse_older(session: &mut Session, table: &mut Table) -> Result<()> {
    let is_uuid = |sql_type: &SqlType| matches!(sql_type, SqlType::Uuid);
    let Some(column) = table.columns.iter().find(|column| is_uuid(&column.sql_type)) else {
        return Ok(());
    };
    let detail = if session.query_row(PROBE)?.text(0)? == "0" {
        format!("column {}: this server stores UUIDs as those before 10.11.5", column.name)
    } else {
        let sql = format!("CHECK TABLE {} FOR UPGRADE", table.name.quoted());
        let answer = session.query(&sql)?;
        if !answer.iter().any(|row| row.text_lossy(3).starts_with("Upgrade required")) {
            return Ok(());
        }
        format!("column {}: made by a server before 10.11.5; rebuild the table", column.name)
    };
    table.unsupported.push(Unsupported::new("UUID of an older kind", detail));
    Ok(())
}
