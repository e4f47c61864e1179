//! lineitem as the stages take it: its rows to records and keys by the encoder of every load.

use std::collections::HashMap;

use encode::binding::{Binding, Parts, SecondaryBinding, bind_columns};
use encode::encoder::{BLOCK_ROWS, Encoder, RowNumbers};
use encode::fields::InputFields;
use innodb::cfg::Cfg;
use schema::Table;
use sources::{Rows, Visit};
use values::{Charset, ConvertOptions};

use crate::error::Error;

/// How the fields of a row become those of its records.
pub(crate) fn bind(cfg: &Cfg, table: &Table) -> Result<Binding, Error> {
    let fields = InputFields::of((0..table.columns.len()).map(Some).collect());
    let convert = ConvertOptions { file_charset: Charset::Latin1, ..ConvertOptions::default() };
    let none = HashMap::new();
    let columns = bind_columns(&table.columns, &fields, &convert, &none, None, |_| true)
        .map_err(Error::stage("encode"))?;
    // No key has a text in it that a collation would order.
    let parts = Parts { columns, cfg, fields: &fields, collations: &none, router: None };
    Binding::new(parts).map_err(Error::stage("encode"))
}

/// Bytes of each key of every secondary index.
pub(crate) fn key_lens(binding: &Binding) -> Result<Vec<usize>, Error> {
    let key_len = |index: &SecondaryBinding| {
        index.key_len.ok_or_else(|| Error::stage("encode")("a key of varying length"))
    };
    binding.secondaries.iter().map(key_len).collect()
}

/// Records and keys of some rows.
pub(crate) struct Encoded {
    /// Clustered records, one after the other.
    records: Vec<u8>,
    /// Byte at which each ends, and bytes before its origin.
    ends: Vec<(u32, u16)>,
    /// Keys of each secondary index.
    keys: Vec<Vec<u8>>,
}

/// Encodes the rows of a batch.
pub(crate) struct Encoding<'e, 'b> {
    pub(crate) encoder: &'e mut Encoder<'b>,
    pub(crate) encoded: &'e mut Encoded,
}

impl Visit for Encoding<'_, '_> {
    type Output = Result<(), Error>;

    fn rows<R: Rows>(self, rows: R) -> Result<(), Error> {
        let Encoding { encoder, encoded } = self;
        encoded.clear();
        for index in 0..rows.len() {
            if index % BLOCK_ROWS == 0 {
                encoder.begin_block(rows, index);
            }
            let row = encoder.encode_at(rows, index, RowNumbers::default());
            row.map_err(|fault| Error::stage("encode")(fault.kind))?;
            let record = encoder.clustered().finish();
            encoded.records.extend_from_slice(record.bytes);
            encoded.ends.push((encoded.records.len() as u32, record.origin as u16));
            for (slot, keys) in encoded.keys.iter_mut().enumerate() {
                keys.extend_from_slice(encoder.secondary(slot).0);
            }
        }
        Ok(())
    }
}

impl Encoded {
    /// No rows yet, with this many secondary indexes.
    pub(crate) fn new(secondaries: usize) -> Encoded {
        Encoded { records: Vec::new(), ends: Vec::new(), keys: vec![Vec::new(); secondaries] }
    }

    fn clear(&mut self) {
        self.records.clear();
        self.ends.clear();
        self.keys.iter_mut().for_each(Vec::clear);
    }

    /// Records and the bytes before their origins.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&[u8], usize)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(end, _)| end));
        starts.zip(&self.ends).map(|(start, &(end, origin))| {
            (&self.records[start as usize..end as usize], usize::from(origin))
        })
    }

    /// Keys of secondary index `slot`, one after the other.
    pub(crate) fn keys(&self, slot: usize) -> &[u8] {
        &self.keys[slot]
    }
}
