//! A connection that nobody uses any more, kept for the next who wants one like it.
//!
//! A command asks a few things before its load begins, each in its turn: one connection serves them all.

use std::mem;

use secrecy::ExposeSecret as _;

use super::Session;
use crate::options::ConnectOptions;

impl Session {
    /// Keeps the connection for whoever connects next with these options, or with a clone of them; the one before it
    /// ends. It is in no transaction, holds no lock, and has the variables that it began with.
    pub fn keep(mut self) {
        // It would keep itself.
        let known = mem::take(&mut self.options.known);
        *known.spare.lock() = Some(Box::new(self));
    }

    /// Takes the connection that is kept, if it is as these options make one, and is alive. Another one ends: it would
    /// idle as long as the command runs.
    pub(super) fn kept(options: &ConnectOptions) -> Option<Session> {
        let spare = options.known.spare.lock().take()?;
        let mut session = *spare.downcast::<Session>().ok()?;
        if !is_alike(&session.options, options) {
            return None;
        }
        session.options = options.clone();
        session.check_in_step().is_ok().then_some(session)
    }
}

/// True if two connections reach the same account of the same server, in the same way, and begin with the same
/// variables.
fn is_alike(one: &ConnectOptions, other: &ConnectOptions) -> bool {
    let server = |o: &ConnectOptions| {
        let to = (o.socket.clone(), o.host.clone(), o.port, o.protocol, o.compress);
        (to, o.user.clone(), o.database.clone(), o.tls.clone(), o.answer_wait)
    };
    let keys = |o: &ConnectOptions| (o.server_public_key.clone(), o.get_server_public_key);
    let begun = |o: &ConnectOptions| {
        let logged = (o.unlogged, o.logs_publishing, o.is_replica);
        (o.time_zone.clone(), o.settings.clone(), logged, o.unchecked_keys)
    };
    server(one) == server(other)
        && password(one) == password(other)
        && keys(one) == keys(other)
        && begun(one) == begun(other)
}

fn password(options: &ConnectOptions) -> Option<&str> {
    options.password.as_ref().map(|password| password.expose_secret())
}
