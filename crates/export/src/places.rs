//! Tables whose rows are in other places than the table itself: in tables of other servers.

use schema::Table;
use server::{ConnectOptions, Session};

use crate::error::Error;
use crate::options::ExportOptions;

/// Reads rows from the places of a table.
pub trait Places {
    /// True if the rows of a table are in places that this implementation reads.
    fn claims(&self, table: &Table) -> bool;

    /// Begins the transactions that read the places of a table that is claimed, all of one moment.
    ///
    /// Errors: those of the servers.
    fn begin(
        &self,
        session: &mut Session,
        table: &Table,
        options: &ExportOptions,
    ) -> Result<PlacesRead, Error>;
}

/// How the places of a table are read.
pub enum PlacesRead {
    /// By a reader for each place; why.
    Each(Vec<PlaceReader>, String),
    /// All through the server of the table; why, and what that means for the rows.
    Through(String, String),
}

/// A transaction that reads one place.
pub struct PlaceReader {
    /// The connection of the transaction.
    pub session: Session,
    /// The table of the place.
    pub table: Table,
    /// The name of the place, for people.
    pub name: String,
    /// How the server of the place is reached.
    pub connect: ConnectOptions,
}
