//! Where a sorted row is from: what goes through the sort with it.

/// Where a chunk of the input was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) first_line: u64,
    /// First byte of its last row.
    pub(super) last_start: u32,
}

/// Where a row is in the input, behind its key: rows of one key keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPlace {
    /// Number of its chunk.
    pub(super) chunk: u64,
    /// Its first byte there.
    pub(super) start: u32,
}

impl RowPlace {
    pub(super) const BYTES: usize = 12;

    pub(super) fn to_bytes(self) -> [u8; RowPlace::BYTES] {
        let mut bytes = [0; RowPlace::BYTES];
        bytes[..8].copy_from_slice(&self.chunk.to_be_bytes());
        bytes[8..].copy_from_slice(&self.start.to_be_bytes());
        bytes
    }

    /// The place at the end of a key.
    pub(super) fn of_key(key: &[u8]) -> Option<RowPlace> {
        let (chunk, start) = key.last_chunk::<{ RowPlace::BYTES }>()?.split_at(8);
        Some(RowPlace {
            chunk: u64::from_be_bytes(chunk.try_into().ok()?),
            start: u32::from_be_bytes(start.try_into().ok()?),
        })
    }
}

/// The head of a row's bytes: lines and bytes of the file between the start of its chunk and its
/// own. A chunk is at most 1 GiB, of which UTF-32 makes 4 GiB - 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowHead {
    pub(super) lines: u32,
    pub(super) file_bytes: u32,
}

impl RowHead {
    pub(super) fn push(self, payload: &mut Vec<u8>) {
        payload.extend_from_slice(&self.lines.to_le_bytes());
        payload.extend_from_slice(&self.file_bytes.to_le_bytes());
    }

    /// Splits a payload into the head and the row's bytes.
    pub(super) fn split(payload: &[u8]) -> Option<(RowHead, &[u8])> {
        let (lines, rest) = payload.split_first_chunk::<4>()?;
        let (file_bytes, row) = rest.split_first_chunk::<4>()?;
        let head = RowHead {
            lines: u32::from_le_bytes(*lines),
            file_bytes: u32::from_le_bytes(*file_bytes),
        };
        Some((head, row))
    }
}
