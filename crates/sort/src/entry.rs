//! An entry: a memcmp-ordered key and, in some sorts, a payload.
//!
//! In memory and on disk an entry is
//!
//! ```text
//! [ordinal delta] [key length] [payload length] key payload
//!  on disk, with   if not       if payloads
//!  payload only    constant
//! ```
//!
//! the three numbers as LEB128. An entry of constant key length without payload is its key and
//! nothing else, so a run of them is an array.

/// The shape that all entries of one sort share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryShape {
    /// Bytes of every key, if they are all of one length.
    pub key_len: Option<usize>,
    /// Trailing bytes of each key that only tell entries of one key apart, as a row number does; 0
    /// where keys are whole. Entries equal before them fall into one range, so that they meet.
    pub tail_len: usize,
    /// True if entries have payloads.
    pub payload: bool,
}

impl EntryShape {
    /// Keys of `key_len` bytes without payload.
    pub fn fixed(key_len: usize) -> EntryShape {
        EntryShape { key_len: Some(key_len), tail_len: 0, payload: false }
    }

    /// Bytes of every entry, if entries are bare keys of one length.
    pub(crate) fn stride(&self) -> Option<usize> {
        self.key_len.filter(|&len| len > 0 && !self.payload)
    }

    /// True if an entry has this shape.
    #[inline]
    pub(crate) fn takes(&self, key: &[u8], payload: &[u8]) -> bool {
        self.key_len.is_none_or(|len| len == key.len()) && (self.payload || payload.is_empty())
    }

    /// Appends an entry. `ordinal_delta` is stored on disk only, and only beside payloads.
    #[inline]
    pub(crate) fn encode(
        &self,
        ordinal_delta: Option<u64>,
        key: &[u8],
        payload: &[u8],
        out: &mut Vec<u8>,
    ) {
        debug_assert!(self.takes(key, payload));
        if let (Some(delta), true) = (ordinal_delta, self.payload) {
            push_number(delta, out);
        }
        if self.key_len.is_none() {
            push_number(key.len() as u64, out);
        }
        if self.payload {
            push_number(payload.len() as u64, out);
        }
        out.extend_from_slice(key);
        out.extend_from_slice(payload);
    }

    /// Finds the entry at `at`; None if it does not lie within `bytes`.
    #[inline]
    pub(crate) fn decode(&self, bytes: &[u8], at: usize, on_disk: bool) -> Option<EntryAt> {
        let mut at = at;
        let mut ordinal_delta = 0;
        let mut payload_len = 0;
        if on_disk && self.payload {
            ordinal_delta = read_number(bytes, &mut at)?;
        }
        let key_len = match self.key_len {
            Some(len) => len,
            None => usize::try_from(read_number(bytes, &mut at)?).ok()?,
        };
        if self.payload {
            payload_len = usize::try_from(read_number(bytes, &mut at)?).ok()?;
        }
        let key_end = at.checked_add(key_len)?;
        let end = key_end.checked_add(payload_len)?;
        (end <= bytes.len()).then_some(EntryAt { ordinal_delta, key: at, key_end, end })
    }
}

/// Where the parts of an encoded entry lie.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntryAt {
    pub(crate) ordinal_delta: u64,
    pub(crate) key: usize,
    pub(crate) key_end: usize,
    /// End of the payload and of the entry.
    pub(crate) end: usize,
}

#[inline]
fn push_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[inline]
fn read_number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut number = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            push_number(number, &mut bytes);
            let mut at = 0;
            assert_eq!(read_number(&bytes, &mut at), Some(number));
            assert_eq!(at, bytes.len());
            assert_eq!(read_number(&bytes[..bytes.len() - 1], &mut 0), None);
        }
    }

    #[test]
    fn an_entry_is_its_lengths_then_its_bytes() {
        let shape = EntryShape { key_len: None, tail_len: 0, payload: true };
        let mut bytes = Vec::new();
        shape.encode(Some(300), b"key", b"payload", &mut bytes);
        assert_eq!(bytes, b"\xac\x02\x03\x07keypayload");
        let entry = shape.decode(&bytes, 0, true).unwrap();
        assert_eq!(entry.ordinal_delta, 300);
        assert_eq!(&bytes[entry.key..entry.key_end], b"key");
        assert_eq!(&bytes[entry.key_end..entry.end], b"payload");
        assert!(shape.decode(&bytes[..bytes.len() - 1], 0, true).is_none());
    }

    #[test]
    fn a_bare_key_of_constant_length_is_stored_as_it_is() {
        let shape = EntryShape::fixed(3);
        let mut bytes = Vec::new();
        shape.encode(Some(9), b"abc", b"", &mut bytes);
        assert_eq!(bytes, b"abc");
    }
}
