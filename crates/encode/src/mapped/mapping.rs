//! The declaration of a table's rows.

use schema::TableName;

use super::condition::Condition;

/// The part of each line that goes to a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    /// Names of a line's fields in order, where no header has them.
    pub fields: Option<Vec<String>>,
    /// A line goes to the table if it meets all conditions of one of these; each line, if there are
    /// none.
    pub when: Vec<Vec<Condition>>,
    /// Columns, and what they get; none if each field goes to the column of its name.
    pub columns: Option<Vec<(String, From)>>,
    /// Which lines are the same row.
    pub entity: Option<Entity>,
}

/// Where the value of a column comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// A field of the line.
    Field(String),
    /// Fields and texts, one behind the other; NULL if a field is.
    Joined(Vec<Piece>),
    /// The id of the line's row of this entity's table; NULL where the line has none.
    IdOf(String),
    /// A column of a row that a table has.
    Lookup(Lookup),
    /// The name of the line's file, without its folder.
    FileName,
    /// The number of the line in its file, from 1.
    Line,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A field of the line.
    Field(String),
    /// The same for all lines.
    Text(String),
}

/// A row that is found by one of its columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lookup {
    /// The table that has it.
    pub table: TableName,
    /// The column that tells it from others.
    pub key: String,
    /// The field that says which it is.
    pub field: String,
    /// The column that is taken.
    pub take: String,
}

/// A table whose rows are the distinct values of some of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The columns that tell rows apart.
    pub key: Vec<String>,
    /// The column that rows get a number in.
    pub id: Option<String>,
    /// The treatment of lines with one key whose other values differ.
    pub on_conflict: OnConflict,
}

/// The treatment of lines that contradict each other about one entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// They fail the load.
    #[default]
    Fail,
    /// The first line counts.
    First,
    /// The last line counts.
    Last,
    /// The lines that differ from the first are refused.
    Reject,
}

impl OnConflict {
    /// As job files have it.
    pub const NAMES: [(&'static str, OnConflict); 4] = [
        ("fail", OnConflict::Fail),
        ("first", OnConflict::First),
        ("last", OnConflict::Last),
        ("reject", OnConflict::Reject),
    ];
}

/// The value that a column takes from rows that are known by their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowReference {
    /// The id of a row of this entity.
    Id(String),
    /// The result of a lookup.
    Looked(Lookup),
}

impl Mapping {
    /// All that its columns take from other rows, each once.
    pub fn wanted(&self) -> Vec<RowReference> {
        let mut wanted = Vec::new();
        for (_, from) in self.columns.iter().flatten() {
            let one = match from {
                From::IdOf(table) => RowReference::Id(table.clone()),
                From::Lookup(lookup) => RowReference::Looked(lookup.clone()),
                From::Field(_) | From::Joined(_) | From::FileName | From::Line => continue,
            };
            if !wanted.contains(&one) {
                wanted.push(one);
            }
        }
        wanted
    }

    /// The texts of the declaration that are joined with fields, or compared with them.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let pieces = self.columns.iter().flatten().filter_map(|(_, from)| match from {
            From::Joined(pieces) => Some(pieces),
            _ => None,
        });
        let joined = pieces.flatten().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Field(_) => None,
        });
        let tests = self.when.iter().flatten().flat_map(|condition| condition.test.texts());
        joined.chain(tests.map(String::as_str))
    }

    /// True if a column gets the name of the line's file.
    pub fn has_file_name(&self) -> bool {
        self.columns.iter().flatten().any(|(_, from)| *from == From::FileName)
    }

    /// The fields that a line's row depends on by itself, which may be named twice; none if on all.
    pub fn field_names(&self) -> Option<Vec<&str>> {
        self.names_of(|_| true)
    }

    /// The fields that say which row of an entity with this key a line has; none if all do.
    pub(crate) fn key_field_names(&self, key: &[String]) -> Option<Vec<&str>> {
        self.names_of(|column| key.iter().any(|key| key.eq_ignore_ascii_case(column)))
    }

    fn names_of(&self, is_meant: impl Fn(&str) -> bool) -> Option<Vec<&str>> {
        let columns = self.columns.as_ref()?;
        let mut names: Vec<&str> =
            self.when.iter().flatten().map(|condition| condition.field.as_str()).collect();
        for (_, from) in columns.iter().filter(|(column, _)| is_meant(column)) {
            match from {
                From::Field(field) => names.push(field),
                From::Lookup(lookup) => names.push(&lookup.field),
                From::Joined(pieces) => {
                    names.extend(pieces.iter().filter_map(|piece| match piece {
                        Piece::Field(field) => Some(field.as_str()),
                        Piece::Text(_) => None,
                    }));
                }
                From::IdOf(_) | From::FileName | From::Line => {}
            }
        }
        Some(names)
    }

    /// The columns that rows have a value for, in order, the id of an entity last; none if they are those
    /// of the header.
    pub fn column_names(&self) -> Option<Vec<String>> {
        let id = self.entity.as_ref().and_then(|entity| entity.id.clone());
        let columns = self.columns.as_ref()?;
        Some(columns.iter().map(|(name, _)| name.clone()).chain(id).collect())
    }
}
