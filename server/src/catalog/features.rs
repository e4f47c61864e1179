//! Everything about a table that the direct path does not handle.

use values::{Charset, SqlType};

use super::{RowFormat, Table, only};
use crate::error::{Result, Unsupported};
use crate::identifier::{TableName, filename, quote_text};
use crate::session::{Row, Session};
use crate::version::Flavor;

/// The server's answer when the account may not look.
const ER_ACCESS: [u16; 3] = [1044, 1142, 1227];

/// Appends the features of `table` that stand in the way, and recognises JSON columns.
///
/// `kind` is TABLE_TYPE, `options` CREATE_OPTIONS of information_schema.TABLES.
pub(super) fn find(
    session: &mut Session,
    table: &mut Table,
    kind: &str,
    options: &str,
) -> Result<()> {
    let mut found = Vec::new();
    let mut add = |feature, detail: String| found.push(Unsupported::new(feature, detail));
    match kind {
        "BASE TABLE" => {}
        "VIEW" | "SYSTEM VIEW" => add("view", "not a table".to_owned()),
        "SEQUENCE" => add("sequence", "not a table of rows".to_owned()),
        "SYSTEM VERSIONED" => add("system versioning", "WITH SYSTEM VERSIONING".to_owned()),
        other => add("table type", other.to_lowercase()),
    }
    if kind != "VIEW" && !table.engine.eq_ignore_ascii_case("InnoDB") {
        add("storage engine", table.engine.clone());
    }
    match table.row_format {
        RowFormat::Compressed => add("ROW_FORMAT=COMPRESSED", "compressed pages".to_owned()),
        RowFormat::Redundant => add("ROW_FORMAT=REDUNDANT", "old row layout".to_owned()),
        _ => {}
    }
    create_options(options, &mut add);
    for line in table.definition.lines() {
        // Lines of columns start with a backquote, so no name or comment is taken for these.
        let line = line.trim_start();
        if line.starts_with("PERIOD FOR ") && !line.starts_with("PERIOD FOR SYSTEM_TIME") {
            add("application-time period", line.trim_end_matches(',').to_owned());
        }
        if line.contains(" WITHOUT OVERLAPS)") && line.starts_with(['U', 'P']) {
            add("WITHOUT OVERLAPS", line.trim_end_matches(',').to_owned());
        }
    }
    for index in &table.indexes {
        let detail = format!("index {}", index.name);
        match index.kind.as_str() {
            "BTREE" => {}
            "FULLTEXT" => add("FULLTEXT index", detail),
            "SPATIAL" | "RTREE" => add("SPATIAL index", detail),
            "HASH" => add("UNIQUE on a long column", detail),
            "VECTOR" => add("VECTOR index", detail),
            _ => add("index type", format!("{detail} is {}", index.kind)),
        }
    }
    if kind != "VIEW" {
        for key in foreign_keys(session, &table.name)? {
            add("foreign key", key);
        }
        triggers(session, table, &mut add)?;
        checks(session, table, &mut add)?;
    }
    table.unsupported.append(&mut found);
    Ok(())
}

fn create_options(options: &str, add: &mut impl FnMut(&'static str, String)) {
    let lower = options.to_lowercase().replace(['`', '\'', '"'], "");
    for option in lower.split_whitespace() {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let on = !matches!(value, "0" | "no" | "off" | "default");
        match name {
            "partitioned" => add("partitions", "partitioned table".to_owned()),
            "page_compressed" if on => add("page compression", option.to_owned()),
            "encrypted" if on => add("encrypted table", option.to_owned()),
            _ => {}
        }
    }
    if lower.contains("data directory=") {
        add("DATA DIRECTORY", options.to_owned());
    }
}

/// Names of the foreign keys in both directions, those of other tables with a word on it.
///
/// InnoDB's dictionary shows all; an account without PROCESS sees those of the tables it has
/// rights on.
pub(crate) fn foreign_keys(session: &mut Session, table: &TableName) -> Result<Vec<String>> {
    let database = filename(session, &table.database)?;
    let file = filename(session, &table.table)?;
    let internal = quote_text(&format!("{database}/{file}"));
    let view = match session.version().flavor {
        Flavor::MariaDb => "INNODB_SYS_FOREIGN",
        Flavor::MySql => "INNODB_FOREIGN",
    };
    let dictionary = format!(
        "SELECT ID, BINARY FOR_NAME={internal} FROM information_schema.{view} \
         WHERE FOR_NAME={internal} OR REF_NAME={internal}"
    );
    let rows = match session.query(&dictionary) {
        Err(e) if e.errno().is_some_and(|n| ER_ACCESS.contains(&n)) => {
            let (database, name) = (quote_text(&table.database), quote_text(&table.table));
            session.query(&format!(
                "SELECT CONSTRAINT_NAME, CONSTRAINT_SCHEMA={database} AND TABLE_NAME={name} \
                 FROM information_schema.REFERENTIAL_CONSTRAINTS \
                 WHERE (CONSTRAINT_SCHEMA={database} AND TABLE_NAME={name}) \
                 OR (UNIQUE_CONSTRAINT_SCHEMA={database} AND REFERENCED_TABLE_NAME={name})"
            ))?
        }
        rows => rows?,
    };
    let word = |row: &Row| {
        let name = row.text(0)?;
        Ok(match row.text_or_null(1)?.as_deref() {
            Some("1") => name,
            _ => format!("{name} refers to this table"),
        })
    };
    rows.iter().map(word).collect()
}

fn triggers(
    session: &mut Session,
    table: &Table,
    add: &mut impl FnMut(&'static str, String),
) -> Result<()> {
    let (database, name) = (quote_text(&table.name.database), quote_text(&table.name.table));
    let rows = session.query(&format!(
        "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA={database} \
         AND EVENT_OBJECT_TABLE={name} AND BINARY EVENT_OBJECT_TABLE={name}"
    ))?;
    for row in rows {
        add("trigger", row.text(0)?);
    }
    Ok(())
}

/// CHECK constraints, but not the JSON_VALID that makes a LONGTEXT a JSON column.
fn checks(
    session: &mut Session,
    table: &mut Table,
    add: &mut impl FnMut(&'static str, String),
) -> Result<()> {
    let condition = only(&table.name);
    let rows = session.query(&match session.version().flavor {
        Flavor::MariaDb => format!(
            "SELECT CONSTRAINT_NAME, LEVEL, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS \
             WHERE {}",
            condition.replace("TABLE_SCHEMA", "CONSTRAINT_SCHEMA")
        ),
        Flavor::MySql => format!(
            "SELECT CONSTRAINT_NAME, 'Table', CHECK_CLAUSE FROM information_schema.TABLE_CONSTRAINTS \
             JOIN information_schema.CHECK_CONSTRAINTS USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME) \
             WHERE {condition} AND CONSTRAINT_TYPE='CHECK' AND ENFORCED='YES'"
        ),
    })?;
    for row in rows {
        let (name, level, clause) = (row.text(0)?, row.text(1)?, row.text(2)?);
        let json = format!("json_valid({})", crate::identifier::quote_name(&name));
        let column = table.columns.iter_mut().find(|column| column.name == name);
        match column {
            Some(column)
                if level == "Column" && clause == json && is_json_text(&column.sql_type) =>
            {
                column.sql_type = SqlType::Json;
            }
            _ => add("CHECK constraint", format!("{name}: {clause}")),
        }
    }
    Ok(())
}

fn is_json_text(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text { bytes_max, text }
        if *bytes_max == u64::from(u32::MAX)
            && text.charset == Charset::Utf8mb4
            && text.collation == "utf8mb4_bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_matter() {
        let features = |options: &str| {
            let mut found = Vec::new();
            create_options(options, &mut |feature, _| found.push(feature));
            found
        };
        assert_eq!(features("`page_compressed`='1'"), ["page compression"]);
        assert_eq!(features("`PAGE_COMPRESSED`=ON `encrypted`=YES").len(), 2);
        assert_eq!(features("DATA DIRECTORY='/x/'"), ["DATA DIRECTORY"]);
        assert_eq!(features("partitioned"), ["partitions"]);
        assert!(features("row_format=COMPACT stats_persistent=1 `encrypted`=no").is_empty());
    }
}
