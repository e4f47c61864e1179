//! Rows on their way into one table.

use job::stop::Reason;
use schema::TableName;
use server::{ConnectOptions, Session};
use sql::InsertHead;

use crate::changes::Changes;
use crate::error::Error;
use crate::journal::Spot;
use crate::options::ReplayOptions;
use crate::progress::Watch;
use crate::state::SessionState;
use crate::under_way::UnderWay;

/// The parts that every method of sending rows needs.
pub(crate) struct Filling<'a> {
    /// The server, the account.
    pub(crate) connect: &'a ConnectOptions,
    /// Options of the whole replay.
    pub(crate) options: &'a ReplayOptions,
    /// State of the dump's session at these rows.
    pub(crate) state: &'a SessionState,
    /// The words before the rows.
    pub(crate) head: &'a InsertHead,
    /// The table's final name: for messages.
    pub(crate) table: &'a TableName,
    /// Where rows go: the staging table of a table that the dump makes, or the table itself.
    pub(crate) into: &'a TableName,
    /// True if `into` is a staging table: nobody sees it, and rows of a failed run may stay in it.
    pub(crate) is_staging: bool,
    /// True if `into` has no rows yet.
    pub(crate) is_empty: bool,
    /// Where the dump has the rows.
    pub(crate) spot: Spot,
    /// Memory that this run may use, in bytes.
    pub(crate) memory_bytes_max: u64,
    /// The observer of the progress.
    pub(crate) watch: &'a Watch,
    /// The progress of this run, if it is loaded while the dump goes on.
    pub(crate) under_way: Option<&'a UnderWay>,
}

impl Filling<'_> {
    /// An error with the name of the table that users know.
    pub(crate) fn named(&self, mut error: Error) -> Error {
        error.reword(&mut |text| *text = text.replace(&self.into.table, &self.table.table));
        error
    }

    /// Has rows that a transaction has put in stay.
    ///
    /// Errors: [`server::Error::CommitUnknown`] where others see the table and nothing tells whether
    /// they are in; a staging table goes in any case.
    pub(crate) fn commit(&self, session: &mut Session) -> Result<(), server::Error> {
        match session.exec("COMMIT").and_then(|_| session.check_in_step()) {
            Err(error) if error.is_unclear() && !self.is_staging => {
                Err(server::Error::CommitUnknown(self.table.to_string()))
            }
            done => done,
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Rows that the server has now, as far as is known; of REPLACE and IGNORE those sent.
    pub(crate) rows: u64,
    /// How they went in: `direct`, `stream`, `insert`, `parallel` or `serial`.
    pub(crate) way: &'static str,
    /// Notes, a sentence each.
    pub(crate) notes: Vec<String>,
    /// Values that the server changed.
    pub(crate) changes: Changes,
}

/// Why a way does not have the rows in.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// This way is not for these rows, a sentence says why; the next one may be. A staging table may hold
    /// some of them now; a table that is no staging table is as it was.
    Unfit(String),
    /// Rows ask the dump's own session, for its variables or its earlier statements: another
    /// connection cannot load them. The staging table is as the run found it. Earlier attempts, a
    /// sentence each.
    AsksSession(Vec<String>),
    /// Another connection stopped first; its reason is the one that counts.
    Abandoned,
    /// No way will do.
    Failed(Error),
}

impl Stopped {
    /// Where there is no other way.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Stopped::Failed(error) => error,
            Stopped::Unfit(why) => Error::Refused(why),
            Stopped::AsksSession(_) => {
                Error::Refused("these rows need the dump's session".to_owned())
            }
            Stopped::Abandoned => Error::Refused("connections stopped without a reason".to_owned()),
        }
    }
}

impl<E: Into<Error>> From<E> for Stopped {
    fn from(error: E) -> Stopped {
        Stopped::Failed(error.into())
    }
}

impl Reason for Stopped {
    const ABANDONED: Stopped = Stopped::Abandoned;

    fn is_abandoned(&self) -> bool {
        matches!(self, Stopped::Abandoned)
    }
}
