//! The statement that makes the table.

use server::identifier::quote_name;

use super::Sniffed;

/// `CREATE TABLE` of a table without its database.
pub(super) fn create_table(table: &str, sniffed: &Sniffed) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (index, column) in sniffed.columns.iter().enumerate() {
        let is_key = sniffed.primary_key == Some(index);
        let null = if column.nullable && !is_key { "NULL" } else { "NOT NULL" };
        lines.push(format!("  {} {} {null}", quote_name(&column.name), column.sql_type));
    }
    if let Some(column) = sniffed.primary_key.and_then(|index| sniffed.columns.get(index)) {
        lines.push(format!("  PRIMARY KEY ({})", quote_name(&column.name)));
    }
    format!(
        "CREATE TABLE {} (\n{}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;\n",
        quote_name(table),
        lines.join(",\n")
    )
}
