//! The `.cfg` file that `FLUSH TABLES .. FOR EXPORT` writes and IMPORT TABLESPACE reads.
//!
//! ```text
//! version | host | table | autoinc | page size | table flags | MySQL: more of the table
//! columns, the three system columns last; MySQL: more of each
//! MySQL: the dictionary index | indexes, clustered first, each with its fields
//! ```
//!
//! Integers are big-endian; text is a 4-byte length, which counts the final NUL, and bytes.
//!
//! Source: MariaDB 10.11 and MySQL 9.7, storage/innobase/row/row0quiesce.cc.

mod mysql;

pub(crate) use mysql::altered;
pub use mysql::{MySqlColumn, MySqlTable, NO_VERSION};

use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::ids::{IndexId, PAGE_SIZE};
use crate::space_format::SpaceFormat;

/// The only version of the file that MariaDB writes (`IB_EXPORT_CFG_VERSION_V1`).
const VERSION_MARIADB: u32 = 1;
/// The versions that MySQL from 8.0.29 on writes (`IB_EXPORT_CFG_VERSION_V7`, `_V8`): 8.0 and 8.4 the older one, 9.7
/// the newer one, whose row versions have two bytes. Earlier ones have other fields.
const VERSIONS_MYSQL: RangeInclusive<u32> = 7..=8;

/// A `.cfg` file: a table as InnoDB itself sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    /// Host that exported the table.
    pub host: String,
    /// `database/table`, in file name encoding.
    pub table: String,
    /// Next AUTO_INCREMENT value; 0 is none. The only field a loader changes.
    pub autoinc: u64,
    /// Page size in bytes.
    pub page_size: u32,
    /// `dict_table_t::flags`. See [`table_flags`].
    pub table_flags: u32,
    /// Stored columns, then DB_ROW_ID, DB_TRX_ID and DB_ROLL_PTR. Virtual columns are left out.
    pub columns: Vec<CfgColumn>,
    /// Indexes, the clustered one first.
    pub indexes: Vec<CfgIndex>,
    /// The fields that only MySQL's file has.
    pub mysql: Option<MySqlTable>,
}

impl Cfg {
    /// Where each index of this table is among those of `other`; none where its rows are not stored
    /// as that one's. The clustered index of one that `is_altered` instantly has the same fields, and
    /// those of dropped columns, in any order.
    pub fn indexes_of_like(&self, other: &Cfg, is_altered: bool) -> Option<Vec<usize>> {
        let flags = |cfg: &Cfg| cfg.table_flags & !table_flags::DATA_DIRECTORY;
        // DROP INDEX leaves the longest prefix of an index in MariaDB's description of the column.
        let columns = |cfg: &Cfg| -> Vec<CfgColumn> {
            let stored =
                |column: &CfgColumn| CfgColumn { ord_part: 0, max_prefix: 0, ..column.clone() };
            cfg.columns.iter().map(stored).collect()
        };
        if flags(self) != flags(other)
            || columns(self) != columns(other)
            || self.indexes.len() != other.indexes.len()
        {
            return None;
        }
        let placed = |index: &CfgIndex, like: &CfgIndex| CfgIndex {
            id: like.id,
            space_id: like.space_id,
            root: like.root,
            ..index.clone()
        };
        let altered = |index: &CfgIndex, like: &CfgIndex| {
            let is_field = |field: &CfgField| like.fields.contains(field);
            let (fields, n_nullable) = (like.fields.clone(), like.n_nullable);
            let has_fields = index.fields.iter().all(is_field);
            has_fields && CfgIndex { fields, n_nullable, ..placed(index, like) } == *like
        };
        let is_like = |index: &CfgIndex, like: &CfgIndex| {
            placed(index, like) == *like
                || (is_altered && index.is_clustered() && altered(index, like))
        };
        let place = |index: &CfgIndex| other.indexes.iter().position(|like| is_like(index, like));
        let places: Vec<usize> = self.indexes.iter().filter_map(place).collect();
        (places.len() == self.indexes.len() && places.first() == Some(&0)).then_some(places)
    }
}

/// A column of a [`Cfg`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfgColumn {
    /// `prtype`: type code, flags, and from bit 16 the collation. See [`prtype`].
    pub prtype: u32,
    /// `mtype`: main type. See [`mtype`].
    pub mtype: u32,
    /// Longest value in bytes; for BLOB and TEXT 8 + the bytes of their length.
    pub len: u32,
    /// Bytes of the longest character * 5 + bytes of the shortest; 0 for numbers.
    pub mbminmaxlen: u32,
    /// Ordinal, from 0.
    pub ind: u32,
    /// Nonzero if an index orders by the column.
    pub ord_part: u32,
    /// Longest index prefix in bytes.
    pub max_prefix: u32,
    /// Name.
    pub name: String,
}

/// An index of a [`Cfg`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfgIndex {
    /// Id, as stamped on the pages.
    pub id: IndexId,
    /// Tablespace.
    pub space_id: u32,
    /// Root page; `FIL_NULL` for FULLTEXT.
    pub root: u32,
    /// See [`index_type`].
    pub type_bits: u32,
    /// Byte of a record at which DB_TRX_ID starts; 0 if it varies.
    pub trx_id_offset: u32,
    /// Columns the user wrote in the key.
    pub n_user: u32,
    /// Fields, from the first, that make an entry unique.
    pub n_uniq: u32,
    /// Nullable fields.
    pub n_nullable: u32,
    /// Name.
    pub name: String,
    /// Every field of a leaf record, in order.
    pub fields: Vec<CfgField>,
}

/// A field of a [`CfgIndex`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfgField {
    /// Longest prefix in bytes; 0 is the whole column.
    pub prefix_len: u32,
    /// Bytes of a value if constant, else 0.
    pub fixed_len: u32,
    /// True if larger values come first.
    pub descending: bool,
    /// Name of the column.
    pub name: String,
}

/// Bits of [`Cfg::table_flags`].
pub mod table_flags {
    /// COMPACT record format or newer; without it the row format is REDUNDANT.
    pub const COMPACT: u32 = 0x01;
    /// Compressed page size, 0 for uncompressed.
    pub const ZIP_MASK: u32 = 0x1E;
    /// Off-page columns keep no prefix in the record: DYNAMIC.
    pub const ATOMIC_BLOBS: u32 = 0x20;
    /// The file is not in the data directory.
    pub const DATA_DIRECTORY: u32 = 0x40;
    /// Pages are compressed one by one.
    pub const PAGE_COMPRESSION: u32 = 0x80;
    /// The whole value of a ROW_FORMAT=DYNAMIC table.
    pub const DYNAMIC_TABLE: u32 = COMPACT | ATOMIC_BLOBS;
    /// The whole value of a ROW_FORMAT=COMPACT table.
    pub const COMPACT_TABLE: u32 = COMPACT;
}

/// How the records of a table are stored; decides what stays in them of an off-page column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// 768 bytes and a reference.
    Compact,
    /// A reference.
    Dynamic,
}

/// Bits of [`CfgColumn::prtype`].
pub mod prtype {
    /// The column is NOT NULL.
    pub const NOT_NULL: u32 = 256;
    /// The column is UNSIGNED.
    pub const UNSIGNED: u32 = 512;
    /// The values of a column are bytes.
    pub const BINARY: u32 = 1024;
}

/// Values of [`CfgColumn::mtype`].
pub mod mtype {
    /// BLOB, TEXT, JSON.
    pub const BLOB: u32 = 5;
    /// System column.
    pub const SYS: u32 = 8;
    /// Spatial types.
    pub const GEOMETRY: u32 = 14;
    /// CHAR of any character set but latin1.
    pub const CHAR: u32 = 13;
    /// CHAR of latin1, BINARY, integers, system columns, FLOAT, DOUBLE.
    pub const FIXED: [u32; 6] = [2, 3, 6, SYS, 9, 10];
}

/// Bits of [`CfgIndex::type_bits`].
pub mod index_type {
    /// Rows are in this index.
    pub const CLUSTERED: u32 = 1;
    /// Unique.
    pub const UNIQUE: u32 = 2;
    /// Found corrupt.
    pub const CORRUPT: u32 = 16;
    /// FULLTEXT.
    pub const FULLTEXT: u32 = 32;
    /// SPATIAL.
    pub const SPATIAL: u32 = 64;
    /// Has a virtual column.
    pub const VIRTUAL: u32 = 128;
    /// MySQL: of the dictionary pages.
    pub const DICTIONARY: u32 = 256;
}

/// Most bytes of values that are stored as of one length (`DICT_MAX_FIXED_COL_LEN`).
const FIXED_LEN_MAX: u32 = 768;
/// Bit of MariaDB's `fixed_len`. MySQL has a number for it, 1 if values ascend.
const DESCENDING: u32 = 1 << 31;

impl CfgColumn {
    /// Bytes of every value; 0 if they vary.
    pub(crate) fn fixed_len(&self) -> u32 {
        let is_of_one_size = self.mbminmaxlen / 5 == self.mbminmaxlen % 5;
        let is_fixed = match self.mtype {
            mtype::CHAR => is_of_one_size || self.prtype & prtype::BINARY != 0,
            other => mtype::FIXED.contains(&other),
        };
        // Longer ones may go on off page.
        if is_fixed && self.len <= FIXED_LEN_MAX { self.len } else { 0 }
    }

    /// True if values can be NULL.
    pub fn is_nullable(&self) -> bool {
        self.prtype & prtype::NOT_NULL == 0
    }

    /// True if lengths of 128 bytes and more take two bytes in a record (`DATA_BIG_COL`).
    ///
    /// Only such columns can be stored off page. Depends on the column, not on an index prefix.
    pub fn is_big(&self) -> bool {
        self.len > 255 || matches!(self.mtype, mtype::BLOB | mtype::GEOMETRY)
    }

    /// Most bytes that an index has of a value, of which it takes a prefix if that is not 0.
    pub(crate) fn len_max(&self, prefix_len: u32) -> u32 {
        let column = match self.mtype {
            // 8, and the bytes of the length.
            mtype::BLOB | mtype::GEOMETRY if self.len == 9 => u8::MAX.into(),
            mtype::BLOB | mtype::GEOMETRY => u32::MAX,
            _ => self.len,
        };
        if prefix_len == 0 { column } else { column.min(prefix_len) }
    }
}

impl CfgIndex {
    /// True if rows are in this index.
    pub fn is_clustered(&self) -> bool {
        self.type_bits & index_type::CLUSTERED != 0
    }

    /// True if the index is that of MySQL's dictionary pages.
    fn is_dictionary(&self) -> bool {
        self.type_bits & index_type::DICTIONARY != 0
    }

    /// True if the index is UNIQUE.
    pub fn is_unique(&self) -> bool {
        self.type_bits & index_type::UNIQUE != 0
    }
}

impl Cfg {
    /// Reads a whole `.cfg` file.
    ///
    /// Errors: [`Error::Cfg`] for another version, a cut or overlong file, or text that is not
    /// UTF-8. [`crate::template::Template`] tells if the table is supported.
    ///
    /// ```
    /// use innodb::cfg::Cfg;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cfg = Cfg::parse(&std::fs::read("testdata/mariadb-10.11/t.cfg")?)?;
    /// let names: Vec<_> = cfg.indexes.iter().map(|index| index.name.as_str()).collect();
    /// assert_eq!(names[0], "PRIMARY");
    /// # Ok(())
    /// # }
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Cfg> {
        let mut input = Input { bytes, offset: 0 };
        let version = input.u32("version")?;
        let format = match version {
            VERSION_MARIADB => SpaceFormat::MariaDb,
            version if VERSIONS_MYSQL.contains(&version) => SpaceFormat::MySql,
            _ => {
                let (oldest, newest) = (VERSIONS_MYSQL.start(), VERSIONS_MYSQL.end());
                let expected =
                    format!("{VERSION_MARIADB} of MariaDB, {oldest} or {newest} of MySQL");
                return Err(input.bad("version", version.to_string(), expected));
            }
        };
        let mut cfg = Cfg {
            host: input.text("host name")?,
            table: input.text("table name")?,
            autoinc: input.u64("AUTO_INCREMENT")?,
            page_size: input.u32("page size")?,
            table_flags: input.u32("table flags")?,
            columns: Vec::new(),
            indexes: Vec::new(),
            mysql: None,
        };
        input.columns(format, version, &mut cfg)?;
        cfg.indexes = input.list("index count", |input| input.index(format))?;
        if let Some(mysql) = &mut cfg.mysql
            && cfg.indexes.first().is_some_and(CfgIndex::is_dictionary)
        {
            mysql.dictionary = Some(cfg.indexes.remove(0));
        }
        match input.bytes.len() - input.offset {
            0 => Ok(cfg),
            rest => Err(input.bad("rest of the file", format!("{rest} bytes"), "no byte".into())),
        }
    }

    /// The bytes of the file. Dropped columns are left out.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_u32(&mut out, self.mysql.as_ref().map_or(VERSION_MARIADB, |mysql| mysql.file_version));
        put_text(&mut out, &self.host);
        put_text(&mut out, &self.table);
        out.extend_from_slice(&self.autoinc.to_be_bytes());
        put_u32(&mut out, self.page_size);
        put_u32(&mut out, self.table_flags);
        put_u32(&mut out, self.columns.len() as u32);
        let mysql = self.mysql.as_ref();
        if let Some(mysql) = mysql {
            mysql.put(&mut out);
        }
        for (place, column) in self.columns.iter().enumerate() {
            column.put(&mut out);
            if let Some(mysql) = mysql
                && let Some(more) = mysql.columns.get(place)
            {
                more.put(mysql.file_version, &mut out);
            }
        }
        let dictionary = mysql.and_then(|mysql| mysql.dictionary.as_ref());
        put_u32(&mut out, (self.indexes.len() + dictionary.iter().count()) as u32);
        for index in dictionary.into_iter().chain(&self.indexes) {
            index.put(self.format(), &mut out);
        }
        out
    }

    /// The format of the tablespace beside the file.
    pub fn format(&self) -> SpaceFormat {
        match self.mysql {
            None => SpaceFormat::MariaDb,
            Some(_) => SpaceFormat::MySql,
        }
    }

    /// True for a table of MySQL that has rows of several forms, or may have.
    pub fn has_row_versions(&self) -> bool {
        self.mysql.as_ref().is_some_and(|mysql| !mysql.is_plain())
    }

    /// The clustered index.
    pub fn clustered(&self) -> Option<&CfgIndex> {
        self.indexes.first().filter(|index| index.is_clustered())
    }

    /// The row format.
    ///
    /// Errors: [`Error::Unsupported`] for REDUNDANT, COMPRESSED, page compression, DATA DIRECTORY.
    pub fn row_format(&self) -> Result<RowFormat> {
        if let Some(mysql) = self.mysql.as_ref().filter(|mysql| mysql.compression != 0) {
            return Err(Error::Unsupported {
                what: "table format",
                seen: format!("COMPRESSION (type {})", mysql.compression),
                expected: "an uncompressed DYNAMIC or COMPACT table in the data directory",
            });
        }
        match self.table_flags {
            table_flags::DYNAMIC_TABLE => Ok(RowFormat::Dynamic),
            table_flags::COMPACT_TABLE => Ok(RowFormat::Compact),
            flags => Err(Error::Unsupported {
                what: "table format",
                seen: describe_flags(flags),
                expected: "an uncompressed DYNAMIC or COMPACT table in the data directory",
            }),
        }
    }

    /// Position of a column by name; the server compares without regard to ASCII case.
    pub fn column_position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// True if pages have the only size this crate knows.
    pub fn has_supported_page_size(&self) -> bool {
        self.page_size as usize == PAGE_SIZE
    }
}

fn describe_flags(flags: u32) -> String {
    let name = match flags {
        _ if flags & table_flags::COMPACT == 0 => "ROW_FORMAT=REDUNDANT",
        _ if flags & table_flags::ZIP_MASK != 0 => "ROW_FORMAT=COMPRESSED",
        _ if flags & table_flags::DATA_DIRECTORY != 0 => "DATA DIRECTORY",
        _ if flags & table_flags::PAGE_COMPRESSION != 0 => "PAGE_COMPRESSED",
        _ => "unknown",
    };
    format!("{name} (flags {flags:#x})")
}

impl CfgColumn {
    fn put(&self, out: &mut Vec<u8>) {
        for number in [
            self.prtype,
            self.mtype,
            self.len,
            self.mbminmaxlen,
            self.ind,
            self.ord_part,
            self.max_prefix,
        ] {
            put_u32(out, number);
        }
        put_text(out, &self.name);
    }
}

impl CfgIndex {
    fn put(&self, format: SpaceFormat, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.0.to_be_bytes());
        for number in [
            self.space_id,
            self.root,
            self.type_bits,
            self.trx_id_offset,
            self.n_user,
            self.n_uniq,
            self.n_nullable,
            self.fields.len() as u32,
        ] {
            put_u32(out, number);
        }
        put_text(out, &self.name);
        for field in &self.fields {
            put_u32(out, field.prefix_len);
            match format {
                SpaceFormat::MariaDb => {
                    let descending = if field.descending { DESCENDING } else { 0 };
                    put_u32(out, field.fixed_len | descending);
                }
                SpaceFormat::MySql => {
                    put_u32(out, field.fixed_len);
                    put_u32(out, u32::from(!field.descending));
                }
            }
            put_text(out, &field.name);
        }
    }
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_be_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_u32(out, text.len() as u32 + 1);
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// The file and how far it has been read.
struct Input<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Input<'a> {
    fn bad(&self, what: &'static str, seen: String, expected: String) -> Error {
        Error::Cfg { offset: self.offset, what, seen, expected }
    }

    fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.offset..];
        let Some(taken) = rest.get(..count) else {
            let (seen, expected) = (format!("cut after {} bytes", rest.len()), count.to_string());
            return Err(self.bad(what, seen, format!("{expected} bytes")));
        };
        self.offset += count;
        Ok(taken)
    }

    /// A big-endian number of so many bytes, four at most.
    fn number(&mut self, count: usize, what: &'static str) -> Result<u32> {
        let bytes = self.take(count, what)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    fn u8(&mut self, what: &'static str) -> Result<u8> {
        Ok(self.number(1, what)? as u8)
    }

    fn u16(&mut self, what: &'static str) -> Result<u16> {
        Ok(self.number(2, what)? as u16)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32> {
        self.number(4, what)
    }

    /// A byte that is 0 or 1.
    fn flag(&mut self, what: &'static str) -> Result<bool> {
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.bad(what, other.to_string(), "0 or 1".into())),
        }
    }

    fn u64(&mut self, what: &'static str) -> Result<u64> {
        Ok(u64::from(self.u32(what)?) << 32 | u64::from(self.u32(what)?))
    }

    fn text(&mut self, what: &'static str) -> Result<String> {
        let len = self.u32(what)? as usize;
        let bytes = self.take(len, what)?;
        let Some((0, text)) = bytes.split_last() else {
            return Err(self.bad(what, "not ended by NUL".into(), "a final NUL".into()));
        };
        String::from_utf8(text.to_vec())
            .map_err(|e| self.bad(what, format!("{:?}", e.as_bytes()), "UTF-8 text".into()))
    }

    /// A count and that many items. A lying count runs into the end of the file, not of memory.
    fn list<T>(
        &mut self,
        what: &'static str,
        item: impl Fn(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.u32(what)?;
        (0..count).map(|_| item(self)).collect()
    }

    /// The columns of a table, and the fields of MySQL's file before them.
    fn columns(&mut self, format: SpaceFormat, version: u32, cfg: &mut Cfg) -> Result<()> {
        let count = self.u32("column count")?;
        cfg.mysql = match format {
            SpaceFormat::MariaDb => None,
            SpaceFormat::MySql => Some(self.mysql_table(version)?),
        };
        for _ in 0..count {
            let column = self.column()?;
            if let Some(mysql) = &mut cfg.mysql {
                let more = self.mysql_column(version)?;
                if more.version_dropped != NO_VERSION {
                    mysql.dropped.push((column, more));
                    continue;
                }
                mysql.columns.push(more);
            }
            cfg.columns.push(column);
        }
        Ok(())
    }

    fn column(&mut self) -> Result<CfgColumn> {
        Ok(CfgColumn {
            prtype: self.u32("column prtype")?,
            mtype: self.u32("column mtype")?,
            len: self.u32("column length")?,
            mbminmaxlen: self.u32("column mbminmaxlen")?,
            ind: self.u32("column ordinal")?,
            ord_part: self.u32("column ord_part")?,
            max_prefix: self.u32("column max_prefix")?,
            name: self.text("column name")?,
        })
    }

    fn index(&mut self, format: SpaceFormat) -> Result<CfgIndex> {
        let id = IndexId(self.u64("index id")?);
        let space_id = self.u32("index space id")?;
        let root = self.u32("index root page")?;
        let type_bits = self.u32("index type")?;
        let trx_id_offset = self.u32("index trx_id_offset")?;
        let n_user = self.u32("index n_user_defined_cols")?;
        let n_uniq = self.u32("index n_uniq")?;
        let n_nullable = self.u32("index n_nullable")?;
        let n_fields = self.u32("index n_fields")?;
        let name = self.text("index name")?;
        let fields = (0..n_fields).map(|_| self.field(format)).collect::<Result<Vec<_>>>()?;
        Ok(CfgIndex {
            id,
            space_id,
            root,
            type_bits,
            trx_id_offset,
            n_user,
            n_uniq,
            n_nullable,
            name,
            fields,
        })
    }

    fn field(&mut self, format: SpaceFormat) -> Result<CfgField> {
        let prefix_len = self.u32("field prefix_len")?;
        let fixed_len = self.u32("field fixed_len")?;
        let (fixed_len, descending) = match format {
            SpaceFormat::MariaDb => (fixed_len & !DESCENDING, fixed_len & DESCENDING != 0),
            SpaceFormat::MySql => match self.u32("field is_ascending")? {
                0 => (fixed_len, true),
                1 => (fixed_len, false),
                other => {
                    return Err(self.bad("field is_ascending", other.to_string(), "0 or 1".into()));
                }
            },
        };
        Ok(CfgField { prefix_len, fixed_len, descending, name: self.text("field name")? })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// Written by MariaDB 10.11.19 for the table in `testdata/mariadb-10.11/README.md`.
    const GOLDEN: &[u8] = include_bytes!("../testdata/mariadb-10.11/t.cfg");

    #[test]
    fn a_server_written_file_says_what_show_create_says() {
        let cfg = Cfg::parse(GOLDEN).unwrap();
        assert_eq!((cfg.host.as_str(), cfg.table.as_str(), cfg.autoinc), ("vm", "p/t", 0));
        assert_eq!((cfg.page_size, cfg.table_flags), (16_384, table_flags::DYNAMIC_TABLE));
        let names: Vec<_> = cfg.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["id", "a", "b", "c", "d", "e", "DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR"]);
        let big: Vec<_> = cfg.columns.iter().map(CfgColumn::is_big).collect();
        assert_eq!(big, [false, false, true, false, true, false, false, false, false]);

        let [primary, ka, kb, kc] = &cfg.indexes[..] else { panic!("4 indexes") };
        assert!(primary.is_clustered() && primary.is_unique() && primary.root == 3);
        assert!(!ka.is_clustered() && ka.is_unique() && (ka.n_user, ka.n_uniq) == (1, 1));
        assert!(!kb.is_unique() && (kb.n_user, kb.n_uniq, kb.n_nullable) == (2, 3, 2));
        let b = &kb.fields[0];
        assert_eq!((b.name.as_str(), b.prefix_len, b.fixed_len, b.descending), ("b", 40, 0, true));
        assert_eq!((kc.name.as_str(), kc.fields[0].fixed_len), ("kc", 4));
    }

    #[test]
    fn a_server_written_file_is_written_back_byte_for_byte() {
        assert_eq!(Cfg::parse(GOLDEN).unwrap().to_bytes(), GOLDEN);
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error() {
        for len in 0..GOLDEN.len() {
            assert!(matches!(Cfg::parse(&GOLDEN[..len]), Err(Error::Cfg { .. })), "cut at {len}");
        }
        let longer = [GOLDEN, b"x"].concat();
        assert!(matches!(Cfg::parse(&longer), Err(Error::Cfg { .. })));
    }

    #[test]
    fn other_row_formats_are_named() {
        let mut cfg = Cfg::parse(GOLDEN).unwrap();
        let mut format = |flags| {
            cfg.table_flags = flags;
            cfg.row_format().map_err(|e| e.to_string())
        };
        assert_eq!(format(0x21), Ok(RowFormat::Dynamic));
        assert_eq!(format(0x01), Ok(RowFormat::Compact));
        for (flags, name) in [
            (0x00, "REDUNDANT"),
            (0x29, "COMPRESSED"),
            (0x61, "DATA DIRECTORY"),
            (0x6A1, "PAGE_COMPRESSED"),
        ] {
            let text = format(flags).unwrap_err();
            assert!(text.contains(name), "{flags:#x}: {text}");
        }
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = GOLDEN.to_vec();
        bytes[3] = 2;
        let text = Cfg::parse(&bytes).unwrap_err().to_string();
        let expected = "version is 2, expected 1 of MariaDB, 7 or 8 of MySQL";
        assert_eq!(text, format!(".cfg file, byte 4: {expected}"));
    }
}
