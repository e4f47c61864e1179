//! How shards are reached, from here or by their head, and how what befell one is told.

use job::error::Error;
use server::identifier::quote_text;
use server::{ConnectOptions, Session};

use crate::map::{Shard, ShardMap};

/// How a shard is reached: by the account of the load.
pub(super) fn reached(shard: &Shard, connect: &ConnectOptions) -> Result<ConnectOptions, Error> {
    shard.connect_options(connect).map_err(|error| of(shard, error))
}

/// A session on a shard.
pub(super) fn session(shard: &Shard, connect: &ConnectOptions) -> Result<Session, Error> {
    Session::connect(&reached(shard, connect)?).map_err(|error| of(shard, error))
}

/// An error of a shard.
pub(super) fn of(shard: &Shard, error: impl Into<Error>) -> Error {
    Error::Shard { name: shard.name(), error: Box::new(error.into()) }
}

/// Checks that the Spider server runs statements on its servers for us.
///
/// Errors: why it does not.
pub(super) fn asks_by_head(session: &mut Session, map: &ShardMap) -> Result<(), Error> {
    map.shards.iter().try_for_each(|shard| by_head(session, shard, "DO 1"))
}

/// Has the head run a statement on a shard's server, by its own account.
pub(super) fn by_head(session: &mut Session, shard: &Shard, sql: &str) -> Result<(), Error> {
    let database = &shard.table.database;
    if database.contains(['"', '\'', '\\']) {
        let what = format!("the Spider server cannot use a database of this name: {database}");
        return Err(Error::Usage(what));
    }
    let server = format!("srv \"{}\", database \"{database}\"", shard.server);
    let ask = format!("SELECT spider_direct_sql({}, '', {})", quote_text(sql), quote_text(&server));
    let done = session.query_text(&ask).map_err(|error| of(shard, error))?;
    match done.as_deref() {
        Some("1") => Ok(()),
        _ => Err(of(
            shard,
            Error::Usage(format!("the Spider server could not run this there: {sql}")),
        )),
    }
}
