//! The thread that ends statements once somebody wants the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use disk::failpoint;

use super::interrupt::{Interrupt, State};
use super::options::ConnectOptions;
use super::session::Session;

/// Pause between two looks at statements that should have ended.
const PAUSE: Duration = Duration::from_millis(200);

/// The thread that ends statements.
#[derive(Debug)]
pub struct Watcher {
    state: Arc<State>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Interrupt {
    /// Starts the thread that ends statements once the end is asked for. It ends with the result.
    pub fn watch(&self, connect: &ConnectOptions) -> Watcher {
        let state = Arc::clone(&self.state);
        // Sessions wait for it while it ends a statement, so a dead network must not keep it.
        let answer_wait = Some(connect.connect_time_max());
        let interrupt = Interrupt::default();
        let connect = ConnectOptions { interrupt, answer_wait, ..connect.clone() };
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = std::thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || watch(&state, &connect, &seen));
        Watcher { state: Arc::clone(&self.state), ended, thread: thread.ok() }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let running = self.state.running.lock();
        self.ended.store(true, Ordering::SeqCst);
        drop(running);
        self.state.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

fn watch(state: &State, connect: &ConnectOptions, ended: &AtomicBool) {
    failpoint::hit("thread.interrupt");
    let mut session = None;
    let mut running = state.running.lock();
    while !ended.load(Ordering::SeqCst) {
        let is_asked = state.requested.load(Ordering::SeqCst);
        if !is_asked || running.is_empty() {
            running = state.changed.wait(running);
            continue;
        }
        if session.is_none() {
            drop(running);
            session = Session::connect(connect).ok();
            running = state.running.lock();
        }
        // Under the lock, so that no statement ends meanwhile and another one is hit.
        for other in running.iter() {
            if session.as_mut().is_some_and(|session| session.kill_query(other).is_err()) {
                session = None;
            }
        }
        running = state.changed.wait_timeout(running, PAUSE);
    }
}
