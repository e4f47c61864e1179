//! Folders as MySQL Shell writes them, of a server's own database.
//!
//! Source: `modules/util/dump/dumper.cc`, `schema_dumper.cc` and `text_dump_writer.cc` of 9.x.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::{Map, Value, json};
use server::Session;

/// Writes the database `shop`: its tables, these views, and function `f`. `coding` is `TO_BASE64` or
/// `HEX`.
pub(super) fn write(session: &mut Session, folder: &Path, coding: &str, views: &[&str]) {
    let mut writer = Writer { session, folder, coding };
    let tables = writer.texts("SHOW FULL TABLES FROM shop WHERE Table_type='BASE TABLE'", 0);
    let bases: Map<String, Value> =
        tables.iter().map(|table| (table.clone(), base(table).into())).collect();
    let about = r#"{"schemas":["shop"],"basenames":{"shop":"shop"},"tzUtc":true}"#;
    writer.file("@.json", about);
    writer.file("@.done.json", "{}");
    let about = json!({"tables": tables, "views": views, "basenames": bases});
    writer.file("shop.json", &about.to_string());
    let function = writer.text("SHOW CREATE FUNCTION shop.f", 2);
    let create = writer.text("SHOW CREATE DATABASE IF NOT EXISTS shop", 1);
    let routines = format!("DELIMITER ;;\n{function} ;;\nDELIMITER ;\n");
    writer.file("shop.sql", &format!("\n{create};\n\nUSE `shop`;\n{routines}"));
    for view in views {
        writer.view(view);
    }
    for table in &tables {
        writer.definition(table);
        writer.rows(table);
    }
}

struct Writer<'a> {
    session: &'a mut Session,
    folder: &'a Path,
    coding: &'a str,
}

impl Writer<'_> {
    fn texts(&mut self, sql: &str, column: usize) -> Vec<String> {
        let rows = self.session.query(sql).unwrap();
        rows.iter().map(|row| row.text(column).unwrap()).collect()
    }

    fn text(&mut self, sql: &str, column: usize) -> String {
        self.texts(sql, column).remove(0)
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }

    fn view(&mut self, view: &str) {
        let place = format!("/*!50001 CREATE VIEW `{view}` AS SELECT\n 1 AS `id` */;\n");
        self.file(&format!("shop@{view}.pre.sql"), &place);
        let create = self.text(&format!("SHOW CREATE VIEW shop.{view}"), 1);
        let drop = format!("USE `shop`;\n/*!50001 DROP VIEW IF EXISTS `{view}`*/;\n");
        self.file(&format!("shop@{view}.sql"), &format!("{drop}/*!50001 {create} */;\n"));
    }

    fn definition(&mut self, table: &str) {
        let base = base(table);
        let create = self.text(&format!("SHOW CREATE TABLE shop.`{table}`"), 1);
        let create = create.replacen("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1);
        self.file(&format!("{base}.sql"), &format!("{create};\n"));
        for trigger in self.texts(&format!("SHOW TRIGGERS FROM shop WHERE `Table`='{table}'"), 0) {
            let sql = format!("SHOW CREATE TRIGGER shop.`{trigger}`");
            let (mode, create) = (self.text(&sql, 1), self.text(&sql, 2));
            let mode = format!("SET sql_mode='{mode}';\n");
            let text = format!("{mode}DELIMITER ;;\n/*!50003 {create} */;;\nDELIMITER ;\n");
            self.file(&format!("{base}.triggers.sql"), &text);
        }
    }

    /// Two chunks, the second the last.
    fn rows(&mut self, table: &str) {
        let base = base(table);
        let listed = |what: &str| {
            format!(
                "SELECT {what} FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='shop' AND \
                 TABLE_NAME='{table}' AND EXTRA NOT LIKE '%GENERATED%' ORDER BY ORDINAL_POSITION"
            )
        };
        let names = self.texts(&listed("COLUMN_NAME"), 0);
        let types = self.texts(&listed("DATA_TYPE"), 0);
        let function = if self.coding == "HEX" { "UNHEX" } else { "FROM_BASE64" };
        let (mut decoded, mut selected) = (Map::new(), Vec::new());
        for (name, kind) in names.iter().zip(&types) {
            if is_unsafe(kind) {
                decoded.insert(name.clone(), function.into());
                selected.push(format!("{}(`{name}`)", self.coding));
            } else {
                selected.push(format!("`{name}`"));
            }
        }
        let options = json!({"columns": names, "decodeColumns": decoded, "fieldsTerminatedBy": "\t",
            "fieldsEnclosedBy": "", "fieldsEscapedBy": "\\", "linesTerminatedBy": "\n",
            "defaultCharacterSet": "utf8mb4"});
        let about = json!({"options": options, "extension": "tsv", "chunking": true});
        self.file(&format!("{base}.json"), &about.to_string());
        let sql = format!("SELECT {} FROM shop.`{table}`", selected.join(","));
        let rows = self.session.query(&sql).unwrap();
        let lines = rows.iter().map(|row| {
            let fields = (0..row.len()).map(|at| field(row.text_or_null(at).unwrap()));
            fields.collect::<Vec<_>>().join("\t") + "\n"
        });
        let lines: Vec<String> = lines.collect();
        let (first, last) = lines.split_at(lines.len().min(1));
        self.file(&format!("{base}@0.tsv"), &first.concat());
        self.file(&format!("{base}@@1.tsv"), &last.concat());
    }
}

/// The name in the files' names.
fn base(table: &str) -> String {
    format!("shop@{}", table.replace(' ', "%20"))
}

/// True if a column is written in digits.
fn is_unsafe(kind: &str) -> bool {
    kind.ends_with("blob") || kind.ends_with("binary") || ["bit", "geometry"].contains(&kind)
}

/// A value as `Text_dump_writer::store_field` writes it.
fn field(value: Option<String>) -> String {
    let Some(value) = value else { return "\\N".to_owned() };
    let mut field = String::new();
    for c in value.chars() {
        match c {
            '\0' => field += "\\0",
            '\u{8}' => field += "\\b",
            '\n' => field += "\\n",
            '\r' => field += "\\r",
            '\t' => field += "\\t",
            '\u{1a}' => field += "\\Z",
            '\\' => field += "\\\\",
            c => field.push(c),
        }
    }
    field
}
