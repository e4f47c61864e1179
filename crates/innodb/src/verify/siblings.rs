//! The order of records across two pages that are neighbours on their level.

use crate::index_page::index_header;
use crate::page::{PageBytes, fil_header, page_type};
use crate::verify::corrupt::Corrupt;
use crate::verify::records::RecordBuffers;
use crate::verify::rules::TableRules;
use crate::verify::tree::Origins;

/// The last record of a page.
#[derive(Clone, Copy)]
pub(crate) struct LastRecord<'a> {
    pub(crate) page_no: u32,
    pub(crate) page: &'a PageBytes,
    pub(crate) origin: usize,
}

/// Compares a record with the first of `right`, the page that its own one names as its right sibling. One that is
/// none is reported with the links.
pub(crate) fn compare(
    rules: &TableRules,
    scratch: &mut RecordBuffers,
    last: LastRecord<'_>,
    right: &PageBytes,
) -> Option<Corrupt> {
    let LastRecord { page_no, page, origin: at } = last;
    let header = index_header(page);
    let index = &rules.indexes[rules.index_by_id(header.index_id.get())?];
    let plan = if header.level.get() == 0 { &index.leaf } else { &index.node };
    let plan = plan.as_ref()?;
    let their = index_header(right);
    let is_sibling = fil_header(right).page_type.get() == page_type::INDEX
        && (their.index_id, their.level) == (header.index_id, header.level);
    let origin = Origins::first(right).filter(|_| is_sibling)?;
    let (rule, seen) =
        scratch.compare_across(index, plan, rules.writer, (page, at), (right, origin))?;
    let next = fil_header(page).next.get();
    let seen = format!("last record {seen} the first of page {next}, its right sibling");
    Some(Corrupt::at(page_no, at, rule, seen, "keys that ascend"))
}
