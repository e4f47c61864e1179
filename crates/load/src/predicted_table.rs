//! The estimate for a table that does not exist yet, by its CREATE TABLE. Declared lengths of texts stand for
//! those of values.

use encode::field;
use job::error::Error;
use job::memory::Memory;
use job::options::{LoadOptions, LoadPath};
use schema::{
    Column, Flavor, Index, IndexColumn, IndexKind, Method, RowFormat, Table, TableKind, TableName,
};
use sources::{Rows, Source, SourceExt as _, Value, Visit};
use sql::{Outline, OutlinedColumn, OutlinedIndex, Syntax};
use values::SqlType;
use values::key::fixed_width;

use crate::estimate::{Estimate, SAMPLE_ROWS, Sample};
use crate::speeds::Speeds;

/// The table that a CREATE TABLE would make, as far as sizes hang on it; none where it does not list
/// its columns.
pub(crate) fn table(name: &TableName, statement: &str) -> Option<Table> {
    let outline = Outline::read(statement.as_bytes(), Syntax::default()).ok()?;
    Some(Table {
        name: name.clone(),
        kind: TableKind::Base,
        engine: schema::Engine::InnoDb,
        row_format: RowFormat::Dynamic,
        options: Vec::new(),
        partitioning: None,
        auto_increment: None,
        columns: outline.columns.iter().map(column).collect(),
        period: None,
        indexes: outline
            .indexes
            .iter()
            .enumerate()
            .map(|(number, outlined)| index(number, outlined))
            .collect(),
        foreign_keys: Vec::new(),
        references: Vec::new(),
        triggers: Vec::new(),
        checks: Vec::new(),
        old_uuids: None,
        definition: String::new(),
    })
}

/// The estimate of a load by `path`. None in the cases in which a table that exists has none.
pub(crate) fn estimate(
    source: &mut dyn Source,
    table: &Table,
    path: LoadPath,
    options: &LoadOptions,
    memory: &Memory,
    flavor: Flavor,
) -> Result<Option<Estimate>, Error> {
    // What a pipe gives is gone once it is read.
    if source.files().iter().any(|file| file.bytes.is_none()) {
        return Ok(None);
    }
    let speeds = Speeds::of(&options.state_dir, flavor);
    let header = source.column_names().map_err(|error| Error::Usage(error.to_string()))?;
    let header = header.map(|names| {
        names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>()
    });
    let names = options.input.columns.clone().or(header);
    let fields = table.columns.iter().enumerate().map(|(position, column)| match &names {
        Some(names) => names.iter().position(|name| name.eq_ignore_ascii_case(&column.name)),
        None => Some(position),
    });
    let fields: Vec<Option<usize>> = fields.collect();
    let seen = Estimate::of_first_chunk(source, memory, |chunk, batch| {
        batch.visit(chunk, Lengths { fields: &fields, columns: &table.columns })
    })?;
    let Some(seen) = seen else { return Ok(None) };
    let direct = seen.estimate(table, options, memory, &speeds);
    Ok(Some(match path {
        LoadPath::Auto | LoadPath::Direct => direct,
        LoadPath::Stream | LoadPath::Insert | LoadPath::Import => {
            let indexes = table.indexes.len();
            direct.sent(seen.input_bytes, indexes, memory, path, Method::Stage, &speeds)
        }
    }))
}

/// Stored sizes by the lengths of texts.
struct Lengths<'a> {
    /// The field of each column.
    fields: &'a [Option<usize>],
    columns: &'a [Column],
}

impl Visit for Lengths<'_> {
    type Output = Sample;

    fn rows<R: Rows>(self, rows: R) -> Sample {
        let mut sample = Sample::new(rows.len(), self.columns.len());
        let (mut scratch, mut taken) = (Vec::new(), 0);
        for row in rows.iter().take(SAMPLE_ROWS) {
            for (index, (field, column)) in self.fields.iter().zip(self.columns).enumerate() {
                let bytes = match field::value(row, *field, &mut scratch) {
                    Value::Null => 0,
                    Value::Bytes(text) => fixed_width(&column.sql_type).unwrap_or(text.len()),
                    _ => fixed_width(&column.sql_type).unwrap_or_default(),
                };
                sample.add(index, bytes);
            }
            taken += 1;
        }
        sample.average(taken);
        sample
    }
}

fn column(outlined: &OutlinedColumn) -> Column {
    let name = String::from_utf8_lossy(&outlined.name);
    Column { nullable: !outlined.is_not_null, ..Column::new(name, sql_type(outlined)) }
}

fn index(number: usize, outlined: &OutlinedIndex) -> Index {
    let name = if outlined.is_primary { "PRIMARY".to_owned() } else { format!("index {number}") };
    let part = |name: &Vec<u8>| IndexColumn {
        name: String::from_utf8_lossy(name).into_owned(),
        prefix: None,
        descending: false,
    };
    Index {
        name,
        unique: outlined.is_primary,
        kind: IndexKind::BTree,
        columns: outlined.columns.iter().map(part).collect(),
        without_overlaps: None,
    }
}

/// A type whose values are as long as those of the column; bytes of any length for what is text.
fn sql_type(outlined: &OutlinedColumn) -> SqlType {
    let unsigned = false;
    let argument = |at: usize, default: u8| {
        let given = outlined.arguments.get(at).copied();
        given.and_then(|number| u8::try_from(number).ok()).unwrap_or(default)
    };
    let integer = |bytes| SqlType::Integer { bytes, unsigned };
    let digits = argument(0, 0).min(6);
    match outlined.type_word.as_str() {
        "tinyint" | "bool" | "boolean" | "int1" => integer(1),
        "smallint" | "int2" => integer(2),
        "mediumint" | "middleint" | "int3" => integer(3),
        "int" | "integer" | "int4" => integer(4),
        "bigint" | "int8" | "serial" => integer(8),
        "decimal" | "numeric" | "dec" | "fixed" | "number" => {
            let precision = argument(0, 10).clamp(1, 65);
            let scale = argument(1, 0).min(38).min(precision);
            SqlType::Decimal { precision, scale, unsigned }
        }
        "float" => SqlType::Float { unsigned, digits: None },
        "double" | "real" => SqlType::Double { unsigned, digits: None },
        "date" => SqlType::Date,
        "time" => SqlType::Time { digits },
        "datetime" => SqlType::DateTime { digits },
        "timestamp" => SqlType::Timestamp { digits },
        "year" => SqlType::Year,
        "bit" => SqlType::Bit { bits: argument(0, 1).clamp(1, 64) },
        "enum" => integer(1),
        "set" => integer(8),
        "uuid" => SqlType::Uuid,
        "inet4" => SqlType::Inet4,
        "inet6" => SqlType::Inet6,
        _ => SqlType::Blob { bytes_max: u64::from(u32::MAX) },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_foreseen_from_its_statement() {
        let name = TableName::new("d", "t");
        let statement = "CREATE TABLE t (a INT NOT NULL, b DECIMAL(15,2), c VARCHAR(9), PRIMARY KEY (a), \
             KEY (b, a), KEY (c))";
        let table = table(&name, statement).unwrap();
        let widths: Vec<_> =
            table.columns.iter().map(|column| fixed_width(&column.sql_type)).collect();
        assert_eq!(widths, [Some(4), Some(7), None]);
        let names: Vec<&str> = table.indexes.iter().map(|index| index.name.as_str()).collect();
        assert_eq!(names, ["PRIMARY", "index 1", "index 2"]);
        assert!(!table.columns[0].nullable && table.columns[1].nullable);
        assert!(super::table(&name, "CREATE TABLE t LIKE u").is_none());
    }
}
