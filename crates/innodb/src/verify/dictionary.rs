//! MySQL's dictionary page (SDI) of a built file, as the server left it in the empty table.
//!
//! IMPORT changes it, and the server ends itself before it writes a page whose heap and directory do not fit.
//!
//! Source: MySQL 9.7, storage/innobase/buf/buf0dblwr.cc, `croak`.

use crate::ids::FIL_NULL;
use crate::index_page::index_header;
use crate::page::{PageBytes, fil_header};
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule};
use crate::verify::records::{self, RecordBuffers};
use crate::verify::rules::IndexRules;

/// Checks a dictionary page: a built file has the root alone.
pub(crate) fn check(
    rules: Option<&IndexRules>,
    page_no: u32,
    page: &PageBytes,
    scratch: &mut RecordBuffers,
) -> Result<(), Corrupt> {
    let (fil, header) = (fil_header(page), index_header(page));
    let (prev, next, level) = (fil.prev.get(), fil.next.get(), header.level.get());
    let id = header.index_id.get();
    let is_alone = (prev, next, level) == (FIL_NULL, FIL_NULL, 0) && records::is_compact(page);
    match rules.filter(|rules| is_alone && (rules.root, rules.id.0) == (page_no, id)) {
        // The server wrote its records.
        Some(rules) => records::check(page_no, page, rules, Writer::Server, scratch).map(drop),
        None => {
            let seen = format!(
                "dictionary page of index {id:#x}, level {level}, with siblings {prev} and {next}"
            );
            let expected = "the root alone, of index 0xffffffffffffffff";
            Err(Corrupt::page(page_no, Rule::Root, seen, expected))
        }
    }
}
