//! How the pages of one table must look, whichever of them they are: known from its roots and its
//! `.cfg` before any other page is there.

use crate::cfg::{Cfg, CfgIndex, index_type};
use crate::ids::{FIL_NULL, IndexId};
use crate::order::{Collations, FieldOrder, KeyField, KeyOrder, UncheckedField};
use crate::page::page_type;
use crate::record::RecordShape;
use crate::space_format::SpaceFormat;
use crate::space_map::{IndexRoot, SpaceMap};
use crate::verify::corrupt::{Corrupt, Rule, Violations};
use crate::verify::plan::RecordPlan;
use crate::verify::{Context, Writer};

/// How the pages of one table must look.
#[derive(Clone)]
pub(crate) struct TableRules {
    pub writer: Writer,
    pub format: SpaceFormat,
    pub space_id: u32,
    /// Parallel to [`SpaceMap::indexes`].
    pub indexes: Vec<IndexRules>,
    /// Of MySQL's dictionary pages.
    pub dictionary: Option<IndexRules>,
    pub unchecked: Vec<UncheckedField>,
    pub notes: Vec<String>,
}

/// How the pages of one index must look.
#[derive(Clone)]
pub(crate) struct IndexRules {
    pub format: SpaceFormat,
    pub name: String,
    pub id: IndexId,
    pub root: u32,
    /// `FIL_PAGE_TYPE` of the root.
    pub root_type: u16,
    pub is_clustered: bool,
    /// Altered instantly, or may be: its rows have several forms.
    pub is_altered: bool,
    /// Dropped by the server, which keeps its pages until purge comes to them: no `.cfg` names it.
    pub is_dropped: bool,
    /// Leading fields that are unique, in a unique secondary index.
    pub unique_fields: Option<usize>,
    pub order: KeyOrder,
    pub leaf: Option<RecordPlan>,
    pub node: Option<RecordPlan>,
}

impl TableRules {
    /// Brings the roots in `map` and the `.cfg` together.
    pub(crate) fn bind(
        map: &SpaceMap,
        context: Context<'_>,
        violations: &mut Violations,
    ) -> TableRules {
        let mut table = TableRules {
            writer: context.writer,
            format: map.format,
            space_id: map.header.space_id.get(),
            indexes: Vec::with_capacity(map.indexes.len()),
            dictionary: map.dictionary.map(|root| IndexRules::of_dictionary(map.format, root)),
            unchecked: Vec::new(),
            notes: Vec::new(),
        };
        if context.cfg.is_none() {
            table
                .notes
                .push("without a .cfg, keys, lengths and node pointers are unchecked".into());
        }
        for (index, &root) in map.indexes.iter().enumerate() {
            let known = context.cfg.and_then(|cfg| {
                let found = cfg.indexes.iter().find(|known| known.root == root.root)?;
                Some((cfg, found))
            });
            let is_dropped =
                context.writer == Writer::Server && context.cfg.is_some() && known.is_none();
            if is_dropped {
                table.notes.push(format!(
                    "index with id {} was dropped, and its pages are not purged yet",
                    root.id.0
                ));
            } else if context.cfg.is_some() && known.is_none_or(|(_, known)| known.id != root.id) {
                let seen = format!("root of an index with id {}", root.id.0);
                let expected = match known {
                    Some((_, known)) => format!("{}, the id of {}", known.id.0, known.name),
                    None => "a root that the .cfg names".into(),
                };
                violations.push(Corrupt::at(root.root, 66, Rule::Root, seen, expected));
            }
            let rules = table.rules(index, root, known, context.collations);
            table.indexes.push(IndexRules { is_dropped, ..rules });
        }
        let roots = context.cfg.map_or(&[][..], |cfg| &cfg.indexes);
        for known in roots.iter().filter(|known| known.root != FIL_NULL) {
            if !table.indexes.iter().any(|rules| rules.root == known.root) {
                let seen = format!("page is not the root of {}", known.name);
                let expected = "a root page that its segment names first";
                violations.push(Corrupt::page(known.root, Rule::Root, seen, expected));
            }
        }
        table
    }

    fn rules(
        &mut self,
        index: usize,
        root: IndexRoot,
        known: Option<(&Cfg, &CfgIndex)>,
        collations: Collations<'_>,
    ) -> IndexRules {
        // Only the `.cfg` says it of a table of MySQL.
        let is_altered = match self.format {
            SpaceFormat::MariaDb => root.page_type == page_type::INSTANT,
            SpaceFormat::MySql => known.is_none_or(|(cfg, _)| cfg.has_row_versions()),
        };
        let mut rules = IndexRules {
            format: self.format,
            name: known.map_or(format!("id {}", root.id.0), |(_, known)| known.name.clone()),
            id: root.id,
            root: root.root,
            root_type: root.page_type,
            is_clustered: index == 0,
            is_altered: index == 0 && is_altered,
            is_dropped: false,
            unique_fields: None,
            order: KeyOrder { fields: Vec::new() },
            leaf: None,
            node: None,
        };
        let Some((cfg, known)) = known else { return rules };
        let shape = self.readable_shape(cfg, known, &rules);
        let Some(mut shape) = shape else { return rules };
        if self.writer == Writer::Server {
            // Nobody but us reads the records of a server's own file here.
            shape.fields.iter_mut().for_each(|field| field.len_max = u32::MAX);
        }
        let keys = &shape.fields[..shape.key_fields];
        rules.is_clustered = known.is_clustered();
        rules.unique_fields =
            (known.is_unique() && !known.is_clustered()).then_some(known.n_uniq as usize);
        rules.order = KeyOrder::new(cfg, &known.name, keys, collations, &mut self.unchecked);
        rules.node = Some(RecordPlan::new(shape.to_node(), &rules.order, None));
        rules.leaf = Some(RecordPlan::new(shape, &rules.order, rules.unique_fields));
        rules
    }

    /// The shape of the records of an index, if they are of a kind this crate reads.
    fn readable_shape(
        &mut self,
        cfg: &Cfg,
        index: &CfgIndex,
        rules: &IndexRules,
    ) -> Option<RecordShape> {
        let why = if rules.is_altered {
            "the table was altered with ALGORITHM=INSTANT".to_owned()
        } else if index.type_bits & index_type::SPATIAL != 0 || rules.root_type == page_type::RTREE
        {
            "it is SPATIAL".to_owned()
        } else {
            match RecordShape::leaf(cfg, index) {
                Ok(shape) => return Some(shape),
                Err(error) => error.to_string(),
            }
        };
        let name = &index.name;
        self.notes.push(format!("keys, lengths and node pointers of {name} are unchecked: {why}"));
        None
    }

    pub(crate) fn index_by_id(&self, id: u64) -> Option<usize> {
        self.indexes.iter().position(|rules| rules.id.0 == id)
    }
}

/// Bytes of the fields of MySQL's dictionary: type and id, which are the key; transaction and roll pointer; the
/// text's length, and the compressed text's; that text. Source: MySQL 9.7, storage/innobase/dict/dict0dict.cc,
/// `dict_sdi_create_idx_in_mem`.
const DICTIONARY_FIELDS: [u32; 7] = [4, 8, 6, 7, 4, 4, 0];

impl IndexRules {
    fn of_dictionary(format: SpaceFormat, root: IndexRoot) -> IndexRules {
        let shape = RecordShape::plain(&DICTIONARY_FIELDS, 2);
        let fields = [(); 2].map(|()| KeyField { order: FieldOrder::Bytes, descending: false });
        let order = KeyOrder { fields: fields.into() };
        IndexRules {
            format,
            name: "the dictionary".to_owned(),
            id: IndexId(u64::MAX),
            root: root.root,
            root_type: root.page_type,
            is_clustered: true,
            is_altered: false,
            is_dropped: false,
            unique_fields: None,
            leaf: Some(RecordPlan::new(shape, &order, None)),
            node: None,
            order,
        }
    }
}
