//! The part of each line that goes to a table, if a line holds rows of several.
//!
//! ```text
//!            lines of the files, read once for each table
//! when       those of which the table gets a row
//! entity     of lines with one key, the one that stands for all
//! columns    fields, texts joined of them, ids of entities   ->  rows of the table
//! ```
//!
//! There are no files between: a row is a view of its line, so that its place, and what a reject is, are
//! those of the line, and all that loads do with rows they do with these.
//!
//! | module | content |
//! | --- | --- |
//! | [`mapping`], `resolved` | the declared columns of a table, and their fields in a line |
//! | `condition` | the lines of a table |
//! | `line_values` | values made of fields |
//! | `column_values` | values of fields, where lines are made of typed rows |
//! | `key`, `key_table`, `gathering`, `known` | keys of lines; tables of keys; the entities of all lines; rows found by key |
//! | `own`, `recent` | the line that stands for an entity; results of equal lines before it |
//! | `picking`, `source` | the rows of a batch; the rows of one table as a source |

mod column_values;
mod condition;
mod gathering;
mod key;
mod key_table;
mod known;
mod line_values;
pub mod mapping;
mod own;
mod picking;
mod recent;
mod resolved;
mod source;

use std::collections::BTreeSet;
use std::sync::Arc;

use job::options::Select;
use sources::Source;

pub use column_values::ColumnValues;
pub use condition::{Condition, Test, number, numeric_order};
pub use gathering::{Entities, Gathering, LineAt, LinesSaid};
pub use key::{GivenRow, KeyOf, Keyless, LineKeys, LineOrigin, LineRow, RowKeys};
pub use known::{Known, LookedUpRows};
pub use mapping::{Entity, From, Lookup, Mapping, OnConflict, Piece, RowReference};
pub use own::OwnLines;
pub use recent::{Mark, Recent};
pub use resolved::{Lines, When};

/// A line: index of its file, and its place there ([`sources::PositionCursor::place`]).
pub type LinePlace = (u32, u64);

/// The rows of one table: its mapping, and what was found out about the lines before.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// The declaration.
    pub mapping: Arc<Mapping>,
    /// The entities and lookups that its columns take something from, in the order of
    /// [`Mapping::wanted`]; empty before they are known: any number then stands for theirs.
    pub known: Vec<(KeyOf, Arc<Known>)>,
    /// The lines that stand for its rows, where these are an entity's.
    pub own: Option<Arc<OwnLines>>,
    /// Lines that go nowhere.
    pub left_out: Option<Arc<BTreeSet<LinePlace>>>,
    /// Memory for what each reader has found for the last lines.
    pub room_bytes: usize,
}

impl Select for Share {
    fn select(&self, lines: Box<dyn Source>) -> sources::Result<Box<dyn Source>> {
        source::MappedSource::new(lines, self).map(|source| Box::new(source) as Box<dyn Source>)
    }

    fn line_bytes(&self) -> Option<u64> {
        self.own.as_ref().map(|own| own.line_bytes())
    }

    fn has_names(&self, _: Option<&[String]>) -> bool {
        self.mapping.fields.is_some()
    }
}
