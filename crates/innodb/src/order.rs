//! The order of an index: how two stored keys compare.
//!
//! NULL is lowest, a descending field turns everything around, NULL included. Numbers, dates and binary values compare
//! as bytes; FLOAT and DOUBLE as numbers; text as its collation says, which the caller knows.
//!
//! The verifier checks whole files by it, and debug builds every record that is pushed.
//!
//! Source: MariaDB 10.11, storage/innobase/rem/rem0cmp.cc.

use core::cmp::Ordering;
use std::sync::Arc;

use crate::cfg::{Cfg, CfgColumn};
use crate::record::{FieldShape, FieldSpan, RecordShape};

/// Compares two stored values of one collation, as the server does.
pub type Compare = Arc<dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync>;

/// The collations a caller can compare: by the server's collation id, and whether the values lack
/// spaces at their end that count (CHAR of a varying character length).
///
/// A field whose collation is not known is checked as far as equal bytes go, no further; the report names it.
pub type Collations<'a> = &'a dyn Fn(u32, bool) -> Option<Compare>;

/// How values of one field compare, smaller first.
#[derive(Clone)]
pub(crate) enum FieldOrder {
    /// Fixed length: as bytes.
    Bytes,
    /// Varying length: as bytes, a prefix before what it is a prefix of.
    VarBytes,
    /// 4-byte IEEE, little-endian.
    Float,
    /// 8-byte IEEE, little-endian.
    Double,
    /// By a collation.
    Text(Compare),
    /// By a collation: CHAR of a multi-byte character set, with so many characters.
    Char(Compare, usize),
    /// By a collation nobody gave us.
    Unknown,
}

/// One field of a key.
#[derive(Clone, Debug)]
pub(crate) struct KeyField {
    pub order: FieldOrder,
    pub descending: bool,
}

/// A field whose order could not be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncheckedField {
    /// Name of the index.
    pub index: String,
    /// Name of the column.
    pub column: String,
    /// Collation id.
    pub collation: u32,
}

/// How two keys compare, and how many leading fields are known to be equal and not NULL.
pub(crate) struct Comparison {
    /// `None` when a collation is not known.
    pub ordering: Option<Ordering>,
    /// Leading fields that compare equal and are not NULL.
    pub equal_fields: usize,
}

/// A record among other bytes, as those of its page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordAt<'a> {
    pub bytes: &'a [u8],
    /// Byte at which its data starts.
    pub origin: usize,
}

/// The order of an index, over all the fields that make its records differ.
#[derive(Clone, Debug)]
pub(crate) struct KeyOrder {
    pub fields: Vec<KeyField>,
}

/// Main types (`DATA_*`) by how they compare.
mod main_type {
    pub(super) const VARCHAR: u32 = 1;
    pub(super) const CHAR: u32 = 2;
    pub(super) const BINARY: u32 = 4;
    pub(super) const BLOB: u32 = 5;
    pub(super) const FLOAT: u32 = 9;
    pub(super) const DOUBLE: u32 = 10;
    pub(super) const VARMYSQL: u32 = 12;
    pub(super) const MYSQL: u32 = 13;
    pub(super) const GEOMETRY: u32 = 14;
}

/// Bytes of the longest CHAR: 255 characters of 4.
const CHAR_BYTES_MAX: usize = 1_020;

/// `prtype` bit: compare as bytes (`DATA_BINARY_TYPE`).
const BINARY_TYPE: u32 = 1024;
/// Collation `latin1_swedish_ci`, the only one of main types 1 and 2.
const LATIN1_SWEDISH_CI: u32 = 8;
/// Collation `binary`.
const BINARY_COLLATION: u32 = 63;
/// MySQL's collation `utf8mb4_0900_bin`, which does not pad.
const UTF8MB4_0900_BIN: u32 = 309;

/// The collation by which a column compares, or `None` if it compares without one.
pub fn collation_of(column: &CfgColumn) -> Option<u32> {
    // Bits 16 to 30, the highest is another flag (`dtype_get_charset_coll`).
    let collation = column.prtype >> 16 & 0x7FFF;
    match column.mtype {
        main_type::VARCHAR | main_type::CHAR if collation == 0 => Some(LATIN1_SWEDISH_CI),
        main_type::VARCHAR | main_type::CHAR | main_type::VARMYSQL | main_type::MYSQL => {
            Some(collation)
        }
        main_type::BLOB if column.prtype & BINARY_TYPE == 0 => Some(collation),
        _ => None,
    }
    .filter(|collation| *collation != BINARY_COLLATION)
}

impl core::fmt::Debug for FieldOrder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            FieldOrder::Bytes => "Bytes",
            FieldOrder::VarBytes => "VarBytes",
            FieldOrder::Float => "Float",
            FieldOrder::Double => "Double",
            FieldOrder::Text(_) => "Text",
            FieldOrder::Char(..) => "Char",
            FieldOrder::Unknown => "Unknown",
        })
    }
}

impl KeyOrder {
    /// The order by `fields` of an index; collations not known are added to `unchecked`.
    pub(crate) fn new(
        cfg: &Cfg,
        index: &str,
        fields: &[FieldShape],
        collations: Collations<'_>,
        unchecked: &mut Vec<UncheckedField>,
    ) -> KeyOrder {
        let order = |field: &FieldShape| {
            let column = &cfg.columns[field.column];
            match collation_of(column) {
                Some(collation) => {
                    match (collations(collation, is_trimmed(column, field)), bytewise(collation)) {
                        (Some(compare), _) => FieldOrder::Text(compare),
                        (None, Some(compare)) => match trimmed_chars(column, field) {
                            Some(_) if collation == UTF8MB4_0900_BIN => {
                                FieldOrder::Text(Arc::new(compare_without_spaces))
                            }
                            Some(chars) => FieldOrder::Char(compare, chars),
                            None => FieldOrder::Text(compare),
                        },
                        (None, None) => {
                            unchecked.push(UncheckedField {
                                index: index.to_owned(),
                                column: column.name.clone(),
                                collation,
                            });
                            FieldOrder::Unknown
                        }
                    }
                }
                None => match column.mtype {
                    main_type::FLOAT => FieldOrder::Float,
                    main_type::DOUBLE => FieldOrder::Double,
                    main_type::BINARY | main_type::BLOB | main_type::GEOMETRY => {
                        FieldOrder::VarBytes
                    }
                    _ if field.fixed_len == 0 => FieldOrder::VarBytes,
                    _ => FieldOrder::Bytes,
                },
            }
        };
        let mut order = order;
        let fields = fields
            .iter()
            .map(|field| KeyField { order: order(field), descending: field.descending })
            .collect();
        KeyOrder { fields }
    }

    /// Compares the keys of two records; `a` and `b` are the spans of their fields.
    pub(crate) fn compare(
        &self,
        a_page: &[u8],
        a: &[FieldSpan],
        b_page: &[u8],
        b: &[FieldSpan],
    ) -> Comparison {
        let mut equal_fields = 0;
        let mut without_null = true;
        for (field, (a, b)) in self.fields.iter().zip(a.iter().zip(b)) {
            let ordering = match (a.of(a_page), b.of(b_page)) {
                (None, None) => {
                    without_null = false;
                    continue;
                }
                (None, Some(_)) => Some(Ordering::Less),
                (Some(_), None) => Some(Ordering::Greater),
                (Some(a), Some(b)) => field.order.compare(a, b),
            };
            match ordering {
                Some(Ordering::Equal) => equal_fields += usize::from(without_null),
                Some(other) if field.descending => {
                    return Comparison { ordering: Some(other.reverse()), equal_fields };
                }
                other => return Comparison { ordering: other, equal_fields },
            }
        }
        Comparison { ordering: Some(Ordering::Equal), equal_fields }
    }

    /// True if the key of record `b` is that of `a` or a greater one, as far as collations are known.
    ///
    /// Each record is its bytes, and the byte of them at which its data starts. Allocates: for assertions.
    pub(crate) fn follows(&self, shape: &RecordShape, a: RecordAt<'_>, b: RecordAt<'_>) -> bool {
        let (mut a_spans, mut b_spans) = (Vec::new(), Vec::new());
        let is_record = shape.spans(a.bytes, a.origin, &mut a_spans).is_ok()
            && shape.spans(b.bytes, b.origin, &mut b_spans).is_ok();
        is_record
            && self
                .compare(a.bytes, &a_spans, b.bytes, &b_spans)
                .ordering
                .is_none_or(|ordering| ordering != Ordering::Greater)
    }

    /// Checksum of a key, the same for a leaf record and for the node pointer made from it.
    pub(crate) fn checksum(&self, page: &[u8], spans: &[FieldSpan]) -> u32 {
        spans.iter().take(self.fields.len()).fold(0, |sum, span| match span.of(page) {
            None => crc32c::crc32c_append(sum, &[0xFF; 3]),
            Some(bytes) => {
                let sum = crc32c::crc32c_append(sum, &(bytes.len() as u16).to_be_bytes());
                crc32c::crc32c_append(sum, bytes)
            }
        })
    }
}

impl FieldOrder {
    fn compare(&self, a: &[u8], b: &[u8]) -> Option<Ordering> {
        match self {
            FieldOrder::Bytes | FieldOrder::VarBytes => Some(a.cmp(b)),
            FieldOrder::Float => Some(number(float(a), float(b))),
            FieldOrder::Double => Some(number(double(a), double(b))),
            FieldOrder::Text(compare) => Some(if a == b { Ordering::Equal } else { compare(a, b) }),
            FieldOrder::Char(compare, chars) => {
                Some(if a == b { Ordering::Equal } else { compare_chars(compare, *chars, a, b) })
            }
            FieldOrder::Unknown => (a == b).then_some(Ordering::Equal),
        }
    }
}

/// True if values are stored without spaces at their end that count: those of CHAR in a character
/// set of varying length. (In utf16 they are stored, but to a number of bytes, not characters.)
fn is_trimmed(column: &CfgColumn, field: &FieldShape) -> bool {
    column.mtype == main_type::MYSQL && field.fixed_len == 0
}

/// Characters of a CHAR that is stored without the spaces at its end: of a character set of 1 to
/// 3 or 4 bytes, utf8mb3 or utf8mb4.
fn trimmed_chars(column: &CfgColumn, field: &FieldShape) -> Option<usize> {
    let (longest, shortest) = (column.mbminmaxlen / 5, column.mbminmaxlen % 5);
    let is_trimmed = column.mtype == main_type::MYSQL
        && field.fixed_len == 0
        && shortest == 1
        && (3..=4).contains(&longest);
    let bytes = if field.prefix_len == 0 { column.len } else { field.prefix_len };
    is_trimmed.then(|| (bytes / longest) as usize)
}

/// Compares with the spaces that are not stored, which a collation without padding counts.
///
/// Source: MariaDB 10.11, rem0cmp.cc, `cmp_data`, CHAR of a varying character length.
fn compare_chars(compare: &Compare, chars: usize, a: &[u8], b: &[u8]) -> Ordering {
    let (mut a_padded, mut b_padded) = ([b' '; CHAR_BYTES_MAX], [b' '; CHAR_BYTES_MAX]);
    compare(pad(a, chars, &mut a_padded), pad(b, chars, &mut b_padded))
}

/// A value with spaces up to so many characters.
fn pad<'a>(value: &'a [u8], chars: usize, padded: &'a mut [u8; CHAR_BYTES_MAX]) -> &'a [u8] {
    let continued = value.iter().filter(|byte| **byte & 0xC0 == 0x80).count();
    let missing = chars.saturating_sub(value.len() - continued);
    let len = value.len() + missing;
    if missing == 0 || len > CHAR_BYTES_MAX {
        return value;
    }
    padded[..value.len()].copy_from_slice(value);
    &padded[..len]
}

/// Neither less nor greater is equal: -0 and 0, and whatever meets a NaN.
fn number(a: Option<f64>, b: Option<f64>) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn float(bytes: &[u8]) -> Option<f64> {
    bytes.try_into().ok().map(|bytes| f32::from_le_bytes(bytes).into())
}

fn double(bytes: &[u8]) -> Option<f64> {
    bytes.try_into().ok().map(f64::from_le_bytes)
}

/// The `*_bin` collations whose characters order as their bytes, which need no weights.
///
/// Ids from `information_schema.COLLATIONS`; those without padding are 1,024 higher.
fn bytewise(collation: u32) -> Option<Compare> {
    /// latin1, utf8mb4, ascii, latin2, utf8mb3.
    const BIN: [u32; 5] = [47, 46, 65, 77, 83];
    if BIN.contains(&collation) {
        return Some(Arc::new(compare_padded));
    }
    let is_no_pad = match collation {
        UTF8MB4_0900_BIN => true,
        _ => BIN.contains(&collation.checked_sub(1_024)?),
    };
    is_no_pad.then(|| Arc::new(|a: &[u8], b: &[u8]| a.cmp(b)) as Compare)
}

/// Compares bytes without the spaces at their end, as MySQL does in CHAR columns without padding.
///
/// Source: MySQL 9.7, storage/innobase/rem/rem0cmp.cc, `innobase_mysql_cmp`.
fn compare_without_spaces(a: &[u8], b: &[u8]) -> Ordering {
    let trimmed =
        |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    a[..trimmed(a)].cmp(&b[..trimmed(b)])
}

/// Compares bytes as if the shorter went on with spaces.
fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then_with(|| {
        let rest = |bytes: &[u8]| bytes[common..].iter().find(|byte| **byte != b' ').copied();
        let a = rest(a).map_or(Ordering::Equal, |byte| byte.cmp(&b' '));
        let b = rest(b).map_or(Ordering::Equal, |byte| b' '.cmp(&byte));
        a.then(b)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::ids::PAGE_SIZE;
    use crate::page::PageBytes;

    fn page_of(values: &[Option<&[u8]>]) -> (Box<PageBytes>, Vec<FieldSpan>) {
        let mut page = Box::new([0; PAGE_SIZE]);
        let mut start = 0;
        let mut spans = Vec::new();
        for value in values {
            let bytes = value.unwrap_or_default();
            page[start..start + bytes.len()].copy_from_slice(bytes);
            let is_null = value.is_none();
            spans.push(FieldSpan { start, len: bytes.len(), is_null, is_external: false });
            start += bytes.len();
        }
        (page, spans)
    }

    fn compare(
        order: FieldOrder,
        descending: bool,
        a: Option<&[u8]>,
        b: Option<&[u8]>,
    ) -> Option<Ordering> {
        let order = KeyOrder { fields: vec![KeyField { order, descending }] };
        let ((a_page, a), (b_page, b)) = (page_of(&[a]), page_of(&[b]));
        order.compare(&a_page[..], &a, &b_page[..], &b).ordering
    }

    #[test]
    fn null_is_lowest_unless_descending() {
        let less = Some(Ordering::Less);
        assert_eq!(compare(FieldOrder::Bytes, false, None, Some(b"\0")), less);
        assert_eq!(compare(FieldOrder::Bytes, true, Some(b"\0"), None), less);
        assert_eq!(compare(FieldOrder::Bytes, true, Some(b"b"), Some(b"a")), less);
        assert_eq!(compare(FieldOrder::VarBytes, false, Some(b"a"), Some(b"a\0")), less);
    }

    #[test]
    fn numbers_compare_as_numbers() {
        let bytes = |number: f64| number.to_le_bytes().to_vec();
        let cases = [(-2.0, -1.0), (-1.0, 0.0), (0.5, 1e300)];
        for (a, b) in cases {
            let found = compare(FieldOrder::Double, false, Some(&bytes(a)), Some(&bytes(b)));
            assert_eq!(found, Some(Ordering::Less), "{a} {b}");
        }
        let zeros = compare(FieldOrder::Double, false, Some(&bytes(-0.0)), Some(&bytes(0.0)));
        assert_eq!(zeros, Some(Ordering::Equal));
    }

    #[test]
    fn a_bin_collation_pads_with_spaces() {
        let padded = bytewise(46).unwrap();
        assert_eq!(padded(b"a", b"a  "), Ordering::Equal);
        assert_eq!(padded(b"a", b"a\t"), Ordering::Greater);
        assert_eq!(padded(b"a \t", b"a"), Ordering::Less);
        assert_eq!(padded(b"a", b"ab"), Ordering::Less);
        let no_pad = bytewise(1_070).unwrap();
        assert_eq!(no_pad(b"a", b"a "), Ordering::Less);
        let no_pad_of_mysql = bytewise(309).unwrap();
        assert_eq!(no_pad_of_mysql(b"a", b"a "), Ordering::Less);
        assert_eq!(compare_without_spaces(b"a", b"a "), Ordering::Equal);
        assert_eq!(compare_without_spaces(b"a ", b"a\t"), Ordering::Less);
        assert!(bytewise(45).is_none() && bytewise(8).is_none());
    }

    #[test]
    fn a_char_compares_with_the_spaces_it_is_stored_without() {
        let no_pad = FieldOrder::Char(bytewise(1_070).unwrap(), 3);
        let compare = |a: &str, b: &str| no_pad.compare(a.as_bytes(), b.as_bytes());
        // CHAR(3): stored in 3 bytes or more, so these have 2 and 3 characters.
        assert_eq!(compare("\u{E9}a", "\u{E9}a\t"), Some(Ordering::Greater));
        assert_eq!(compare("\u{E9}a", "\u{E9}a "), Some(Ordering::Equal));
        assert_eq!(compare("abc", "abd"), Some(Ordering::Less));
    }

    #[test]
    fn an_unknown_collation_is_checked_while_bytes_are_equal() {
        assert_eq!(compare(FieldOrder::Unknown, false, Some(b"a"), Some(b"b")), None);
        let equal = compare(FieldOrder::Unknown, false, Some(b"a"), Some(b"a"));
        assert_eq!(equal, Some(Ordering::Equal));
    }
}
