//! The header fields of a page, by the names the server gives them.

use core::mem::offset_of;

use super::{Field, FieldValue};
use innodb::blob::BlobHeader;
use innodb::index_page::{COMPACT_FLAG, PAGE_HEADER, PageHeader};
use innodb::list::FilAddr;
use innodb::lob::{LobData, LobFirst};
use innodb::page::{BODY, FilHeader, PageBytes, TRAILER, fil_header, page_type, u32_at, view};
use innodb::space_format::SpaceFormat;
use innodb::space_header::{SPACE_HEADER, SpaceHeader};

pub(super) fn number(offset: usize, name: &'static str, value: impl Into<u64>) -> Field {
    Field { offset, name, value: FieldValue::Number(value.into()) }
}

pub(super) fn fil_fields(format: SpaceFormat, page: &PageBytes) -> Vec<Field> {
    let fil = fil_header(page);
    let at = |offset, name, value| Field { offset, name, value };
    let first = fil.key_version_or_checksum.get();
    let first = match format {
        SpaceFormat::MariaDb => number(0, "FIL_PAGE_FCRC32_KEY_VERSION", first),
        SpaceFormat::MySql => at(0, "FIL_PAGE_SPACE_OR_CHKSUM", FieldValue::Checksum(first)),
    };
    let (prev, next) = (offset_of!(FilHeader, prev), offset_of!(FilHeader, next));
    let is_stamped = fil.page_type.get() == page_type::FSP_HDR;
    let neighbours = match format.version_stamp(page).filter(|_| is_stamped) {
        Some(stamp) => [
            number(prev, "FIL_PAGE_SRV_VERSION", stamp.server),
            number(next, "FIL_PAGE_SPACE_VERSION", stamp.space),
        ],
        None => [
            at(prev, "FIL_PAGE_PREV", FieldValue::Page(fil.prev.get())),
            at(next, "FIL_PAGE_NEXT", FieldValue::Page(fil.next.get())),
        ],
    };
    let mut fields =
        vec![first, number(offset_of!(FilHeader, page_no), "FIL_PAGE_OFFSET", fil.page_no.get())];
    fields.extend(neighbours);
    fields.extend([
        number(offset_of!(FilHeader, lsn), "FIL_PAGE_LSN", fil.lsn.get()),
        number(offset_of!(FilHeader, page_type), "FIL_PAGE_TYPE", fil.page_type.get()),
        number(offset_of!(FilHeader, space_id), "FIL_PAGE_SPACE_ID", fil.space_id.get()),
    ]);
    fields
}

/// The last eight bytes, in their order.
pub(super) fn trailer_fields(format: SpaceFormat, page: &PageBytes) -> [Field; 2] {
    let (first, last) = (TRAILER, TRAILER + size_of::<u32>());
    let lsn = |offset, name| number(offset, name, u32_at(page, offset));
    let checksum = |offset, name| {
        let value = FieldValue::Checksum(u32_at(page, offset));
        Field { offset, name, value }
    };
    match format {
        SpaceFormat::MariaDb => {
            [lsn(first, "FIL_PAGE_FCRC32_END_LSN"), checksum(last, "FIL_PAGE_FCRC32_CHECKSUM")]
        }
        SpaceFormat::MySql => {
            [checksum(first, "FIL_PAGE_END_LSN_OLD_CHKSUM"), lsn(last, "FIL_PAGE_END_LSN")]
        }
    }
}

pub(super) fn space_fields(page: &PageBytes) -> Vec<Field> {
    let header: &SpaceHeader = view(page, SPACE_HEADER);
    let list = |offset: usize, name, list| Field {
        offset: SPACE_HEADER + offset,
        name,
        value: FieldValue::List(list),
    };
    let plain = |offset: usize, name, value: u32| number(SPACE_HEADER + offset, name, value);
    let flags = FieldValue::Bits(header.flags.get());
    vec![
        plain(offset_of!(SpaceHeader, space_id), "FSP_SPACE_ID", header.space_id.get()),
        plain(offset_of!(SpaceHeader, size_pages), "FSP_SIZE", header.size_pages.get()),
        plain(offset_of!(SpaceHeader, free_limit), "FSP_FREE_LIMIT", header.free_limit.get()),
        Field {
            offset: SPACE_HEADER + offset_of!(SpaceHeader, flags),
            name: "FSP_SPACE_FLAGS",
            value: flags,
        },
        plain(offset_of!(SpaceHeader, frag_used), "FSP_FRAG_N_USED", header.frag_used.get()),
        list(offset_of!(SpaceHeader, free), "FSP_FREE", header.free),
        list(offset_of!(SpaceHeader, free_frag), "FSP_FREE_FRAG", header.free_frag),
        list(offset_of!(SpaceHeader, full_frag), "FSP_FULL_FRAG", header.full_frag),
        number(
            SPACE_HEADER + offset_of!(SpaceHeader, next_segment_id),
            "FSP_SEG_ID",
            header.next_segment_id.get(),
        ),
        list(offset_of!(SpaceHeader, inodes_full), "FSP_SEG_INODES_FULL", header.inodes_full),
        list(offset_of!(SpaceHeader, inodes_free), "FSP_SEG_INODES_FREE", header.inodes_free),
    ]
}

pub(super) fn index_fields(page: &PageBytes) -> Vec<Field> {
    let header: &PageHeader = view(page, PAGE_HEADER);
    let plain = |offset: usize, name, value: u16| number(PAGE_HEADER + offset, name, value);
    let heap_records = header.heap_records.get() & !COMPACT_FLAG;
    let direction = header.direction.get();
    let mut fields = vec![
        plain(
            offset_of!(PageHeader, directory_slots),
            "PAGE_N_DIR_SLOTS",
            header.directory_slots.get(),
        ),
        plain(offset_of!(PageHeader, heap_top), "PAGE_HEAP_TOP", header.heap_top.get()),
        plain(offset_of!(PageHeader, heap_records), "PAGE_N_HEAP", heap_records),
        plain(offset_of!(PageHeader, free), "PAGE_FREE", header.free.get()),
        plain(offset_of!(PageHeader, garbage), "PAGE_GARBAGE", header.garbage.get()),
        plain(offset_of!(PageHeader, last_insert), "PAGE_LAST_INSERT", header.last_insert.get()),
        plain(offset_of!(PageHeader, direction), "PAGE_DIRECTION", direction),
        plain(
            offset_of!(PageHeader, direction_count),
            "PAGE_N_DIRECTION",
            header.direction_count.get(),
        ),
        plain(offset_of!(PageHeader, records), "PAGE_N_RECS", header.records.get()),
        number(
            PAGE_HEADER + offset_of!(PageHeader, max_trx_id_or_autoinc),
            "PAGE_MAX_TRX_ID",
            header.max_trx_id_or_autoinc.get(),
        ),
        plain(offset_of!(PageHeader, level), "PAGE_LEVEL", header.level.get()),
        number(
            PAGE_HEADER + offset_of!(PageHeader, index_id),
            "PAGE_INDEX_ID",
            header.index_id.get(),
        ),
    ];
    let segments = [
        (offset_of!(PageHeader, leaf_segment), "PAGE_BTR_SEG_LEAF", header.leaf_segment),
        (offset_of!(PageHeader, top_segment), "PAGE_BTR_SEG_TOP", header.top_segment),
    ];
    for (offset, name, segment) in segments {
        if segment.page_no.get() != 0 {
            let address = FilAddr { page_no: segment.page_no, offset: segment.offset };
            let value = FieldValue::Address(address);
            fields.push(Field { offset: PAGE_HEADER + offset, name, value });
        }
    }
    fields
}

/// Fields of a page with a part of an off-page value.
pub(super) fn part_fields(page: &PageBytes) -> Vec<Field> {
    let at = |offset: usize, name, value| Field { offset: BODY + offset, name, value };
    match fil_header(page).page_type.get() {
        page_type::LOB_FIRST => {
            let header: &LobFirst = view(page, BODY);
            let plain = |offset, name, value| at(offset, name, FieldValue::Number(value));
            vec![
                plain(offset_of!(LobFirst, version), "OFFSET_VERSION", header.version.into()),
                plain(offset_of!(LobFirst, flags), "OFFSET_FLAGS", header.flags.into()),
                plain(
                    offset_of!(LobFirst, lob_version),
                    "OFFSET_LOB_VERSION",
                    header.lob_version.get().into(),
                ),
                plain(
                    offset_of!(LobFirst, data_len),
                    "OFFSET_DATA_LEN",
                    header.data_len.get().into(),
                ),
                at(offset_of!(LobFirst, used), "OFFSET_INDEX_LIST", FieldValue::List(header.used)),
                at(
                    offset_of!(LobFirst, free),
                    "OFFSET_INDEX_FREE_NODES",
                    FieldValue::List(header.free),
                ),
            ]
        }
        page_type::LOB_DATA => {
            let header: &LobData = view(page, BODY);
            let offset = BODY + offset_of!(LobData, data_len);
            vec![number(offset, "OFFSET_DATA_LEN", header.data_len.get())]
        }
        _ => {
            let header: &BlobHeader = view(page, BODY);
            let (part, next) = (offset_of!(BlobHeader, part_len), offset_of!(BlobHeader, next));
            let value = FieldValue::Page(header.next.get());
            vec![
                number(BODY + part, "BTR_BLOB_HDR_PART_LEN", header.part_len.get()),
                at(next, "BTR_BLOB_HDR_NEXT_PAGE_NO", value),
            ]
        }
    }
}
