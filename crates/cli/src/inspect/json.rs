//! The same as JSON.

use ::inspect::{ExtentView, Field, FieldValue, PageView, RecordView};
use ::inspect::{SegmentView, Survey};
use innodb::verify::{Corrupt, IndexReport, LevelReport, Report, UncheckedField};
use serde_json::{Value, json};

use super::page::{address, list, value};
use super::words::{fill_percent, state_name};
use super::{Inspected, row_format};

impl Inspected {
    /// The contents that `print` prints.
    pub(super) fn json(&self, survey: &Survey) -> Value {
        let header = &survey.map.header;
        let kinds: serde_json::Map<_, _> =
            survey.kinds.iter().map(|(kind, count)| (kind.plural().into(), json!(count))).collect();
        let mut value = json!({
            "file": self.name,
            "bytes": self.bytes,
            "pages": survey.map.pages,
            "space_id": header.space_id.get(),
            "size_pages": header.size_pages.get(),
            "free_limit": header.free_limit.get(),
            "flags": header.flags.get(),
            "next_segment_id": header.next_segment_id.get(),
            "page_kinds": kinds,
            "off_page_bytes": survey.off_page_bytes,
            "indexes": survey.indexes.iter().map(index_json).collect::<Vec<_>>(),
        });
        if survey.report.is_none() {
            // Only verifying looks at each record.
            for index in value["indexes"].as_array_mut().into_iter().flatten() {
                index["deleted"] = Value::Null;
            }
        }
        if let Some(cfg) = &self.cfg {
            value["table"] = json!(cfg.table);
            value["row_format"] = json!(row_format(cfg));
            value["auto_increment"] = json!(cfg.autoinc);
        }
        if let Some(report) = &survey.report {
            value["verify"] = report_json(report);
        }
        value
    }
}

fn index_json(index: &IndexReport) -> Value {
    let level = |level: &LevelReport| {
        json!({
            "pages": level.pages,
            "records": level.records,
            "free_bytes": level.free_bytes,
            "fill_percent": fill_percent(level),
        })
    };
    json!({
        "name": index.name,
        "id": index.id.0,
        "root": index.root,
        "records": index.records(),
        "deleted": index.deleted,
        "levels": index.levels.iter().map(level).collect::<Vec<_>>(),
    })
}

fn report_json(report: &Report) -> Value {
    let violation = |violation: &Corrupt| {
        json!({
            "page": violation.page.0,
            "offset": violation.offset,
            "rule": format!("{:?}", violation.rule),
            "seen": violation.seen,
            "expected": violation.expected,
        })
    };
    let unchecked = |field: &UncheckedField| json!({ "index": field.index, "column": field.column, "collation": field.collation });
    json!({
        "violations": report.violations.count(),
        "first": report.violations.kept().iter().map(violation).collect::<Vec<_>>(),
        "unchecked": report.unchecked.iter().map(unchecked).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

/// One page.
pub(super) fn page_json(view: &PageView) -> Value {
    let field = |field: &Field| {
        let value = match field.value {
            FieldValue::Number(number) => json!(number),
            other => json!(value(other)),
        };
        json!({ "offset": field.offset, "name": field.name, "value": value })
    };
    let record = |record: &RecordView| {
        let hex: String = record.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({
            "origin": record.origin,
            "heap_number": record.heap_number,
            "status": record.status,
            "info": record.info,
            "owned": record.owned,
            "next": record.next,
            "bytes": hex,
        })
    };
    json!({
        "page": view.page_no,
        "kind": view.kind.name(),
        "fields": view.fields.iter().map(field).collect::<Vec<_>>(),
        "checksum": view.checksum,
        "slots": view.slots.iter().map(|slot| json!([slot.origin, slot.owned])).collect::<Vec<_>>(),
        "records": view.records.iter().map(record).collect::<Vec<_>>(),
        "broken": view.broken,
        "extents": view.extents.iter().map(extent_json).collect::<Vec<_>>(),
        "segments": view.segments.iter().map(segment_json).collect::<Vec<_>>(),
    })
}

fn extent_json(extent: &ExtentView) -> Value {
    json!({
        "first_page": extent.first_page,
        "state": state_name(extent.state),
        "segment_id": extent.segment_id,
        "used": extent.used,
        "prev": address(extent.prev),
        "next": address(extent.next),
    })
}

fn segment_json(segment: &SegmentView) -> Value {
    json!({
        "offset": segment.offset,
        "id": segment.id,
        "not_full_used": segment.not_full_used,
        "free": list(segment.lists[0]),
        "not_full": list(segment.lists[1]),
        "full": list(segment.lists[2]),
        "single_pages": segment.fragments,
    })
}
