//! Finding out how the fields of a file lie: of MariaDB by its root, its metadata and its description, of
//! MySQL by its description.

use crate::cfg::{Cfg, CfgField, CfgIndex};
use crate::ids::PageNo;
use crate::index_page::index_header;
use crate::instant::layout::{OldField, OldLayout, VersionMark, places};
use crate::instant::{metadata, versions};
use crate::leaves::{LeafPointers, corrupt};
use crate::page::{fil_header, page_type};
use crate::record::RecordShape;
use crate::source::{PageSource, ReadError, page_buffer, read_page};

/// True if the clustered index of a file with this description was altered instantly.
pub fn is_altered(source: &dyn PageSource, old: &Cfg) -> Result<bool, ReadError> {
    let Some(index) = old.indexes.first().filter(|_| old.mysql.is_none()) else {
        return Ok(old.has_row_versions());
    };
    let mut page = page_buffer();
    read_page(source, index.root, &mut page)?;
    Ok(fil_header(&page).page_type.get() == page_type::INSTANT)
}

impl OldLayout {
    /// That of the clustered index of a file; none if it was not altered so. `old` describes the file
    /// and `new` the table as it would be made now, whose records have this `shape`.
    ///
    /// Errors: metadata that contradicts itself or the description.
    pub fn read(
        source: &dyn PageSource,
        old: &Cfg,
        new: &Cfg,
        shape: &RecordShape,
        pages: u32,
    ) -> Result<Option<OldLayout>, ReadError> {
        let Some(index) = old.indexes.first() else { return Ok(None) };
        if !is_altered(source, old)? {
            return Ok(None);
        }
        if let Some(mysql) = &old.mysql {
            return versions::read(old, index, mysql, new, shape).map(Some);
        }
        let mut root = page_buffer();
        read_page(source, index.root, &mut root)?;
        let core = usize::from(index_header(&root).direction.get() >> 3);
        let fields = live_fields(old, index);
        let first_column = shape.key_fields + metadata::SYSTEM_FIELDS;
        let is_missing = |at: usize, field: &Option<OldField>| at < first_column && field.is_none();
        if core > fields.len()
            || core < first_column
            || fields.iter().enumerate().any(|(at, field)| is_missing(at, field))
        {
            let expected = "fields of the index, its key and system columns among them";
            return Err(corrupt(index.root, 50, "PAGE_INSTANT", core as u64, expected));
        }
        let node = node_shape(index, &fields, core, shape)?;
        let first = LeafPointers::with_node(source, PageNo(index.root), node, pages)?
            .advance()?
            .map(|pointer| pointer.leaf);
        let Some(first) = first else {
            return Err(corrupt(index.root, 0, "leaves", 0, "a leaf with the metadata"));
        };
        let version_max = fields.len() - core;
        let (mark, places) = (VersionMark::FieldCount, places(index, new, shape)?);
        let mut layout = OldLayout { fields: Vec::new(), mark, version_max, places };
        metadata::read(source, first, fields, first_column, &mut layout)?;
        Ok(Some(layout))
    }
}

/// The fields of an index, as far as their columns are there.
fn live_fields(cfg: &Cfg, index: &CfgIndex) -> Vec<Option<OldField>> {
    let column = |name: &str| cfg.column_position(name).map(|at| &cfg.columns[at]);
    let field = |of: &CfgField| Some(OldField::of(column(&of.name)?, of.fixed_len));
    index.fields.iter().map(field).collect()
}

/// Shape of the node pointers. Their null bits are those of a record of before, of which some may be of
/// dropped columns.
fn node_shape(
    index: &CfgIndex,
    fields: &[Option<OldField>],
    core: usize,
    shape: &RecordShape,
) -> Result<RecordShape, ReadError> {
    let nullable = |fields: &[Option<OldField>]| {
        fields.iter().flatten().filter(|field| field.nullable).count()
    };
    let dropped =
        |fields: &[Option<OldField>]| fields.iter().filter(|field| field.is_none()).count();
    let known = nullable(&fields[..core]);
    let all = (index.n_nullable as usize).saturating_sub(nullable(fields));
    let least = known + all.saturating_sub(dropped(&fields[core..]));
    let most = known + all.min(dropped(&fields[..core]));
    let has_lengths = shape.fields[..shape.key_fields].iter().any(|field| field.fixed_len == 0);
    if has_lengths && least.div_ceil(8) != most.div_ceil(8) {
        let expected = "dropped columns that are known to be nullable or not";
        return Err(corrupt(index.root, 0, "nullable columns", most as u64, expected));
    }
    Ok(RecordShape { null_bytes: most.div_ceil(8), ..shape.to_node() })
}
