//! Server files about tables: descriptions, tablespaces, collations.

use innodb::cfg::{Cfg, index_type};
use innodb::ids::PAGE_SIZE;
use values::Charset;
use values::collation::{CollationData, Contraction, Level, Verdict, Weights, WeightsBuilder};

use crate::{Inputs, input};

const T_CFG: &[u8] = include_bytes!("../../../innodb/testdata/mariadb-10.11/t.cfg");
const ORDERS_CFG: &[u8] = include_bytes!("../../../innodb/testdata/mariadb-10.11/orders.cfg");
const MYSQL_CFG: &[u8] = include_bytes!("../../../innodb/testdata/mysql-9.7/fresh.cfg");
const ALTERED_CFG: &[u8] = include_bytes!("../../../innodb/testdata/mysql-9.7/altered.cfg");
const T_IBD: &[u8] = include_bytes!("../../../innodb/testdata/mariadb-10.11/t.ibd");

pub(crate) fn cfgs() -> Inputs {
    let mut inputs =
        vec![input("t", T_CFG, b""), input("orders", ORDERS_CFG, b""), input("empty", b"", b"")];
    // In the version, a name, the numbers behind it, a column, its name, an index, a field.
    for size in [3, 9, 30, 60, 130, 400, T_CFG.len() - 1] {
        inputs.push(input(&format!("cut_at_{size}"), &T_CFG[..size], b""));
    }
    inputs.push(input("then_a_byte", T_CFG, b"\0"));
    inputs.push(input("mysql", MYSQL_CFG, b""));
    let mut older = Cfg::parse(MYSQL_CFG).unwrap();
    older.mysql.as_mut().unwrap().file_version = 7;
    inputs.push(input("mysql_8", &older.to_bytes(), b""));
    inputs.push(input("dropped_columns", ALTERED_CFG, b""));
    let changed = |name: &str, change: &dyn Fn(&mut Cfg)| {
        let mut cfg = Cfg::parse(T_CFG).unwrap();
        change(&mut cfg);
        input(name, &cfg.to_bytes(), b"")
    };
    inputs.extend([
        changed("no_columns", &|cfg| cfg.columns.clear()),
        changed("no_indexes", &|cfg| cfg.indexes.clear()),
        changed("no_fields", &|cfg| cfg.indexes[0].fields.clear()),
        changed("last_number", &|cfg| cfg.autoinc = u64::MAX),
        changed("small_pages", &|cfg| cfg.page_size = 4096),
        changed("redundant", &|cfg| cfg.table_flags = 0),
        changed("compact", &|cfg| cfg.table_flags = 1),
        changed("compressed", &|cfg| cfg.table_flags = 0x29),
        changed("descending", &|cfg| cfg.indexes[0].fields[0].descending = true),
        changed("prefixes", &|cfg| cfg.indexes[0].fields[0].prefix_len = u32::MAX),
        changed("special_indexes", &|cfg| {
            cfg.indexes[0].type_bits = index_type::FULLTEXT
                | index_type::SPATIAL
                | index_type::CORRUPT
                | index_type::VIRTUAL;
        }),
        changed("unknown_field", &|cfg| cfg.indexes[0].fields[0].name = "\u{e9}".repeat(90)),
        changed("many_unique", &|cfg| cfg.indexes[0].n_uniq = u32::MAX),
    ]);
    let mut long = T_CFG.to_vec();
    // The length of the host's name.
    long[4..8].fill(0xff);
    inputs.push(input("endless_name", &long, b""));
    let mut other = T_CFG.to_vec();
    other[3] = 2;
    inputs.push(input("other_version", &other, b""));
    inputs
}

/// Weights of Latin letters without case; `unit_bytes` a unit.
fn weights(unit_bytes: u8) -> Weights {
    let mut weights = WeightsBuilder::new(unit_bytes);
    for code in 0..0x100_u32 {
        let upper = (code as u8).to_ascii_uppercase();
        let units: &[u8] = match upper {
            0xad => &[],
            0xe6 => b"AE",
            _ => &[upper],
        };
        let wide = |unit: &u8| {
            let mut weight = vec![0; usize::from(unit_bytes)];
            weight[usize::from(unit_bytes) - 1] = *unit;
            weight
        };
        let weight: Vec<u8> = units.iter().flat_map(wide).collect();
        weights.push(code, &weight).unwrap();
    }
    weights.finish()
}

fn collation(unit_bytes: u8) -> CollationData {
    CollationData {
        name: "invented_ci".to_owned(),
        server_version: "0".to_owned(),
        charset: Charset::Latin1,
        pad_space: true,
        pad_unit: None,
        trims_char: false,
        weights: weights(unit_bytes),
        contractions: Vec::new(),
        lower_levels: Vec::new(),
        verdict: Verdict::Exact,
    }
}

pub(crate) fn collations() -> Inputs {
    let changed = |name: &str, change: &dyn Fn(&mut CollationData)| {
        let mut data = collation(2);
        change(&mut data);
        input(name, &data.to_bytes(), b"")
    };
    let contraction = |chars: &str, weight: Option<&[u8]>| Contraction {
        chars: chars.chars().map(u32::from).collect(),
        weight: weight.map(<[u8]>::to_vec),
    };
    let level = || Level { weights: weights(1), contractions: Vec::new() };
    let mut inputs = vec![
        changed("two_bytes_a_unit", &|_| ()),
        input("one_byte_a_unit", &collation(1).to_bytes(), b""),
        input("four_bytes_a_unit", &collation(4).to_bytes(), b""),
        changed("no_pad", &|data| data.pad_space = false),
        changed("pad_unit", &|data| data.pad_unit = Some(0x20)),
        changed("pad_unit_zero", &|data| data.pad_unit = Some(0)),
        changed("untested", &|data| data.verdict = Verdict::Untested),
        changed("refused", &|data| data.verdict = Verdict::Refused("it differs".to_owned())),
        changed("contraction", &|data| data.contractions = vec![contraction("ch", Some(b"\0I"))]),
        changed("ignored_contraction", &|data| data.contractions = vec![contraction("ch", None)]),
        changed("nested_contractions", &|data| {
            data.contractions = vec![contraction("ch", Some(b"\0I")), contraction("chs", None)];
        }),
        changed("endless_contraction", &|data| {
            data.contractions = vec![contraction(&"c".repeat(400), Some(&[0; 600]))];
        }),
        changed("contraction_of_nothing", &|data| data.contractions = vec![contraction("", None)]),
        changed("two_levels", &|data| data.lower_levels = vec![level()]),
        changed("eight_levels", &|data| data.lower_levels = (0..7).map(|_| level()).collect()),
        changed("nine_levels", &|data| data.lower_levels = (0..8).map(|_| level()).collect()),
        changed("no_weights", &|data| data.weights = WeightsBuilder::new(2).finish()),
        changed("other_charset", &|data| data.charset = Charset::Ascii),
    ];
    let whole = collation(2).to_bytes();
    // In the mark, a name, what is said of the pad, the weights.
    for size in [5, 14, 40, 60, whole.len() / 2, whole.len() - 1] {
        inputs.push(input(&format!("cut_at_{size}"), &whole[..size], b""));
    }
    inputs.push(input("then_a_byte", &whole, b"\0"));
    inputs
}

/// A tablespace of so many pages, changed; the first byte of an input says whether its pages get the
/// checksums of what they hold.
fn space(name: &str, seal: u8, pages: usize, change: &dyn Fn(&mut [u8])) -> (String, Vec<u8>) {
    let mut file = T_IBD[..pages * PAGE_SIZE].to_vec();
    change(&mut file);
    input(name, &[seal], &file)
}

/// Sets the big-endian number at a byte of a page.
fn set(page: usize, offset: usize, number: &'static [u8]) -> impl Fn(&mut [u8]) {
    move |file| {
        let at = page * PAGE_SIZE + offset;
        file[at..at + number.len()].copy_from_slice(number);
    }
}

/// Pages: 0 the header and extents, 1 the change buffer's bitmap, 2 segments, 3 the root of the
/// clustered index. Offsets are those of `docs/reference/format.md`.
pub(crate) fn spaces() -> Inputs {
    let all = T_IBD.len() / PAGE_SIZE;
    vec![
        space("whole", 0, all, &|_| ()),
        space("header_alone", 0, 1, &|_| ()),
        space("no_root", 0, 3, &|_| ()),
        space("half_a_page", 0, 1, &|_| ()).cut(PAGE_SIZE / 2),
        space("another_size", 1, 1, &set(0, 46, &[0xff; 4])),
        space("another_flags", 1, 1, &set(0, 54, &[0, 0, 0, 0x21])),
        space("another_number", 1, 1, &set(0, 34, &[0xff; 4])),
        space("wrong_checksum", 0, 1, &set(0, 100, &[1])),
        space("extents_in_a_circle", 1, 1, &set(0, 158, &[0, 0, 0, 0, 0, 158])),
        space("extent_list_outside", 1, 1, &set(0, 66, &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff])),
        space("segments_in_a_circle", 1, 3, &set(2, 38, &[0, 0, 0, 2, 0, 38])),
        space("segment_pages_outside", 1, 3, &set(2, 50 + 64, &[0xff; 12])),
        space("not_a_segment_page", 1, 3, &set(2, 24, &[0x45, 0xbf])),
        space("deep_root", 1, 4, &set(3, 38 + 26, &[0xff, 0xff])),
        space("no_heap", 1, 4, &set(3, 38 + 4, &[0, 0])),
        space("records_go_round", 1, 4, &set(3, 97, &[0, 0])),
        space("record_outside", 1, 4, &set(3, 97, &[0x7f, 0xff])),
        space("record_before_the_first", 1, 4, &set(3, 97, &[0xff, 0xd0])),
        space("node_of_nothing", 1, 5, &|file| {
            // A level above the leaves, whose first record is the end; its last bytes name a page.
            set(3, 38 + 26, &[0, 1])(file);
            set(3, 97, &[0, 13])(file);
            set(3, 116, &[0, 0, 0, 4])(file);
        }),
        space("many_slots", 1, 4, &set(3, 38, &[0xff, 0xff])),
        space("heap_beyond_the_page", 1, 4, &set(3, 38 + 2, &[0xff, 0xff])),
        space("another_index", 1, 4, &set(3, 38 + 28, &[0xff; 8])),
    ]
}

/// Takes bytes off an input's end.
trait Cut {
    fn cut(self, bytes: usize) -> Self;
}

impl Cut for (String, Vec<u8>) {
    fn cut(mut self, bytes: usize) -> Self {
        self.1.truncate(self.1.len() - bytes);
        self
    }
}
