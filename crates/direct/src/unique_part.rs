//! Which part of an index entry no other entry may have.

use encode::binding::{Binding, Entry};
use encode::entry::unpack;

/// Which part of an entry no other may have.
#[derive(Clone, Debug)]
pub(crate) enum UniquePart {
    /// The whole key: the clustered index.
    Whole,
    /// None: the index is not UNIQUE.
    None,
    /// The first bytes, unless one of the null markers at `markers` says NULL.
    Fixed { bytes: usize, markers: Vec<(usize, u8)> },
    /// As the entry says.
    InPayload,
}

impl UniquePart {
    /// The unique part of index `index`, 0 being the clustered one.
    pub(crate) fn of(binding: &Binding, index: usize) -> UniquePart {
        let Some(index) = binding.secondary(index) else { return UniquePart::Whole };
        if index.unique_fields == 0 {
            return UniquePart::None;
        }
        if index.entry == Entry::WithRecord {
            return UniquePart::InPayload;
        }
        let mut bytes = 0;
        let mut markers = Vec::new();
        for (part, field) in index.key.iter().zip(&index.shape.fields).take(index.unique_fields) {
            if part.nullable {
                markers.push((bytes, if part.descending { 0xFF } else { 0 }));
            }
            bytes += field.fixed_len as usize + usize::from(part.nullable);
        }
        UniquePart::Fixed { bytes, markers }
    }

    /// Bytes of every unique part, where that is constant and the entry does not tell.
    pub(crate) fn fixed_len(&self) -> Option<usize> {
        match self {
            UniquePart::Fixed { bytes, .. } => Some(*bytes),
            _ => None,
        }
    }

    /// The unique part of an entry; empty if it has none.
    #[inline]
    pub(crate) fn cut<'k>(&self, key: &'k [u8], payload: &[u8]) -> &'k [u8] {
        match self {
            UniquePart::Whole => key,
            UniquePart::None => &[],
            UniquePart::Fixed { bytes, markers } => {
                let has_null = markers.iter().any(|&(at, null)| key[at] == null);
                if has_null { &[] } else { &key[..*bytes] }
            }
            UniquePart::InPayload => &key[..unpack(payload).0],
        }
    }
}
