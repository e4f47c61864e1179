//! The parts of a connection that its statements use.

use std::sync::{Arc, Weak};

use adbc_core::error::Result;
use locks::Mutex;
use server::Session;

use crate::errors::of_server;
use crate::result_queue::Queue;
use crate::server_options::ServerOptions;
use crate::work::Work;

/// The catalog of all databases, as information_schema names it.
pub(crate) const CATALOG: &str = "def";

/// The parts of a connection that its statements use.
#[derive(Debug)]
pub(crate) struct Shared {
    session: Mutex<Session>,
    use_of_session: Mutex<Use>,
    /// The same server, for runs of the program.
    pub(crate) server: ServerOptions,
    pub(crate) work: Work,
}

/// The use of a session.
#[derive(Debug, Default)]
struct Use {
    /// The result that is being read.
    result: Weak<Queue>,
    /// Number of threads that await the session.
    waiting: usize,
}

impl Shared {
    pub(crate) fn new(session: Session, server: ServerOptions, work: Work) -> Shared {
        Shared { session: Mutex::new(session), use_of_session: Mutex::default(), server, work }
    }

    /// Does something with the session; another thread may end it meanwhile. The rest of an open result is read into
    /// memory before.
    pub(crate) fn with_session<T>(&self, work: impl FnOnce(&mut Session) -> T) -> T {
        {
            let mut user = self.use_of_session.lock();
            user.waiting += 1;
            if let Some(result) = user.result.upgrade() {
                result.keep_all();
            }
        }
        let mut session = self.session.lock();
        self.use_of_session.lock().waiting -= 1;
        let mark = session.mark().clone();
        let _running = self.work.statement(&mark);
        work(&mut session)
    }

    /// Does something with the session that puts a result into a queue.
    pub(crate) fn with_result<T>(
        &self,
        result: &Arc<Queue>,
        work: impl FnOnce(&mut Session) -> T,
    ) -> T {
        self.with_session(|session| {
            {
                let mut user = self.use_of_session.lock();
                user.result = Arc::downgrade(result);
                // They came before this result was open.
                if user.waiting > 0 {
                    result.keep_all();
                }
            }
            work(session)
        })
    }
}

/// The database of the connection.
pub(crate) fn current_database(session: &mut Session) -> Result<Option<String>> {
    session.query_text("SELECT DATABASE()").map_err(|cause| of_server(&cause))
}
