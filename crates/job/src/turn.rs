//! Work done in parallel, committed in order.

use crate::sync::{Condvar, Mutex, MutexGuard};

/// A gate that lets holders of tickets 0, 1, 2, ... through one after the other.
///
/// `T` is the state that they pass on. A thread that fails closes the gate; then everybody who
/// waits, or comes later, is turned away, so no thread waits for one that is gone.
#[derive(Debug)]
pub struct Turnstile<T> {
    inner: Mutex<Inner<T>>,
    moved: Condvar,
}

#[derive(Debug)]
struct Inner<T> {
    turn: u64,
    closed: bool,
    state: T,
}

/// The gate was closed by somebody who failed.
#[derive(Debug)]
pub struct Closed;

/// A holder's turn. Dropping it without [`Turn::pass`] keeps the turn.
#[derive(Debug)]
pub struct Turn<'a, T> {
    gate: &'a Turnstile<T>,
    inner: MutexGuard<'a, Inner<T>>,
}

impl<T> Turnstile<T> {
    /// Ticket 0 is the first to pass.
    pub fn new(state: T) -> Turnstile<T> {
        Turnstile {
            inner: Mutex::new(Inner { turn: 0, closed: false, state }),
            moved: Condvar::new(),
        }
    }

    /// Waits until every ticket before `ticket` has passed.
    pub fn wait(&self, ticket: u64) -> Result<Turn<'_, T>, Closed> {
        let mut inner = self.inner.lock();
        while inner.turn != ticket && !inner.closed {
            inner = self.moved.wait(inner);
        }
        if inner.closed { Err(Closed) } else { Ok(Turn { gate: self, inner }) }
    }

    /// Turns everybody away from now on.
    pub fn close(&self) {
        self.inner.lock().closed = true;
        self.moved.notify_all();
    }

    /// The state after the last holder.
    pub fn into_state(self) -> T {
        self.inner.into_inner().state
    }
}

impl<T> Turn<'_, T> {
    /// The state that the holders pass on.
    pub fn state(&mut self) -> &mut T {
        &mut self.inner.state
    }

    /// Lets the next ticket through.
    pub fn pass(mut self) {
        self.inner.turn += 1;
        self.gate.moved.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tickets_pass_in_order_whatever_order_they_come_in() {
        let gate = Turnstile::new(Vec::new());
        std::thread::scope(|scope| {
            for ticket in (0..8u64).rev() {
                let gate = &gate;
                scope.spawn(move || {
                    let mut turn = gate.wait(ticket).unwrap();
                    turn.state().push(ticket);
                    turn.pass();
                });
            }
        });
        assert_eq!(gate.into_state(), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_closed_gate_turns_waiters_away() {
        let gate = Turnstile::new(());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| gate.wait(1).is_err());
            gate.close();
            assert!(waiter.join().unwrap());
        });
        assert!(gate.wait(0).is_err());
    }
}
