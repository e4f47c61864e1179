//! Columns, from information_schema.COLUMNS.

use schema::{Column, DefaultValue, Generated};
use values::SqlType;

use super::{About, column_type};
use crate::learn::{self, CollationCache};
use server::engine::Kind;
use server::error::{Error, Result};
use server::identifier::quote_text;
use server::session::{Row, Session};
use server::version::{Flavor, Version};

/// Asks about columns.
pub(super) fn sql(version: &Version, About { condition, also }: &About) -> String {
    let is_generated = match version.flavor {
        Flavor::MySql => "IF(GENERATION_EXPRESSION='', 'NEVER', 'ALWAYS')",
        Flavor::MariaDb => "IS_GENERATED",
    };
    let srid = if has_shapes(version) { "SRS_ID" } else { "NULL" };
    format!(
        "SELECT COLUMN_NAME, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE, COLUMN_TYPE, \
         CHARACTER_SET_NAME, COLLATION_NAME, EXTRA, CHARACTER_MAXIMUM_LENGTH, {is_generated}, \
         {srid}{also} \
         FROM information_schema.COLUMNS WHERE {condition} ORDER BY ORDINAL_POSITION"
    )
}

/// True if GEOMETRY and VECTOR are those of MySQL, and information_schema has SRIDs.
fn has_shapes(version: &Version) -> bool {
    let is_mysql = version.flavor == Flavor::MySql && Kind::of_version(version) == Kind::Plain;
    is_mysql && version.series() >= (8, 0)
}

/// Columns in table order, their defaults as information_schema words them.
pub(super) fn columns(session: &mut Session, rows: &[Row]) -> Result<Vec<Column>> {
    let is_mysql = session.version().flavor == Flavor::MySql;
    let has_shapes = has_shapes(session.version());
    let mut columns = Vec::new();
    for row in rows {
        let charset = row.text_or_null(5)?;
        let known_charset = match &charset {
            Some(name) => match learn::charset(session, name, &CollationCache::of_user()) {
                // One that cannot be learned: no column of it can be built.
                Err(Error::Collation(_)) => None,
                charset => Some(charset?),
            },
            None => None,
        };
        let extra = row.text(7)?.to_ascii_lowercase();
        let described = column_type::Described {
            data_type: &row.text(3)?,
            column_type: &row.text(4)?,
            charset,
            known_charset,
            collation: row.text_or_null(6)?,
            length: row.number_or_null(8)?,
            srid: row.number_or_null(10)?,
            has_shapes,
        };
        let is_generated = row.text_or_null(9)?.as_deref() == Some("ALWAYS");
        let (sql_type, storage) = described.sql_type();
        let nullable = row.text(2)? == "YES";
        let mut default = (!row.is_null(1)).then(|| row.text_lossy(1));
        if is_mysql {
            // It writes a value as it is, but for bits, and says so of an expression.
            let is_plain = !matches!(sql_type, SqlType::Bit { .. });
            default = default.map(|text| match extra.contains("default_generated") {
                true => expression(text),
                false if is_plain => quote_text(&text),
                false => text,
            });
        }
        columns.push(Column {
            nullable,
            auto_increment: extra.contains("auto_increment"),
            default: declared_default(default, nullable),
            is_invisible: extra.contains("invisible"),
            generated: is_generated.then(|| generated(&extra)),
            storage,
            ..Column::new(row.text(0)?, sql_type)
        });
    }
    Ok(columns)
}

/// An expression as SHOW CREATE TABLE has it: MySQL's information_schema has it as the inside of a literal.
///
/// Source: MySQL 9.7, measured: `(concat('a'))` is `concat(_utf8mb4\'a\')`.
fn expression(text: String) -> String {
    match column_type::parse_literal(&format!("'{text}'")) {
        Some((inner, "")) => inner,
        _ => text,
    }
}

/// How a generated column's values come about, by EXTRA in lower case.
fn generated(extra: &str) -> Generated {
    if extra.contains("virtual generated") {
        Generated::Virtual
    } else if extra.contains("stored generated") {
        Generated::Stored
    } else {
        Generated::Unsaid
    }
}

/// The default as information_schema words it, to be made a value by `defaults::complete`.
fn declared_default(text: Option<String>, nullable: bool) -> DefaultValue {
    match text {
        None if nullable => DefaultValue::Null,
        None => DefaultValue::None,
        Some(text) if text == "NULL" => DefaultValue::Null,
        Some(text) => DefaultValue::Expression(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_mysql_are_read_as_they_were_written() {
        let of = |text: &str| expression(text.to_owned());
        assert_eq!(
            of(r"concat(_utf8mb3\'it\\\'s\',_utf8mb3\'\\\\y\\n\')"),
            r"concat(_utf8mb3'it\'s',_utf8mb3'\\y\n')"
        );
        assert_eq!(of("now(3)"), "now(3)");
        // As if a version did not escape.
        assert_eq!(of("concat('a')"), "concat('a')");
    }
}
