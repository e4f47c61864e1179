//! The statement that makes the table.

use server::identifier::quote_name;

use super::Sniffed;

/// `CREATE TABLE` of a table without its database.
pub(super) fn create_table(table: &str, sniffed: &Sniffed, collation: Option<&str>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (index, column) in sniffed.columns.iter().enumerate() {
        let is_key = sniffed.primary_key == Some(index);
        let null = match column.sql_type.to_ascii_uppercase().contains("NULL") {
            true => "",
            false if is_key => " NOT NULL",
            false => " NULL",
        };
        lines.push(format!("  {} {}{null}", quote_name(&column.name), column.sql_type));
    }
    if let Some(column) = sniffed.primary_key.and_then(|index| sniffed.columns.get(index)) {
        lines.push(format!("  PRIMARY KEY ({})", quote_name(&column.name)));
    }
    // Most names of collations begin with their character set; those of UCA 14.0.0 may be of several.
    let text = match collation {
        None => "CHARSET=utf8mb4".to_owned(),
        Some(name) if name.starts_with("uca") => format!("CHARSET=utf8mb4 COLLATE={name}"),
        Some(name) => format!("COLLATE={name}"),
    };
    format!(
        "CREATE TABLE {} (\n{}\n) ENGINE=InnoDB DEFAULT {text};\n",
        quote_name(table),
        lines.join(",\n")
    )
}
