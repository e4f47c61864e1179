//! UUID columns whose order is another: those of servers before 10.11.5.
//!
//! There every UUID is stored turned round (MDEV-29959). A table made by such a server keeps that
//! until it is rebuilt, and looks like any other but for CHECK TABLE .. FOR UPGRADE.

use schema::{OldUuids, Table, UuidMaker};
use values::SqlType;

use server::error::Result;
use server::session::Session;

/// Version 7: in time order as newer servers store it, the other way round as older ones do.
const PROBE: &str = "SELECT CAST('00000000-0000-7000-8000-000000000001' AS UUID) \
                     < CAST('00000001-0000-7000-8000-000000000000' AS UUID)";

/// Those of a table, if it has any.
pub(super) fn old(session: &mut Session, table: &Table) -> Result<Option<OldUuids>> {
    let is_uuid = |sql_type: &SqlType| matches!(sql_type, SqlType::Uuid);
    let Some(column) = table.columns.iter().find(|column| is_uuid(&column.sql_type)) else {
        return Ok(None);
    };
    let maker = if session.query_row(PROBE)?.text(0)? == "0" {
        UuidMaker::ThisServer
    } else {
        let sql = format!("CHECK TABLE {} FOR UPGRADE", table.name.quoted());
        let answer = session.query(&sql)?;
        if !answer.iter().any(|row| row.text_lossy(3).starts_with("Upgrade required")) {
            return Ok(None);
        }
        UuidMaker::EarlierServer
    };
    Ok(Some(OldUuids { column: column.name.clone(), maker }))
}
