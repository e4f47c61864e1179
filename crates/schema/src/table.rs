//! A table as a server describes it.

use crate::column::Column;
use crate::constraint::{Check, ForeignKey, KeyEnd, Reference, Trigger};
use crate::engine::Engine;
use crate::index::Index;
use crate::name::TableName;
use crate::partition::Partitioning;
use values::SqlType;

/// The kind of a table, to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// A table.
    Base,
    /// A table that keeps the rows it had.
    SystemVersioned,
    /// A view.
    View,
    /// A table of the server's own, that is a view.
    SystemView,
    /// A sequence.
    Sequence,
    /// Another, as the server names it.
    Other(String),
}

impl TableKind {
    /// By TABLE_TYPE of information_schema.TABLES.
    pub fn named(name: &str) -> TableKind {
        match name {
            "BASE TABLE" => TableKind::Base,
            "SYSTEM VERSIONED" => TableKind::SystemVersioned,
            "VIEW" => TableKind::View,
            "SYSTEM VIEW" => TableKind::SystemView,
            "SEQUENCE" => TableKind::Sequence,
            other => TableKind::Other(other.to_owned()),
        }
    }

    /// True if it has no definition as a table.
    pub fn is_view(&self) -> bool {
        match self {
            TableKind::View | TableKind::SystemView => true,
            TableKind::Base | TableKind::SystemVersioned | TableKind::Sequence => false,
            TableKind::Other(_) => false,
        }
    }
}

/// How InnoDB lays out a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// The default since 10.2: long values wholly off page.
    Dynamic,
    /// The first 768 bytes of a long value stay on the page.
    Compact,
    /// REDUNDANT, of MySQL 4; not loaded directly.
    Redundant,
    /// Compressed pages; not loaded directly.
    Compressed,
    /// Another engine's.
    Other,
}

impl RowFormat {
    /// By ROW_FORMAT of information_schema.TABLES, in whatever case.
    pub fn named(name: &str) -> RowFormat {
        match name.to_ascii_lowercase().as_str() {
            "dynamic" => RowFormat::Dynamic,
            "compact" => RowFormat::Compact,
            "redundant" => RowFormat::Redundant,
            "compressed" => RowFormat::Compressed,
            _ => RowFormat::Other,
        }
    }
}

/// Something that CREATE TABLE was told and that changes the table's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateOption {
    /// Its pages are compressed; the option in lower case.
    PageCompressed(String),
    /// It is encrypted; the option in lower case.
    Encrypted(String),
    /// Its file is elsewhere: all options, in the server's words.
    DataDirectory(String),
    /// It is in a tablespace with others, of this name.
    Tablespace(String),
    /// Its file grows in steps of so many bytes.
    AutoExtend(String),
}

/// UUIDs that are stored turned round, as servers before 10.11.5 do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldUuids {
    /// The first column that has them.
    pub column: String,
    /// Who stored them so.
    pub maker: UuidMaker,
}

/// Who stores UUIDs turned round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UuidMaker {
    /// This server, in every table.
    ThisServer,
    /// The server that made the table.
    EarlierServer,
}

/// A table, with what a load has to know of it.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name, in the server's spelling.
    pub name: TableName,
    /// Its kind.
    pub kind: TableKind,
    /// Storage engine.
    pub engine: Engine,
    /// How rows are laid out.
    pub row_format: RowFormat,
    /// Other options of its file, in the server's order.
    pub options: Vec<CreateOption>,
    /// Into what its rows are divided, if they are.
    pub partitioning: Option<Partitioning>,
    /// The next AUTO_INCREMENT value, if a column has it.
    pub auto_increment: Option<u64>,
    /// Columns in table order, invisible and generated ones too; of a type that is not known as
    /// [`values::SqlType::Opaque`].
    pub columns: Vec<Column>,
    /// The line of its application-time period, if it has one.
    pub period: Option<String>,
    /// Indexes in the server's order.
    pub indexes: Vec<Index>,
    /// Foreign keys in both directions.
    pub foreign_keys: Vec<ForeignKey>,
    /// Those of them that are the table's own, in the order of its definition.
    pub references: Vec<Reference>,
    /// Triggers, as far as the account may see them.
    pub triggers: Vec<Trigger>,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// UUIDs of the older kind, if it has them.
    pub old_uuids: Option<OldUuids>,
    /// SHOW CREATE TABLE without name and AUTO_INCREMENT: equal texts are equal tables. Empty for a
    /// view.
    pub definition: String,
}

impl Table {
    /// The types of columns by their names, which have no case; none of one that the table lacks.
    pub fn types_of(&self, columns: &[String]) -> Vec<Option<SqlType>> {
        let of = |name: &String| {
            let is_it = |own: &str| own.to_lowercase() == name.to_lowercase();
            let column = self.columns.iter().find(|column| is_it(&column.name));
            column.map(|column| column.sql_type.clone())
        };
        columns.iter().map(of).collect()
    }

    /// The table or view in FROM. A view that takes the place of a table is refused: [`TableName::base`].
    pub fn base_or_view(&self) -> String {
        if self.kind.is_view() { self.name.quoted() } else { self.name.base() }
    }

    /// The index of this name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// True if rows of other tables, or of its own, refer to rows of it.
    pub fn is_referred_to(&self) -> bool {
        self.foreign_keys.iter().any(|key| key.end != KeyEnd::Child)
    }

    /// True if rows of it refer to others of it: a row can only be inserted after the one it refers
    /// to.
    pub fn refers_to_itself(&self) -> bool {
        self.foreign_keys.iter().any(|key| key.end == KeyEnd::Both)
    }
}
