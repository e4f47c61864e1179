//! The parts of a connection that its statements use.

use std::sync::{Mutex, PoisonError};

use adbc_core::error::Result;
use server::Session;

use crate::errors::of_server;
use crate::server_options::ServerOptions;
use crate::work::Work;

/// The catalog of all databases, as information_schema names it.
pub(crate) const CATALOG: &str = "def";

/// The parts of a connection that its statements use.
#[derive(Debug)]
pub(crate) struct Shared {
    session: Mutex<Session>,
    /// The same server, for runs of the program.
    pub(crate) server: ServerOptions,
    pub(crate) work: Work,
}

impl Shared {
    pub(crate) fn new(session: Session, server: ServerOptions, work: Work) -> Shared {
        Shared { session: Mutex::new(session), server, work }
    }

    /// Does something with the session; another thread may end it meanwhile.
    pub(crate) fn with_session<T>(
        &self,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = session.mark().clone();
        let _running = self.work.statement(&mark);
        work(&mut session)
    }
}

/// The database of the connection.
pub(crate) fn current_database(session: &mut Session) -> Result<Option<String>> {
    session.query_text("SELECT DATABASE()").map_err(|cause| of_server(&cause))
}
