//! Connections that work at one target after the other.

use job::error::Error;
use server::Session;
use targets::{Connections, Lock, Resting};

/// Connections that work at one target after the other; none while they do.
pub(crate) struct SharedConnections(Option<Connections>);

impl From<Connections> for SharedConnections {
    fn from(connections: Connections) -> SharedConnections {
        SharedConnections(Some(connections))
    }
}

impl SharedConnections {
    /// Connections of a session; others are made when they are needed.
    pub(crate) fn of(session: Session) -> SharedConnections {
        Connections::of(session).into()
    }

    /// Has them work at a target.
    ///
    /// Errors: those of `work`; [`Error::Internal`] if they or the target are at work.
    pub(crate) fn at<T, E: From<Error>>(
        &mut self,
        target: &mut Option<Resting>,
        work: impl FnOnce(&mut Lock) -> Result<T, E>,
    ) -> Result<T, E> {
        let (resting, connections) = match (target.take(), self.0.take()) {
            (Some(resting), Some(connections)) => (resting, connections),
            (resting, connections) => {
                (*target, self.0) = (resting, connections);
                return Err(Error::Internal("two steps worked at one table".to_owned()).into());
            }
        };
        let mut lock = resting.work(connections);
        let done = work(&mut lock);
        let (resting, connections) = lock.rest();
        (*target, self.0) = (Some(resting), Some(connections));
        done
    }

    /// Gives them to a target of which they are not taken back.
    pub(crate) fn into_inner(self) -> Option<Connections> {
        self.0
    }
}
