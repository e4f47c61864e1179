//! Tables whose rows are in other places than the table itself: in tables of other servers.
//!
//! A load asks the implementation that its caller gives about each table. A table that the implementation does
//! not claim is the place of its own rows.

use job::error::Error;
use job::memory::Memory;
use job::options::LoadOptions;
use job::progress::Progress;
use job::report::{Report, ShardReport};
use job::steps::Steps;
use schema::Table;
use server::ConnectOptions;
use sources::Source;
use targets::Lock;

use crate::choose::{self, Chosen, Purpose, Refused};

/// Loads rows into the places of a table.
pub trait Places {
    /// True if the rows of a table are in places that this implementation loads.
    fn claims(&self, table: &Table) -> bool;

    /// Plans the load of a table that is claimed. Changes nothing.
    ///
    /// Errors: [`Error::Unfit`] with every reason against the load; the server's.
    fn plan(
        &self,
        target: &mut Lock,
        connect: &ConnectOptions,
        options: &LoadOptions,
        source: &mut dyn Source,
    ) -> Result<PlacesPlan, Error>;

    /// Inspects the places of a table that is claimed. `settle` looks for killed loads of the target, and gives
    /// true if the rows of this command are in the table already.
    ///
    /// Errors: [`Error::Unfit`] with every reason against the load; the server's.
    fn inspect<'r>(
        &self,
        target: Lock,
        connect: &'r ConnectOptions,
        options: &'r LoadOptions,
        source: &mut dyn Source,
        settle: &mut dyn FnMut(&mut Lock) -> Result<bool, Error>,
    ) -> Result<Inspection<'r>, Error>;
}

/// The plan of a load into the places of a table.
#[derive(Debug)]
pub struct PlacesPlan {
    /// The path of the load.
    pub path: &'static str,
    /// Why that path.
    pub why: String,
    /// Where rows go first, and why there.
    pub destination: Option<String>,
    /// Why a faster path is refused.
    pub refused: Vec<Refused>,
    /// The places.
    pub places: Vec<ShardReport>,
    /// Notes for the user, one sentence each.
    pub notes: Vec<String>,
}

/// The result of an inspection of a table's places.
pub enum Inspection<'r> {
    /// All rows of this command are in the table already.
    Loaded(Box<Lock>),
    /// The load of the rows into all places, or into none.
    Ready(LoadPlaces<'r>),
}

/// Loads the rows of a source into all places of a table, or into none, and publishes them.
pub type LoadPlaces<'r> =
    Box<dyn FnOnce(Box<dyn Source>, &dyn Progress, &mut Steps<'_>) -> Result<Report, Error> + 'r>;

/// Chooses the method by which rows get into the table of one place.
///
/// Errors: [`Error::Unfit`] with every reason, where no path is open; the server's.
pub fn choose_for_place(
    target: &mut Lock,
    options: &LoadOptions,
    memory: &Memory,
    source: &mut dyn Source,
) -> Result<Chosen, Error> {
    choose::decide(target, options, memory, source, Purpose::Part)?.require(target, options)
}
