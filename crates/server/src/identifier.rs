//! Names and texts for SQL, and names as the server spells them in its data directory.

pub use schema::{TableName, quote_name, quoted_name};

/// A string literal. Right under any `sql_mode` without NO_BACKSLASH_ESCAPES, as our sessions are.
pub fn quote_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The condition of a table's rows in views of information_schema.
pub fn table_condition(table: &TableName) -> String {
    let (database, table) = (quote_text(&table.database), quote_text(&table.table));
    format!("TABLE_SCHEMA={database} AND TABLE_NAME={table}")
}

/// 64 bits of a name, the same on every machine and version: FNV-1a.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
