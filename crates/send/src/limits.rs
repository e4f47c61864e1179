//! Within what the controller may choose: what server, memory and the user allow.

use encode::column_source::Input;
use encode::inspected::Inspected;
use encode::prepared::Prepared;
use face::option::CONNECTIONS;
use job::capacity::Capacity;
use job::error::Error;
use job::memory::ConnectionShares;
use server::version::Flavor;
use targets::Lock;

use crate::controller::Limits;

/// Most connections where nothing is said of them.
const CONNECTIONS_MAX: usize = 64;
/// Bytes of a statement beyond which nothing gets faster.
const STATEMENT_BYTES_MAX: u64 = 8 << 20;
/// Bytes of a statement besides its rows.
const STATEMENT_BYTES: u64 = 64 << 10;
/// The least that is left for rows where packets are small.
const ROWS_BYTES_MIN: u64 = 1 << 10;

/// The most that a chunk is of input, so that its transaction is within what the engine takes.
pub(crate) fn limit_chunks(shares: &mut ConnectionShares, target: &Lock, inspected: &Inspected) {
    let fields = inspected.fields.columns.iter().flatten().count();
    let (columns, indexes) = (target.table.columns.len(), target.table.indexes.len());
    let most = target.facts.engine.chunk_bytes_max(fields, columns, indexes);
    let most = most.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX);
    shares.chunk_bytes = shares.chunk_bytes.min(most);
}

/// True if the server might give two rows one AUTO_INCREMENT number if they came over several
/// connections.
///
/// MariaDB does so where a table is partitioned: five connections with LOAD DATA had rows skipped for
/// the numbers of others, or a deadlock in every second statement (10.11.19; MDEV-21842, MDEV-40995).
pub(crate) fn gives_numbers_twice(target: &Lock, inspected: &Inspected) -> bool {
    target.session.version().flavor == Flavor::MariaDb
        && target.table.partitioning.is_some()
        && inspected.columns.iter().any(|bound| matches!(bound.input, Input::AutoIncrement(None)))
}

/// The limits of a load into `target`; `is_one` where there is one connection for all rows.
///
/// Errors: `--connections` that do not fit `--memory`.
pub(crate) fn limits(
    prepared: &Prepared<'_>,
    target: &mut Lock,
    shares: &ConnectionShares,
    is_one: bool,
) -> Result<Limits, Error> {
    let batches = prepared.options.limits.batches;
    let engine = target.facts.engine.clone();
    let capacity = match is_one {
        true => Capacity { cores: None, connections: Some(1) },
        false => Capacity::read(&mut target.session)?,
    };
    let connections_max = match batches.connections {
        Some(connections) if connections > shares.connections_max => {
            return Err(Error::Memory {
                given_bytes: prepared.options.limits.memory_bytes_max,
                reason: format!(
                    "memory has room for {} connections; {CONNECTIONS} requests {connections}",
                    shares.connections_max
                ),
            });
        }
        Some(connections) => connections,
        None => {
            let room = capacity.connections.unwrap_or(usize::MAX);
            let room = room.min(engine.connections_max.unwrap_or(usize::MAX));
            room.min(shares.connections_max).clamp(1, CONNECTIONS_MAX)
        }
    };
    let packet =
        target.facts.packet_bytes.min(engine.statement.map_or(u64::MAX, |limit| limit.bytes));
    let packet = packet.saturating_sub(STATEMENT_BYTES).max(ROWS_BYTES_MIN);
    let wanted = batches.bytes.unwrap_or(STATEMENT_BYTES_MAX);
    let whole = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Ok(Limits {
        connections_max,
        server_cores: capacity.cores,
        connections: batches.connections,
        batch_rows: batches.rows.map(whole),
        batch_bytes_max: whole(wanted.min(packet)),
        tune_batch: false,
        rate_bytes: batches.bytes_per_second_max,
        lag_max: prepared.options.server.replicas.lag_max.unwrap_or_default(),
        chunk_bytes: shares.chunk_bytes,
    })
}
