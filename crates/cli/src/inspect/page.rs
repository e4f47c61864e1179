//! One page in full, as text.

use std::io::{self, Write};

use ::inspect::{FieldValue, PageView};
use innodb::ids::PAGE_SIZE;
use innodb::list::{FilAddr, ListBase};
use terminal::size::group;

use super::words::state_name;

/// One page in full.
pub(super) fn print_page(out: &mut impl Write, view: &PageView) -> io::Result<()> {
    let start = u64::from(view.page_no) * PAGE_SIZE as u64;
    writeln!(
        out,
        "page {}: {}, byte {} of the file",
        view.page_no,
        view.kind.name(),
        group(start)
    )?;
    for field in &view.fields {
        let note = match field.value {
            FieldValue::Checksum(stored) if stored != view.checksum => {
                format!(", but the bytes of the page give {:#010x}", view.checksum)
            }
            _ => String::new(),
        };
        writeln!(out, "  {:>5}  {:28}{}{note}", field.offset, field.name, value(field.value))?;
    }
    if !view.segments.is_empty() {
        print_segments(out, view)?;
    }
    if !view.extents.is_empty() {
        print_extents(out, view)?;
    }
    if !view.slots.is_empty() {
        print_records(out, view)?;
    }
    if view.bytes.iter().any(|byte| *byte != 0) {
        writeln!(out, "\nfirst bytes")?;
        for (line, bytes) in view.bytes.chunks(16).enumerate() {
            writeln!(out, "  {:>5}  {}", 16 * line, hex_and_text(bytes))?;
        }
    }
    Ok(())
}

fn print_segments(out: &mut impl Write, view: &PageView) -> io::Result<()> {
    for segment in &view.segments {
        writeln!(out, "\nsegment {} at byte {}", segment.id, segment.offset)?;
        let names = ["FSEG_FREE", "FSEG_NOT_FULL", "FSEG_FULL"];
        for (name, base) in names.iter().zip(segment.lists) {
            writeln!(out, "  {name:28}{}", list(base))?;
        }
        writeln!(out, "  {:28}{}", "FSEG_NOT_FULL_N_USED", segment.not_full_used)?;
        let pages: Vec<_> = segment.fragments.iter().map(u32::to_string).collect();
        writeln!(out, "  {:28}{}", "single pages", or_none(&pages.join(" ")))?;
    }
    Ok(())
}

fn print_extents(out: &mut impl Write, view: &PageView) -> io::Result<()> {
    writeln!(
        out,
        "\n  first page  used  state                    segment  prev, next on its list"
    )?;
    for extent in &view.extents {
        let owner = match extent.segment_id {
            0 => "-".into(),
            id => id.to_string(),
        };
        writeln!(
            out,
            "  {:>10}  {:>4}  {:23}  {owner:>7}  {}; {}",
            extent.first_page,
            extent.used,
            state_name(extent.state),
            address(extent.prev),
            address(extent.next)
        )?;
    }
    Ok(())
}

fn print_records(out: &mut impl Write, view: &PageView) -> io::Result<()> {
    writeln!(out, "\ndirectory: slot record (records it owns)")?;
    for (line, slots) in view.slots.chunks(8).enumerate() {
        write!(out, " ")?;
        for (index, slot) in slots.iter().enumerate() {
            write!(out, " {} {} ({})", 8 * line + index, slot.origin, slot.owned)?;
            write!(out, "{}", if index + 1 < slots.len() { "," } else { "" })?;
        }
        writeln!(out)?;
    }
    writeln!(out, "\n  record  heap  next   owns  kind           first bytes")?;
    for record in &view.records {
        let kind = match (record.status, record.info) {
            (2, _) => "infimum".into(),
            (3, _) => "supremum".into(),
            (0, 0) => "row".into(),
            (0, 0x20) => "row, deleted".into(),
            (1, 0) => "node pointer".into(),
            (1, 0x10) => "lowest pointer".into(),
            (status, info) => format!("status {status}, {info:#04x}"),
        };
        let next = match record.status {
            3 => "-".into(),
            _ => record.next.to_string(),
        };
        let len = if record.status > 1 { 8 } else { record.bytes.len() };
        writeln!(
            out,
            "  {:>6}  {:>4}  {next:>5}  {:>4}  {kind:14} {}",
            record.origin,
            record.heap_number,
            record.owned,
            hex_and_text(&record.bytes[..len])
        )?;
    }
    match &view.broken {
        Some(broken) => writeln!(out, "  {broken}"),
        None => Ok(()),
    }
}

pub(super) fn value(value: FieldValue) -> String {
    match value {
        FieldValue::Number(number) => number.to_string(),
        FieldValue::Bits(bits) | FieldValue::Checksum(bits) => format!("{bits:#010x}"),
        FieldValue::Page(u32::MAX) => "none".into(),
        FieldValue::Page(page_no) => page_no.to_string(),
        FieldValue::Address(at) => address(at),
        FieldValue::List(base) => list(base),
    }
}

pub(super) fn address(address: FilAddr) -> String {
    match address.is_null() {
        true => "none".into(),
        false => format!("page {} byte {}", address.page_no, address.offset),
    }
}

pub(super) fn list(base: ListBase) -> String {
    match base.count.get() {
        0 => "empty".into(),
        count => format!("{count}, {} to {}", address(base.first), address(base.last)),
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// `6f 72 64  ord`: bytes, then those of them that are text.
fn hex_and_text(bytes: &[u8]) -> String {
    let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let text: String = bytes
        .iter()
        .map(|byte| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' })
        .collect();
    format!("{:47}  {text}", hex.join(" "))
}
