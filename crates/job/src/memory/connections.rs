//! Shares of the connections that send rows: as many as fit.

use face::option::CONNECTIONS;
use schema::LoadPath;

use super::{Memory, MinMemory, PROGRAM_BYTES, record_bytes_max};
use crate::error::Error;

/// Below this, a transaction is mostly its commit.
const CHUNK_BYTES_MIN: usize = 64 << 10;
/// The same where `--connections` asks for so many that they would not fit.
const CHUNK_BYTES_LEAST: usize = 16 << 10;
/// Beyond this nothing gets faster, and what is rolled back gets long.
const CHUNK_BYTES_MAX: usize = 4 << 20;
/// Connections for which there should be room before chunks get larger.
const CONNECTIONS_WANTED: usize = 16;
/// Chunks that a connection should get at least, so that all connections end at about the same time.
const CHUNKS_PER_CONNECTION: u64 = 8;
/// Most connections that are of any use.
const CONNECTIONS_MAX: usize = 128;
/// Bytes that a connection keeps between two chunks.
const CONNECTION_BYTES: usize = 512 << 10;

/// Bytes that a connection may need for one of its chunks: as read, places of fields and rows, written out with
/// every byte escaped, as packets; for INSERT also statements, and each value of a row by itself.
fn copies(path: LoadPath) -> usize {
    match path {
        LoadPath::Insert => 14,
        LoadPath::Auto | LoadPath::Direct | LoadPath::Stream | LoadPath::Import => 8,
    }
}

/// Memory that all connections may use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionShares {
    /// Most connections.
    pub connections_max: usize,
    /// Input that a connection takes at once.
    pub chunk_bytes: usize,
    /// Longest record.
    pub record_bytes_max: usize,
    /// Bytes for one of a chunk.
    pub copies: usize,
    /// All of it.
    pub bytes: usize,
}

impl ConnectionShares {
    /// The shares of `given_bytes` without those of reading ahead. `input_bytes` is the size of the
    /// input, if known, and `connections` the required number of them, if set.
    ///
    /// Errors: too little for one connection.
    pub fn of(
        given_bytes: u64,
        reading_bytes: u64,
        path: LoadPath,
        connections: Option<usize>,
        input_bytes: Option<u64>,
    ) -> Result<ConnectionShares, Error> {
        let copies = copies(path);
        let available = given_bytes.saturating_sub(PROGRAM_BYTES + reading_bytes);
        let available = usize::try_from(available).unwrap_or(usize::MAX);
        ConnectionShares::least(reading_bytes, path, None).check(given_bytes)?;
        // Few and large chunks would leave connections idle at the end of a small input.
        let fair =
            input_bytes.unwrap_or(u64::MAX) / (CONNECTIONS_WANTED as u64 * CHUNKS_PER_CONNECTION);
        let fair = usize::try_from(fair).unwrap_or(usize::MAX);
        let share = available / connections.unwrap_or(1).max(CONNECTIONS_WANTED);
        let least = if connections.is_some() { CHUNK_BYTES_LEAST } else { CHUNK_BYTES_MIN };
        let chunk_bytes = (share.saturating_sub(CONNECTION_BYTES) / copies)
            .min(fair)
            .clamp(least, CHUNK_BYTES_MAX);
        let bytes = CONNECTION_BYTES + copies * chunk_bytes;
        Ok(ConnectionShares {
            connections_max: (available / bytes).clamp(1, CONNECTIONS_MAX),
            chunk_bytes,
            record_bytes_max: record_bytes_max(given_bytes, reading_bytes),
            copies,
            bytes: available,
        })
    }

    /// The least memory for connections: for one, or as many as there have to be, if that was said.
    pub fn least(reading_bytes: u64, path: LoadPath, connections: Option<usize>) -> MinMemory {
        let min_memory = |count: usize, chunk_bytes: usize, why: String| {
            let bytes = (count * (CONNECTION_BYTES + copies(path) * chunk_bytes)) as u64;
            MinMemory { bytes: PROGRAM_BYTES + reading_bytes + bytes, why: Some(why) }
        };
        let one = min_memory(1, CHUNK_BYTES_MIN, "one connection needs that much".to_owned());
        match connections {
            Some(count) => {
                let why = format!("{} needs that much", CONNECTIONS.with(count));
                one.or(min_memory(count, CHUNK_BYTES_LEAST, why))
            }
            None => one,
        }
    }

    /// Those of a test that says how large chunks and records are.
    pub(crate) fn of_shares(shares: &Memory, path: LoadPath) -> ConnectionShares {
        let (copies, chunk_bytes) = (copies(path), shares.chunk_bytes);
        ConnectionShares {
            connections_max: CONNECTIONS_WANTED,
            chunk_bytes,
            record_bytes_max: shares.record_bytes_max,
            copies,
            bytes: (CONNECTIONS_WANTED * copies * chunk_bytes).max(64 << 20),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shares(given_bytes: u64, input_bytes: Option<u64>) -> Result<ConnectionShares, Error> {
        ConnectionShares::of(given_bytes, 0, LoadPath::Stream, None, input_bytes)
    }

    #[test]
    fn connections_fit_what_was_given() {
        for mib in [24u64, 32, 64, 256, 4096] {
            let shares = shares(mib << 20, None).unwrap();
            let bytes =
                shares.connections_max * (CONNECTION_BYTES + shares.copies * shares.chunk_bytes);
            assert!(bytes as u64 + PROGRAM_BYTES <= mib << 20, "{mib} MiB: {shares:?}");
            assert_eq!(shares.record_bytes_max, record_bytes_max(mib << 20, 0));
        }
        assert!(shares(20 << 20, None).is_err());
        assert_eq!(shares(1 << 30, None).unwrap().chunk_bytes, CHUNK_BYTES_MAX);
        assert_eq!(shares(1 << 30, Some(64 << 20)).unwrap().chunk_bytes, 512 << 10);
    }

    #[test]
    fn as_many_connections_as_are_asked_for_fit_where_they_can() {
        for path in [LoadPath::Stream, LoadPath::Insert] {
            for (connections, mib) in [(1, 64), (16, 64), (50, 64), (64, 128), (128, 256)] {
                let shares =
                    ConnectionShares::of(mib << 20, 0, path, Some(connections), None).unwrap();
                assert!(
                    shares.connections_max >= connections,
                    "{connections} in {mib} MiB: {shares:?}"
                );
                let least = ConnectionShares::least(0, path, Some(connections)).bytes;
                let shares = ConnectionShares::of(least, 0, path, Some(connections), None).unwrap();
                assert!(
                    shares.connections_max >= connections,
                    "{connections} in {least}: {shares:?}"
                );
            }
        }
    }
}
