//! What the records of an old index are compared by: the keys that the sort has for new ones.

use encode::binding::{Binding, Entry};
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
    /// Of index `index` of the table, 0 being the clustered one.
    pub(crate) fn new(binding: &'a Binding, template: &Template, index: usize) -> OldKeys<'a> {
        let records = LeafRecords::new(&template.indexes[index]);
        let (parts, plain_bytes, unique_fields) = match index.checked_sub(1) {
            None => {
                let clustered = &binding.clustered;
                (&clustered.key, clustered.key_is_data, clustered.key.len())
            }
            Some(position) => {
                let secondary = &binding.secondaries[position];
                let plain_bytes = secondary.key_len.filter(|_| secondary.entry == Entry::KeyIsData);
                (&secondary.key, plain_bytes, secondary.unique_fields)
            }
        };
        let fields = template.indexes[index].shape.fields.iter().take(unique_fields);
        let unique_bytes = fields.map(|field| field.fixed_len as usize).sum();
        let plain = plain_bytes.map(|bytes| (bytes, unique_bytes));
        OldKeys { records, parts, plain, unique_fields, spans: Vec::new() }
    }

    /// How its records are read.
    pub(crate) fn records(&self) -> &LeafRecords {
        &self.records
    }

    /// Whether no two records share the first fields of the key.
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
            part.push(field.of(page), &mut key.bytes).map_err(|reason| {
                Error::NotMerged(format!("one cannot be put into order: {reason}"))
            })?;
            is_null |= field.is_null;
            if at + 1 == self.unique_fields && !is_null {
                key.unique_bytes = key.bytes.len();
            }
        }
        Ok(())
    }
}

pub(super) fn unreadable(error: innodb::source::ReadError) -> Error {
    Error::NotMerged(error.to_string())
}
