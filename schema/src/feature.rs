//! What is out of the ordinary about a table, for the paths that take rows to it to judge.

use std::fmt;

use crate::column::{Column, Storage};
use crate::constraint::{Check, ForeignKey, Trigger};
use crate::engine::Engine;
use crate::index::{Index, IndexKind};
use crate::table::{CreateOption, OldUuids, Partitioning, RowFormat, Table, TableKind, UuidMaker};

/// Something about a table that not every path can take.
///
/// Its text is the name that the documentation lists it by, and what was seen: `FULLTEXT index
/// (index ft_body)`. Code asks the variant, never the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A column whose values are the server's, by name.
    GeneratedColumn(String),
    /// A column in the temporal format of servers before 10.1.
    OldTemporal(ColumnText),
    /// A column whose values are compressed.
    CompressedColumn(ColumnText),
    /// YEAR(2), with the column's name.
    TwoDigitYear(String),
    /// A column in a character set that is not known here.
    UnknownCharset(ColumnText),
    /// A column of a type that is not known here.
    UnknownType(ColumnText),
    /// No table of its own.
    View,
    /// A table of one row that counts.
    Sequence,
    /// Rows that are gone are kept.
    SystemVersioning,
    /// Of a kind that is not known here.
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
    /// An index of a kind that is not known here: its name and its kind.
    OtherIndex((String, String)),
    /// A foreign key, in either direction.
    ForeignKey(ForeignKey),
    /// A trigger.
    Trigger(Trigger),
    /// A CHECK constraint.
    Check(Check),
    /// UUIDs that are stored turned round.
    OldUuids(OldUuids),
    /// A default of FLOAT that a copy of the table would not have.
    RoundedDefault(ColumnText),
}

/// A column and a text about it, in the server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnText {
    /// Its name.
    pub column: String,
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
            Feature::Period(_) => "application-time period",
            Feature::WithoutOverlaps(_) => "WITHOUT OVERLAPS",
            Feature::FullTextIndex(_) => "FULLTEXT index",
            Feature::SpatialIndex(_) => "SPATIAL index",
            Feature::HashIndex(_) => "UNIQUE on a long column",
            Feature::VectorIndex(_) => "VECTOR index",
            Feature::OtherIndex(_) => "index type",
            Feature::ForeignKey(_) => "foreign key",
            Feature::Trigger(_) => "trigger",
            Feature::Check(_) => "CHECK constraint",
            Feature::OldUuids(_) => "UUID of an older kind",
            Feature::RoundedDefault(_) => "FLOAT default of more than 6 digits",
        }
    }

    /// What was seen of it.
    fn detail(&self) -> String {
        match self {
            Feature::GeneratedColumn(column) => column.clone(),
            Feature::OldTemporal(seen)
            | Feature::CompressedColumn(seen)
            | Feature::UnknownCharset(seen)
            | Feature::UnknownType(seen)
            | Feature::RoundedDefault(seen) => format!("column {}: {}", seen.column, seen.text),
            Feature::TwoDigitYear(column) => format!("column {column}: two-digit year"),
            Feature::View => "not a table".to_owned(),
            Feature::Sequence => "not a table of rows".to_owned(),
            Feature::SystemVersioning => "WITH SYSTEM VERSIONING".to_owned(),
            Feature::TableType(kind) => kind.to_lowercase(),
            Feature::Engine(engine) => engine.to_string(),
            Feature::CompressedRows => "compressed pages".to_owned(),
            Feature::RedundantRows => "old row layout".to_owned(),
            Feature::Partitions(_) => "partitioned table".to_owned(),
            Feature::PageCompression(text)
            | Feature::Encryption(text)
            | Feature::DataDirectory(text)
            | Feature::Period(text)
            | Feature::WithoutOverlaps(text) => text.clone(),
            Feature::FullTextIndex(name)
            | Feature::SpatialIndex(name)
            | Feature::HashIndex(name)
            | Feature::VectorIndex(name) => format!("index {name}"),
            Feature::OtherIndex((name, kind)) => format!("index {name} is {kind}"),
            Feature::ForeignKey(key) => key.to_string(),
            Feature::Trigger(trigger) => trigger.name.clone(),
            Feature::Check(check) => format!("{}: {}", check.name, check.clause),
            Feature::OldUuids(uuids) => {
                let why = match uuids.maker {
                    UuidMaker::ThisServer => "this server stores UUIDs as those before 10.11.5",
                    UuidMaker::EarlierServer => {
                        "made by a server before 10.11.5; rebuild the table"
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
        found.extend(partitioning.map(Feature::Partitions));
        found.extend(options.iter().map(of_option));
        found.extend(period.clone().map(Feature::Period));
        let overlaps = indexes.iter().filter_map(|index| index.without_overlaps.clone());
        found.extend(overlaps.map(Feature::WithoutOverlaps));
        found.extend(indexes.iter().filter_map(of_index));
        found.extend(foreign_keys.iter().cloned().map(Feature::ForeignKey));
        found.extend(triggers.iter().cloned().map(Feature::Trigger));
        found.extend(checks.iter().cloned().map(Feature::Check));
        found.extend(old_uuids.clone().map(Feature::OldUuids));
        found.extend(columns.iter().filter_map(of_default));
        found
    }
}

fn of_column(column: &Column) -> impl Iterator<Item = Feature> + use<> {
    let seen = |text: &String| ColumnText { column: column.name.clone(), text: text.clone() };
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
    Some(Feature::RoundedDefault(ColumnText { column: column.name.clone(), text }))
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
    }
}

fn of_index(index: &Index) -> Option<Feature> {
    let name = index.name.clone();
    match &index.kind {
        IndexKind::BTree => None,
        IndexKind::FullText => Some(Feature::FullTextIndex(name)),
        IndexKind::Spatial => Some(Feature::SpatialIndex(name)),
        IndexKind::Hash => Some(Feature::HashIndex(name)),
        IndexKind::Vector => Some(Feature::VectorIndex(name)),
        IndexKind::Other(kind) => Some(Feature::OtherIndex((name, kind.clone()))),
    }
}
