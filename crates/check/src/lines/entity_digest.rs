//! The values that lines give one entity, and a digest of them: lines with one key should agree.

use encode::mapped::{From, LinePlace, Lines, OnConflict, RowReference};
use sources::Row;
use twox_hash::XxHash3_128;

use super::table::LineTable;

/// A part of a table's row in the digest.
pub(super) enum Part {
    /// A field of the row.
    Field(usize),
    /// The key of the line in another entity, or in what is looked up.
    Key(usize),
}

impl Part {
    /// The number of the key, if it is one.
    pub(super) fn slot(&self) -> Option<usize> {
        match self {
            Part::Key(slot) => Some(*slot),
            Part::Field(_) => None,
        }
    }
}

/// All fields that say something of a table's row: its own, and those of the keys of rows that it refers
/// to.
pub(super) fn fields(
    table: &LineTable,
    all: &[LineTable],
    lines: &Lines,
) -> sources::Result<Vec<usize>> {
    let mut fields = lines.find_all(table.mapping.field_names())?;
    for (_, from) in table.mapping.columns.iter().flatten() {
        let From::IdOf(of) = from else { continue };
        let other = all.iter().find(|other| other.name().eq_ignore_ascii_case(of));
        if let Some(key) = other.and_then(|other| other.key.as_ref()) {
            fields.extend(key.fields(lines)?);
        }
    }
    Ok(fields)
}

/// True if the last line of an entity counts.
pub(super) fn takes_last(table: &LineTable) -> bool {
    let entity = table.mapping.entity.as_ref();
    entity.is_some_and(|entity| entity.on_conflict == OnConflict::Last)
}

/// The values in which lines of one entity may differ, besides the key.
pub(super) fn parts(
    table: &LineTable,
    find: impl Fn(&RowReference) -> Option<usize>,
) -> Option<Vec<Part>> {
    let entity = table.mapping.entity.as_ref()?;
    if matches!(entity.on_conflict, OnConflict::First | OnConflict::Last) {
        return None;
    }
    let columns = table.mapping.columns.iter().flatten().enumerate();
    let part = |(at, (name, from)): (usize, &(String, From))| match from {
        _ if entity.key.contains(name) => None,
        From::Field(_) | From::Joined(_) => Some(Part::Field(at)),
        From::IdOf(of) => find(&RowReference::Id(of.clone())).map(Part::Key),
        From::Lookup(lookup) => find(&RowReference::Looked(lookup.clone())).map(Part::Key),
        From::FileName | From::Line => None,
    };
    Some(columns.filter_map(part).collect())
}

/// Makes digests.
#[derive(Default)]
pub(super) struct Digester {
    said: Vec<u8>,
    /// Room for a value, and for its text.
    scratch: Vec<u8>,
    text: Vec<u8>,
}

impl Digester {
    /// A digest of what a row says in some parts; `key` gives a line's key by its number, if it has one.
    pub(super) fn digest<'k, R: Row>(
        &mut self,
        row: R,
        parts: &[Part],
        key: impl Fn(usize) -> Option<&'k [u8]>,
    ) -> u64 {
        let Digester { said, scratch, text } = self;
        said.clear();
        for part in parts {
            let part = match part {
                Part::Field(field) => row.value(*field, scratch).text(text),
                Part::Key(number) => key(*number),
            };
            // No text is as long as what stands for none.
            let size = part.map_or(u32::MAX, |part| part.len() as u32);
            said.extend_from_slice(&size.to_le_bytes());
            said.extend_from_slice(part.unwrap_or_default());
        }
        XxHash3_128::oneshot(said) as u64
    }
}

/// A digest that each line has for itself, where no two may say the same.
pub(super) fn place_digest((file, offset): LinePlace) -> u64 {
    u64::from(file) << 48 ^ offset
}
