//! How shards are reached, and how what befell one is told.

use job::error::Error;
use server::{ConnectOptions, Session, replicas};
use targets::shards::Shard;

/// How a shard is reached: by the account of the load.
pub(super) fn reached(shard: &Shard, connect: &ConnectOptions) -> Result<ConnectOptions, Error> {
    let reached = replicas::reached(&shard.address, connect).map_err(|error| of(shard, error))?;
    Ok(ConnectOptions { interrupt: connect.interrupt.clone(), ..reached })
}

/// A session on a shard.
pub(super) fn session(shard: &Shard, connect: &ConnectOptions) -> Result<Session, Error> {
    Session::connect(&reached(shard, connect)?).map_err(|error| of(shard, error))
}

/// What befell a shard.
pub(super) fn of(shard: &Shard, error: impl Into<Error>) -> Error {
    let name = match shard.server == shard.address {
        true => shard.address.clone(),
        false => format!("{} ({})", shard.server, shard.address),
    };
    Error::Shard { name, error: Box::new(error.into()) }
}
