//! Lines that hold rows of several tables: read once before any table is loaded.
//!
//! ```text
//! line -> its row of each table -> what is wrong with them: then the line goes nowhere
//!      -> its key in each entity -> gathered: which entities there are, and the lines that have them
//! ```
//!
//! A line has no row of an entity whose key is NULL. Among lines with one key, one has the row: faults of the
//! row in other lines do not count, for nothing is made from them.
//!
//! | module | content |
//! | --- | --- |
//! | `table`, `rule`, `placed` | a table and the rules for its rows; rules for lines; their fields |
//! | `reading`, `worker` | the lines, read by many workers |
//! | `keys`, `seat`, `shared`, `entity_digest` | keys of a line; the row of a line in a table; values that lines of one entity share |
//! | `candidate`, `fault` | bad lines among those of one entity; the words |

mod candidate;
mod entity_digest;
mod fault;
mod keys;
mod placed;
mod reading;
mod rule;
mod seat;
mod shared;
mod table;
mod worker;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use encode::mapped::{Gathering, KeyOf, Known, LinePlace, Lookup};
use encode::rejects::Reject;
use job::error::Error;
use job::memory::Memory;
use job::options::LoadOptions;
use job::progress::Progress;
use locks::Mutex;
use server::Session;
use sources::Source;

pub use rule::{Asks, Comparison, Rule};
pub use table::{LineTable, LookupColumns, TakenValues};

/// A table that rows are looked up in, and those that it has.
#[derive(Debug)]
pub struct LookedUp {
    /// The table and columns that are looked up.
    pub lookup: Lookup,
    /// How a line's key is made.
    pub key: KeyOf,
    /// The rows.
    pub known: Arc<Known>,
    /// Why rows of the table of a number cannot have the value of a row, or NULL where a line has no row.
    pub faults: HashMap<(usize, Option<usize>), String>,
}

/// Numbers of first lines of entities that later lines contradict, by key, by the index of the gathered
/// columns.
pub type Firsts = HashMap<usize, HashMap<Box<[u8]>, u64>>;

/// The purpose of reading lines.
pub struct LinesCheck<'a> {
    /// All tables of the job.
    pub tables: &'a [LineTable],
    /// All that is looked up.
    pub lookups: &'a [LookedUp],
    /// True if every value is judged; else only the columns of keys are, since a load judges the
    /// rest.
    pub judges: bool,
    /// True if lines behind very many bad ones are not read; else these fail the load.
    pub ends_early: bool,
    /// Lines that are known to be bad.
    pub left_out: &'a BTreeSet<LinePlace>,
    /// About what they take.
    pub bad_bytes: u64,
    /// Further rules for lines.
    pub rules: &'a [Rule],
    /// Lines that say something else are refused.
    pub firsts: Firsts,
    /// The options of the job, of any of its tables.
    pub options: &'a LoadOptions,
    /// Memory that may be used.
    pub memory: &'a Memory,
    /// Who watches.
    pub progress: &'a dyn Progress,
}

/// A line that is refused.
#[derive(Debug)]
pub struct BadLine {
    /// Where it is.
    pub place: LinePlace,
    /// Its fault.
    pub reject: Reject,
}

/// The contents of lines.
#[derive(Debug, Default)]
pub struct Gathered {
    /// One a table: its entities, if its rows are such. Behind those one a rule for unique values: those that
    /// there are.
    pub entities: Vec<Option<Gathering>>,
    /// One a table: true if a line has a row of the table.
    pub has_rows: Vec<bool>,
    /// Lines that are refused, in input order. Where there are more than are tolerated, those of the
    /// beginning.
    pub bad: Vec<BadLine>,
    /// About what they take, with those that were known.
    pub bad_bytes: u64,
    /// True if lines behind them were not read.
    pub ends_early: bool,
    /// Lines in all.
    pub lines: u64,
}

impl LinesCheck<'_> {
    /// Reads all lines. `session` is asked which entities have a row in tables that keep theirs.
    ///
    /// Errors: reading; keys that cannot be told; more of them, or of bad lines, than there is memory for; the
    /// server's.
    pub fn gather(
        &self,
        source: &Mutex<Box<dyn Source>>,
        session: &mut Session,
    ) -> Result<Gathered, Error> {
        reading::gather(self, source, session).map_err(crate::table::failed)
    }
}
