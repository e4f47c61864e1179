//! Keys of an old index's records, as the sort has them for new ones.

use encode::binding::{Binding, Cut, Entry, SecondaryBinding, SecondaryField, Step};
use innodb::leaves::{LeafRecords, LiveRecord};
use innodb::page::PageBytes;
use innodb::record::FieldSpan;
use innodb::template::Template;
use job::error::Error;
use values::key::KeyPart;

/// Makes the keys of one index.
pub(crate) struct OldKeys<'a> {
    records: LeafRecords,
    parts: &'a [KeyPart],
    /// Bytes of each key, and of its unique part, if it is the first bytes of the record's data.
    plain: Option<(usize, usize)>,
    /// Fields, from the first, that no two records share; 0 if there are none.
    unique_fields: usize,
    /// How the clustered index orders rows.
    clustered: &'a [KeyPart],
    /// Which fields of a secondary record have the clustered key, part by part, and how much of each; none for
    /// the clustered index itself.
    row_fields: Option<Vec<(usize, Option<Cut>)>>,
    spans: Vec<FieldSpan>,
}

/// A key, and how much of it no other record has.
#[derive(Clone, Debug, Default)]
pub(crate) struct OldKey {
    pub(crate) bytes: Vec<u8>,
    /// 0 if it may be another's too.
    pub(crate) unique_bytes: usize,
}

impl OldKey {
    pub(crate) fn unique(&self) -> &[u8] {
        &self.bytes[..self.unique_bytes]
    }
}

impl<'a> OldKeys<'a> {
    /// The keys of index `index` of the table, 0 being the clustered one.
    pub(crate) fn new(binding: &'a Binding, template: &Template, index: usize) -> OldKeys<'a> {
        let records = LeafRecords::new(&template.indexes[index]);
        let secondary = binding.secondary(index);
        let (parts, plain_bytes, unique_fields) = match secondary {
            None => {
                let clustered = &binding.clustered;
                (&clustered.key, clustered.key_is_data, clustered.key.len())
            }
            Some(secondary) => {
                let plain_bytes = secondary.key_len.filter(|_| secondary.entry == Entry::KeyIsData);
                (&secondary.key, plain_bytes, secondary.unique_fields)
            }
        };
        let fields = template.indexes[index].shape.fields.iter().take(unique_fields);
        let unique_bytes = fields.map(|field| field.fixed_len as usize).sum();
        let plain = plain_bytes.map(|bytes| (bytes, unique_bytes));
        let row_fields = secondary.map(|secondary| row_fields(binding, secondary));
        let clustered = &binding.clustered.key;
        OldKeys { records, parts, plain, unique_fields, clustered, row_fields, spans: Vec::new() }
    }

    /// How its records are read.
    pub(crate) fn records(&self) -> &LeafRecords {
        &self.records
    }

    /// True if no two records share the first fields of the key.
    pub(crate) fn is_unique(&self) -> bool {
        self.unique_fields > 0
    }

    /// Puts the key of a record into `key`.
    #[inline]
    pub(crate) fn make(
        &mut self,
        page: &PageBytes,
        record: LiveRecord,
        key: &mut OldKey,
    ) -> Result<(), Error> {
        if let Some((bytes, unique_bytes)) = self.plain
            && let Some(plain) = record.data(page).get(..bytes)
        {
            key.bytes.clear();
            key.bytes.extend_from_slice(plain);
            key.unique_bytes = unique_bytes;
            return Ok(());
        }
        let mut spans = std::mem::take(&mut self.spans);
        self.records.key(page, record, &mut spans).map_err(unreadable)?;
        let made = self.make_of(page, &spans, key);
        self.spans = spans;
        made
    }

    /// Puts into `key` what the clustered index knows the record's row by.
    ///
    /// Errors: it cannot be had from the record.
    pub(crate) fn row(
        &mut self,
        page: &PageBytes,
        record: LiveRecord,
        key: &mut OldKey,
    ) -> Result<(), Error> {
        let Some(row_fields) = &self.row_fields else { return self.make(page, record, key) };
        key.bytes.clear();
        key.unique_bytes = 0;
        self.records.key(page, record, &mut self.spans).map_err(unreadable)?;
        for (at, part) in self.clustered.iter().enumerate() {
            let field = row_fields.get(at);
            let field = field.and_then(|(field, cut)| Some((self.spans.get(*field)?, cut)));
            let (field, cut) = field.ok_or_else(|| {
                Error::NotMerged("an index does not identify the row of an entry".to_owned())
            })?;
            let stored = field.of(page).map(|whole| cut.map_or(whole, |cut| cut.of(whole)));
            part.push(stored, &mut key.bytes).map_err(unordered)?;
        }
        Ok(())
    }

    /// Puts the key of these fields into `key`.
    pub(crate) fn make_of(
        &self,
        page: &PageBytes,
        fields: &[FieldSpan],
        key: &mut OldKey,
    ) -> Result<(), Error> {
        key.bytes.clear();
        key.unique_bytes = 0;
        let mut is_null = false;
        for (at, (part, field)) in self.parts.iter().zip(fields).enumerate() {
            part.push(field.of(page), &mut key.bytes).map_err(unordered)?;
            is_null |= field.is_null;
            if at + 1 == self.unique_fields && !is_null {
                key.unique_bytes = key.bytes.len();
            }
        }
        Ok(())
    }
}

/// Which fields of a secondary index have the clustered key, and how the clustered index cuts them: each part of it is
/// the whole column, or cut already. InnoDB appends what a user's index lacks of it.
fn row_fields(binding: &Binding, secondary: &SecondaryBinding) -> Vec<(usize, Option<Cut>)> {
    let steps = &binding.clustered.steps;
    let parts = steps.iter().take(binding.clustered.key.len()).enumerate();
    let fields = parts.map_while(|(at, step)| {
        let (column, cut) = match step {
            Step::Prefix(column, cut) => (Some(*column), Some(*cut)),
            _ => (binding.column_of_clustered_field(at), None),
        };
        let is_part = |field: &&SecondaryField| match column {
            Some(_) => binding.column_of_clustered_field(field.clustered_field) == column,
            None => field.clustered_field == at,
        };
        let has_it = |field: &SecondaryField| field.cut.is_none() || field.cut == cut;
        let field = secondary.fields.iter().position(|field| is_part(&field) && has_it(field));
        field.map(|field| (field, cut))
    });
    fields.collect()
}

fn unordered(reason: impl std::fmt::Display) -> Error {
    Error::NotMerged(format!("a key has no fixed order: {reason}"))
}

pub(super) fn unreadable(error: innodb::source::ReadError) -> Error {
    Error::NotMerged(error.to_string())
}
