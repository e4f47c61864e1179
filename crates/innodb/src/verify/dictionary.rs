//! MySQL's dictionary pages (SDI) of a built file: as the server left them in the empty table.
//!
//! IMPORT changes the dictionary, and the server ends itself before it writes a page whose heap and directory
//! do not fit. A built file has the root alone.
//!
//! Source: MySQL 9.7, storage/innobase/dict/dict0dict.cc, `dict_sdi_create_idx_in_mem`;
//! storage/innobase/buf/buf0dblwr.cc, `croak`.

use crate::ids::{FIL_NULL, IndexId};
use crate::index_page::index_header;
use crate::order::{FieldOrder, KeyField, KeyOrder};
use crate::page::{PageBytes, fil_header, page_type};
use crate::record::{FieldShape, RECORD_HEADER, RecordShape};
use crate::space_format::SpaceFormat;
use crate::space_map::IndexRoot;
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule};
use crate::verify::plan::RecordPlan;
use crate::verify::records::{self, RecordBuffers};
use crate::verify::rules::IndexRules;

/// Bytes of the fields: type and id, which are the key; transaction and roll pointer; length of the text,
/// and of what it is compressed to; the compressed text, of any length.
const FIELDS: [u32; 7] = [4, 8, 6, 7, 4, 4, 0];
const KEY_FIELDS: usize = 2;
/// Id of the index, in every file.
const INDEX: IndexId = IndexId(u64::MAX);

/// How the dictionary's root must look.
pub(crate) fn rules(format: SpaceFormat, root: IndexRoot) -> IndexRules {
    let field = |bytes: &u32| FieldShape {
        column: 0,
        prefix_len: 0,
        fixed_len: *bytes,
        len_max: u32::MAX,
        nullable: false,
        big: *bytes == 0,
        descending: false,
        system: None,
        null_bit: u16::MAX,
    };
    let shape = RecordShape {
        fields: FIELDS.iter().map(field).collect(),
        key_fields: KEY_FIELDS,
        null_bytes: 0,
        header_bytes_max: RECORD_HEADER + 2,
        is_node: false,
    };
    let part = |_| KeyField { order: FieldOrder::Bytes, descending: false };
    let order = KeyOrder { fields: (0..KEY_FIELDS).map(part).collect() };
    IndexRules {
        format,
        name: "the dictionary".to_owned(),
        id: INDEX,
        root: root.root,
        root_type: page_type::SDI,
        is_clustered: true,
        is_dropped: false,
        unique_fields: None,
        leaf: Some(RecordPlan::new(shape, &order, None)),
        node: None,
        order,
    }
}

/// Checks a dictionary page of a built file.
pub(crate) fn check(
    rules: Option<&IndexRules>,
    page_no: u32,
    page: &PageBytes,
    scratch: &mut RecordBuffers,
) -> Result<(), Corrupt> {
    let Some(rules) = rules.filter(|rules| rules.root == page_no) else {
        let seen = "dictionary page that is not the root";
        return Err(Corrupt::page(page_no, Rule::PageType, seen, "the root alone"));
    };
    let (fil, header) = (fil_header(page), index_header(page));
    let (prev, next) = (fil.prev.get(), fil.next.get());
    if (prev, next) != (FIL_NULL, FIL_NULL) {
        let seen = format!("root has siblings {prev} and {next}");
        return Err(Corrupt::at(page_no, 8, Rule::Root, seen, "none"));
    }
    let (level, id) = (header.level.get(), header.index_id.get());
    if level != 0 || id != rules.id.0 || !records::is_compact(page) {
        let seen = format!("dictionary page of level {level}, of index {id:#x}");
        let expected = format!("level 0, index {:#x}, and records of the new format", rules.id.0);
        return Err(Corrupt::at(page_no, 64, Rule::Level, seen, expected));
    }
    let references = scratch.references.len();
    // The server wrote the page.
    records::check(page_no, page, rules, Writer::Server, scratch)?;
    if scratch.references.len() > references {
        scratch.references.truncate(references);
        let seen = "off-page value in the dictionary";
        return Err(Corrupt::page(page_no, Rule::Reference, seen, "none"));
    }
    Ok(())
}
