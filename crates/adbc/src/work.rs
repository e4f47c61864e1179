//! The work that a connection does, so that another thread can end it.

use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};

use adbc_core::CancelHandle;
use adbc_core::error::Result;
use rustix::process::{Pid, Signal, kill_process};
use server::{ConnectOptions, Mark, Session};

use crate::errors::of_server;

/// The work of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    current: Arc<Mutex<Current>>,
    connect: Arc<ConnectOptions>,
}

#[derive(Debug, Default)]
enum Current {
    #[default]
    Nothing,
    /// A statement of this session.
    Statement(Mark),
    /// A run of the program.
    Program(Arc<Mutex<Child>>),
}

/// Work under way, until it is dropped.
pub(crate) struct Running<'a>(&'a Work);

impl Work {
    /// No work of connections with these options.
    pub(crate) fn new(connect: ConnectOptions) -> Work {
        Work { current: Arc::default(), connect: Arc::new(connect) }
    }

    /// Notes a statement.
    pub(crate) fn statement(&self, mark: &Mark) -> Running<'_> {
        self.begin(Current::Statement(mark.clone()))
    }

    /// Notes a run of the program.
    pub(crate) fn program(&self, child: &Arc<Mutex<Child>>) -> Running<'_> {
        self.begin(Current::Program(Arc::clone(child)))
    }

    fn begin(&self, current: Current) -> Running<'_> {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = current;
        Running(self)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.current.lock().unwrap_or_else(PoisonError::into_inner) = Current::Nothing;
    }
}

impl CancelHandle for Work {
    fn try_cancel(&self) -> Result<()> {
        // Under the lock, so that the work does not end meanwhile and other work is hit.
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Current::Nothing => Ok(()),
            Current::Program(child) => {
                stop(&mut child.lock().unwrap_or_else(PoisonError::into_inner));
                Ok(())
            }
            Current::Statement(mark) => {
                let mut session = Session::connect(&self.connect).map_err(|e| of_server(&e))?;
                session.kill_query(mark).map_err(|e| of_server(&e))
            }
        }
    }
}

/// Has the program stop and clean up, if it still runs.
pub(crate) fn stop(child: &mut Child) {
    if let Ok(None) = child.try_wait() {
        // It may end meanwhile; until somebody waits for it, its number is no one else's.
        let _ = kill_process(Pid::from_child(child), Signal::INT);
    }
}
