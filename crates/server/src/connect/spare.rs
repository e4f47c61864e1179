//! A connection that nobody uses any more, kept for the next who wants one like it.
//!
//! A command asks a few things before its load begins, each in its turn: one connection serves them all.

use std::sync::{Arc, Mutex, PoisonError};

use secrecy::ExposeSecret as _;

use crate::options::{ConnectOptions, Known};
use crate::session::Session;

/// At most one connection, of whoever connects with a clone of the same options.
#[derive(Clone, Debug, Default)]
pub(super) struct Spare(Arc<Mutex<Option<Box<Session>>>>);

impl Spare {
    /// Takes the connection, if it is as these options make one, and is alive.
    pub(super) fn take(&self, options: &ConnectOptions) -> Option<Session> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = *kept.take_if(|kept| is_alike(kept.options(), options))?;
        drop(kept);
        session.is_alive().then_some(session)
    }

    /// Keeps a connection; the one before it ends.
    pub(super) fn put(&self, session: Session) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Box::new(session));
    }
}

/// True if two connections reach the same account of the same server, in the same way, and begin with the same
/// variables.
fn is_alike(one: &ConnectOptions, other: &ConnectOptions) -> bool {
    let server = |o: &ConnectOptions| {
        let password = o.password.as_ref().map(|password| password.expose_secret().to_owned());
        let to = (o.socket.clone(), o.host.clone(), o.port, o.protocol, o.compress);
        (to, o.user.clone(), password, o.database.clone(), o.tls.clone())
    };
    let keys = |o: &ConnectOptions| (o.server_public_key.clone(), o.get_server_public_key);
    let begun = |o: &ConnectOptions| {
        let logged = (o.unlogged, o.logs_publishing, o.is_replica);
        (o.time_zone.clone(), o.settings.clone(), logged, o.unchecked_keys)
    };
    server(one) == server(other) && keys(one) == keys(other) && begun(one) == begun(other)
}

impl Session {
    /// Keeps the connection for whoever connects next with these options, or with a clone of them. It is in no
    /// transaction, holds no lock, and has the variables that it began with.
    pub fn keep(mut self) {
        let spare = self.options.known.spare.clone();
        // It would keep itself.
        self.options.known = Known::default();
        spare.put(self);
    }
}
