//! The statement that makes the table.

use server::identifier::quote_name;

use super::{SniffOptions, Sniffed, SniffedColumn};

/// The type of columns with UUIDs, and the one for the same bytes.
const UUID: &str = "UUID";
const BYTES: &str = "BINARY(16)";

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

/// The same with the bytes of UUIDs, for servers without their type. None for a table without UUIDs, but for those of
/// columns whose type the user chose.
pub(super) fn without_uuid(options: &SniffOptions, sniffed: &Sniffed) -> Option<String> {
    let mut other = sniffed.clone();
    let is_chosen = |name: &str| {
        let lower = name.to_lowercase();
        options.wanted.types.iter().any(|(typed, _)| typed.to_lowercase() == lower)
    };
    let guessed = |column: &&mut SniffedColumn| column.sql_type == UUID && !is_chosen(&column.name);
    let mut is_other = false;
    for column in other.columns.iter_mut().filter(guessed) {
        column.sql_type = BYTES.to_owned();
        is_other = true;
    }
    let collation = options.wanted.collation.as_deref();
    is_other.then(|| create_table(&options.table, &other, collation))
}
