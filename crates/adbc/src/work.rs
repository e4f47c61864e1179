//! The work that a connection does, so that another thread can end it.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adbc_core::CancelHandle;
use adbc_core::error::Result;
use locks::Mutex;
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
    Program(ProgramRun),
}

/// A run of the program.
#[derive(Clone, Debug)]
pub(crate) struct ProgramRun {
    pub(crate) child: Arc<Mutex<Child>>,
    /// Its standard input.
    pub(crate) input: Arc<UnixStream>,
    /// True once somebody has ended it.
    pub(crate) is_cancelled: Arc<AtomicBool>,
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
    pub(crate) fn program(&self, run: &ProgramRun) -> Running<'_> {
        self.begin(Current::Program(run.clone()))
    }

    fn begin(&self, current: Current) -> Running<'_> {
        *self.current.lock() = current;
        Running(self)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.current.lock() = Current::Nothing;
    }
}

impl CancelHandle for Work {
    fn try_cancel(&self) -> Result<()> {
        // Under the lock, so that the work does not end meanwhile and other work is hit.
        let current = self.current.lock();
        match &*current {
            Current::Nothing => Ok(()),
            Current::Program(run) => {
                run.is_cancelled.store(true, Ordering::SeqCst);
                run.stop();
                Ok(())
            }
            Current::Statement(mark) => {
                let mut session = Session::connect(&self.connect).map_err(|e| of_server(&e))?;
                session.kill_query(mark).map_err(|e| of_server(&e))
            }
        }
    }
}

impl ProgramRun {
    /// Has the program stop and clean up, if it still runs. It gets no more input, and loads none without an
    /// end mark.
    pub(crate) fn stop(&self) {
        let mut child = self.child.lock();
        if let Ok(None) = child.try_wait() {
            // It may end meanwhile; until somebody waits for it, its number is no one else's.
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
        }
        // A program that has ended has closed its side.
        let _ = self.input.shutdown(Shutdown::Both);
    }

    /// The exit status of a program that has ended.
    pub(crate) fn status(&self) -> std::io::Result<Option<ExitStatus>> {
        self.child.lock().try_wait()
    }

    /// True if the program may still take input.
    pub(crate) fn takes_input(&self) -> bool {
        !self.is_cancelled.load(Ordering::SeqCst) && matches!(self.status(), Ok(None))
    }
}
