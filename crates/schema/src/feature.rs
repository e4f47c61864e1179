//! Unusual features of a table, for the paths that take rows to it to judge.

use std::fmt;

use crate::column::{Column, Storage};
use crate::constraint::{Check, ForeignKey, Trigger};
use crate::engine::Engine;
use crate::first_of::first_of;
use crate::index::{Index, IndexKind};
use crate::partition::Partitioning;
use crate::table::{CreateOption, OldUuids, RowFormat, Table, TableKind, UuidMaker};

/// Something about a table that not every path can take.
///
/// Its text is the name that the documentation lists it by, and what was seen: `FULLTEXT index
/// (index ft_body)`. Code asks the variant, never the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A column whose values are the server's, by name.
    GeneratedColumn(String),
    /// A column in the temporal format of servers before 10.1.
    OldTemporal(NamedText),
    /// A column whose values are compressed.
    CompressedColumn(NamedText),
    /// YEAR(2), with the column's name.
    TwoDigitYear(String),
    /// A column in a character set that is not known here.
    UnknownCharset(NamedText),
    /// A column of a type that is not known here.
    UnknownType(NamedText),
    /// No table of its own.
    View,
    /// A table of one row that counts.
    Sequence,
    /// Rows that are gone are kept.
    SystemVersioning,
    /// A table of an unknown kind.
    TableType(String),
    /// Another engine than InnoDB.
    Engine(Engine),
    /// ROW_FORMAT=COMPRESSED.
    CompressedRows,
    /// ROW_FORMAT=REDUNDANT.
    RedundantRows,
    /// Rows that are divided.
    Partitions(Partitioning),
    /// Compressed pages, with the option.
    PageCompression(String),
    /// An encrypted file, with the option.
    Encryption(String),
    /// A file elsewhere, with the options.
    DataDirectory(String),
    /// A file of several tables, with the tablespace's name.
    Tablespace(String),
    /// A file that grows in steps, with the option.
    AutoExtend(String),
    /// A period of the user's, with its line.
    Period(String),
    /// An index whose rows may not overlap in time, with its line.
    WithoutOverlaps(String),
    /// A FULLTEXT index, by name.
    FullTextIndex(String),
    /// A SPATIAL index, by name.
    SpatialIndex(String),
    /// A UNIQUE over columns too long for an ordered index, by name.
    HashIndex(String),
    /// A VECTOR index, by name.
    VectorIndex(String),
    /// An index of expressions, by name.
    ExpressionIndex(String),
    /// An index of a kind that is not known here, with its kind.
    OtherIndex(NamedText),
    /// Foreign keys in either direction, at least one.
    ForeignKeys(Vec<ForeignKey>),
    /// A trigger.
    Trigger(Trigger),
    /// A CHECK constraint.
    Check(Check),
    /// UUIDs that are stored turned round.
    OldUuids(OldUuids),
    /// A default of FLOAT that a copy of the table would not have.
    RoundedDefault(NamedText),
}

/// A column or an index, and a text about it in the server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedText {
    /// Its name.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Feature {
    /// The name that the documentation lists it by.
    pub fn name(&self) -> &'static str {
        match self {
            Feature::GeneratedColumn(_) => "generated column",
            Feature::OldTemporal(_) => "mariadb-5.3 temporal format",
            Feature::CompressedColumn(_) => "COMPRESSED column",
            Feature::TwoDigitYear(_) => "YEAR(2)",
            Feature::UnknownCharset(_) => "character set",
            Feature::UnknownType(_) => "column type",
            Feature::View => "view",
            Feature::Sequence => "sequence",
            Feature::SystemVersioning => "system versioning",
            Feature::TableType(_) => "table type",
            Feature::Engine(_) => "storage engine",
            Feature::CompressedRows => "ROW_FORMAT=COMPRESSED",
            Feature::RedundantRows => "ROW_FORMAT=REDUNDANT",
            Feature::Partitions(_) => "partitions",
            Feature::PageCompression(_) => "page compression",
            Feature::Encryption(_) => "encrypted table",
            Feature::DataDirectory(_) => "DATA DIRECTORY",
            Feature::Tablespace(_) => "general tablespace",
            Feature::AutoExtend(_) => "AUTOEXTEND_SIZE",
            Feature::Period(_) => "application-time period",
            Feature::WithoutOverlaps(_) => "WITHOUT OVERLAPS",
            Feature::FullTextIndex(_) => "FULLTEXT index",
            Feature::SpatialIndex(_) => "SPATIAL index",
            Feature::HashIndex(_) => "UNIQUE on a long column",
            Feature::VectorIndex(_) => "VECTOR index",
            Feature::ExpressionIndex(_) => "index of an expression",
            Feature::OtherIndex(_) => "index type",
            Feature::ForeignKeys(_) => "foreign key",
            Feature::Trigger(_) => "trigger",
            Feature::Check(_) => "CHECK constraint",
            Feature::OldUuids(_) => "UUID of an older kind",
            Feature::RoundedDefault(_) => "FLOAT default of more than 6 digits",
        }
    }

    /// The detail that was found.
    fn detail(&self) -> String {
        match self {
            Feature::GeneratedColumn(column) => column.clone(),
            Feature::OldTemporal(seen)
            | Feature::CompressedColumn(seen)
            | Feature::UnknownCharset(seen)
            | Feature::UnknownType(seen)
            | Feature::RoundedDefault(seen) => format!("column {}: {}", seen.name, seen.text),
            Feature::TwoDigitYear(column) => format!("column {column}: two-digit year"),
            Feature::View => "not a table".to_owned(),
            Feature::Sequence => "not a table of rows".to_owned(),
            Feature::SystemVersioning => "WITH SYSTEM VERSIONING".to_owned(),
            Feature::TableType(kind) => kind.to_lowercase(),
            Feature::Engine(engine) => engine.to_string(),
            Feature::CompressedRows => "compressed pages".to_owned(),
            Feature::RedundantRows => "old row layout".to_owned(),
            Feature::Partitions(by) => by.unfit().unwrap_or("partitioned table").to_owned(),
            Feature::PageCompression(text)
            | Feature::Encryption(text)
            | Feature::DataDirectory(text)
            | Feature::Tablespace(text)
            | Feature::AutoExtend(text)
            | Feature::Period(text)
            | Feature::WithoutOverlaps(text) => text.clone(),
            Feature::FullTextIndex(name)
            | Feature::SpatialIndex(name)
            | Feature::HashIndex(name)
            | Feature::VectorIndex(name)
            | Feature::ExpressionIndex(name) => format!("index {name}"),
            Feature::OtherIndex(seen) => format!("index {} is {}", seen.name, seen.text),
            Feature::ForeignKeys(keys) => first_of(keys),
            Feature::Trigger(trigger) => trigger.name.clone(),
            Feature::Check(check) => format!("{}: {}", check.name, check.clause),
            Feature::OldUuids(uuids) => {
                let why = match uuids.maker {
                    UuidMaker::ThisServer => {
                        "this server stores UUIDs as servers before 10.11.5 \
                                              do"
                    }
                    UuidMaker::EarlierServer => {
                        "created by a server before 10.11.5; rebuild the table"
                    }
                };
                format!("column {}: {why}", uuids.column)
            }
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.detail())
    }
}

impl Table {
    /// Everything out of the ordinary about it, in the order in which it is told.
    pub fn features(&self) -> Vec<Feature> {
        // All facts are named here, so that a new one is not forgotten.
        let Table {
            name: _,
            kind,
            engine,
            row_format,
            options,
            partitioning,
            auto_increment: _,
            columns,
            period,
            indexes,
            foreign_keys,
            references: _,
            triggers,
            checks,
            old_uuids,
            definition: _,
        } = self;
        let mut found: Vec<Feature> = columns.iter().flat_map(of_column).collect();
        found.extend(of_kind(kind));
        // The engine of a view is none.
        if *kind != TableKind::View && *engine != Engine::InnoDb {
            found.push(Feature::Engine(engine.clone()));
        }
        found.extend(of_rows(*row_format));
        found.extend(partitioning.clone().map(Feature::Partitions));
        found.extend(options.iter().map(of_option));
        found.extend(period.clone().map(Feature::Period));
        let overlaps = indexes.iter().filter_map(|index| index.without_overlaps.clone());
        found.extend(overlaps.map(Feature::WithoutOverlaps));
        found.extend(indexes.iter().filter_map(|index| of_index(index, engine)));
        if !foreign_keys.is_empty() {
            found.push(Feature::ForeignKeys(foreign_keys.clone()));
        }
        found.extend(triggers.iter().cloned().map(Feature::Trigger));
        found.extend(checks.iter().cloned().map(Feature::Check));
        found.extend(old_uuids.clone().map(Feature::OldUuids));
        found.extend(columns.iter().filter_map(of_default));
        found
    }
}

fn of_column(column: &Column) -> impl Iterator<Item = Feature> + use<> {
    let seen = |text: &String| NamedText { name: column.name.clone(), text: text.clone() };
    let generated = column.generated.map(|_| Feature::GeneratedColumn(column.name.clone()));
    let stored = match &column.storage {
        Storage::Usual => None,
        Storage::Compressed(declared) => Some(Feature::CompressedColumn(seen(declared))),
        Storage::OldTemporal(declared) => Some(Feature::OldTemporal(seen(declared))),
        Storage::TwoDigitYear => Some(Feature::TwoDigitYear(column.name.clone())),
        Storage::UnknownCharset(charset) => Some(Feature::UnknownCharset(seen(charset))),
        Storage::UnknownType(declared) => Some(Feature::UnknownType(seen(declared))),
    };
    generated.into_iter().chain(stored)
}

fn of_default(column: &Column) -> Option<Feature> {
    let text = column.rounded_default.clone()?;
    Some(Feature::RoundedDefault(NamedText { name: column.name.clone(), text }))
}

fn of_kind(kind: &TableKind) -> Option<Feature> {
    match kind {
        TableKind::Base => None,
        TableKind::View | TableKind::SystemView => Some(Feature::View),
        TableKind::Sequence => Some(Feature::Sequence),
        TableKind::SystemVersioned => Some(Feature::SystemVersioning),
        TableKind::Other(kind) => Some(Feature::TableType(kind.clone())),
    }
}

fn of_rows(format: RowFormat) -> Option<Feature> {
    match format {
        RowFormat::Compressed => Some(Feature::CompressedRows),
        RowFormat::Redundant => Some(Feature::RedundantRows),
        RowFormat::Dynamic | RowFormat::Compact | RowFormat::Other => None,
    }
}

fn of_option(option: &CreateOption) -> Feature {
    match option {
        CreateOption::PageCompressed(text) => Feature::PageCompression(text.clone()),
        CreateOption::Encrypted(text) => Feature::Encryption(text.clone()),
        CreateOption::DataDirectory(text) => Feature::DataDirectory(text.clone()),
        CreateOption::Tablespace(name) => Feature::Tablespace(name.clone()),
        CreateOption::AutoExtend(bytes) => Feature::AutoExtend(bytes.clone()),
    }
}

fn of_index(index: &Index, engine: &Engine) -> Option<Feature> {
    let name = index.name.clone();
    // The server keeps the values in a column of its own.
    let has_expression = index.columns.iter().any(|column| column.name.is_empty());
    match &index.kind {
        IndexKind::BTree if has_expression => Some(Feature::ExpressionIndex(name)),
        IndexKind::BTree => None,
        // Its usual kind.
        IndexKind::Hash if *engine == Engine::Memory => None,
        IndexKind::FullText => Some(Feature::FullTextIndex(name)),
        IndexKind::Spatial => Some(Feature::SpatialIndex(name)),
        IndexKind::Hash => Some(Feature::HashIndex(name)),
        IndexKind::Vector => Some(Feature::VectorIndex(name)),
        IndexKind::Other(kind) => Some(Feature::OtherIndex(NamedText { name, text: kind.clone() })),
    }
}

#[cfg(test)]
mod tests {
    use values::SqlType;

    use super::*;
    use crate::column::Generated;
    use crate::constraint::KeyEnd;
    use crate::index::IndexColumn;
    use crate::name::TableName;

    fn plain() -> Table {
        Table {
            name: TableName::new("d", "t"),
            kind: TableKind::Base,
            engine: Engine::InnoDb,
            row_format: RowFormat::Dynamic,
            options: Vec::new(),
            partitioning: None,
            auto_increment: Some(7),
            columns: vec![Column::new("a", SqlType::Year)],
            period: None,
            indexes: vec![index("PRIMARY", IndexKind::BTree)],
            foreign_keys: Vec::new(),
            references: Vec::new(),
            triggers: Vec::new(),
            checks: Vec::new(),
            old_uuids: None,
            definition: String::new(),
        }
    }

    fn index(name: &str, kind: IndexKind) -> Index {
        let name = name.to_owned();
        Index { name, unique: true, kind, columns: Vec::new(), without_overlaps: None }
    }

    #[test]
    fn a_plain_table_has_no_features() {
        assert_eq!(plain().features(), []);
    }

    #[test]
    fn features_are_told_in_one_order() {
        let mut table = plain();
        let text = |text: &str| text.to_owned();
        table.columns.push(Column {
            generated: Some(Generated::Stored),
            storage: Storage::UnknownType(text("point")),
            ..Column::new("g", SqlType::Opaque { declared: text("point"), is_text: false })
        });
        table.columns.push(Column {
            rounded_default: Some(text("16777216")),
            ..Column::new("f", SqlType::Float { unsigned: false, digits: None })
        });
        table.engine = Engine::named("MRG_MyISAM");
        table.row_format = RowFormat::Redundant;
        table.options.push(CreateOption::Encrypted(text("encrypted=yes")));
        table.partitioning = Some(Partitioning::default());
        table.period = Some(text("PERIOD FOR `p` (`s`, `e`)"));
        table.indexes.push(index("r", IndexKind::Other(text("RING"))));
        table.indexes[1].without_overlaps = Some(text("UNIQUE KEY `r` (`p` WITHOUT OVERLAPS)"));
        let key = |end| ForeignKey { name: text("d/f"), end, other: None };
        table.foreign_keys = vec![key(KeyEnd::Child), key(KeyEnd::Parent)];
        table.triggers.push(Trigger { name: text("tr") });
        table.checks.push(Check { name: text("c"), clause: text("`a` > 1") });
        let maker = UuidMaker::EarlierServer;
        table.old_uuids = Some(OldUuids { column: text("u"), maker });
        let words: Vec<String> = table.features().iter().map(ToString::to_string).collect();
        assert_eq!(
            words,
            [
                "generated column (g)",
                "column type (column g: point)",
                "storage engine (MRG_MyISAM)",
                "ROW_FORMAT=REDUNDANT (old row layout)",
                "partitions (by an unsupported expression)",
                "encrypted table (encrypted=yes)",
                "application-time period (PERIOD FOR `p` (`s`, `e`))",
                "WITHOUT OVERLAPS (UNIQUE KEY `r` (`p` WITHOUT OVERLAPS))",
                "index type (index r is RING)",
                "foreign key (d/f, d/f refers to this table)",
                "trigger (tr)",
                "CHECK constraint (c: `a` > 1)",
                "UUID of an older kind (column u: created by a server before 10.11.5; rebuild the table)",
                "FLOAT default of more than 6 digits (column f: 16777216)",
            ]
        );
    }

    #[test]
    fn many_foreign_keys_are_one_reason() {
        let key = |number: u32| ForeignKey {
            name: format!("d/f{number}"),
            end: KeyEnd::Parent,
            other: None,
        };
        let table = Table { foreign_keys: (0..232).map(key).collect(), ..plain() };
        let words: Vec<String> = table.features().iter().map(ToString::to_string).collect();
        let to = "refers to this table";
        assert_eq!(words, [format!("foreign key (d/f0 {to}, d/f1 {to}, d/f2 {to}, and 229 more)")]);
    }

    #[test]
    fn an_index_column_without_a_name_is_an_expression() {
        let column =
            |name: &str| IndexColumn { name: name.to_owned(), prefix: None, descending: false };
        let columns = vec![column("a"), column("")];
        let indexes = vec![Index { columns, ..index("e", IndexKind::BTree) }];
        let words: Vec<String> =
            Table { indexes, ..plain() }.not_built().iter().map(ToString::to_string).collect();
        assert_eq!(words, ["index of an expression (index e)"]);
    }

    #[test]
    fn hash_indexes_are_usual_in_memory_alone() {
        let hash = || vec![index("h", IndexKind::Hash)];
        let table = Table { engine: Engine::Memory, indexes: hash(), ..plain() };
        assert_eq!(table.features(), [Feature::Engine(Engine::Memory)]);
        let table = Table { indexes: hash(), ..plain() };
        assert_eq!(table.features(), [Feature::HashIndex("h".to_owned())]);
    }

    #[test]
    fn what_is_no_table_of_rows_is_told_by_its_kind() {
        let words = |kind, engine| {
            let table = Table { kind, engine, ..plain() };
            table.features().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(words(TableKind::View, Engine::None), ["view (not a table)"]);
        let expected = ["view (not a table)", "storage engine (MEMORY)"];
        assert_eq!(words(TableKind::SystemView, Engine::Memory), expected);
        assert_eq!(words(TableKind::Sequence, Engine::InnoDb), ["sequence (not a table of rows)"]);
        let expected = ["system versioning (WITH SYSTEM VERSIONING)"];
        assert_eq!(words(TableKind::SystemVersioned, Engine::InnoDb), expected);
        let temporary = TableKind::named("TEMPORARY");
        assert_eq!(words(temporary, Engine::InnoDb), ["table type (temporary)"]);
    }
}
