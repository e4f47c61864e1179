//! The eight TPC-H tables: their SQL, and the order of the fields in their files.
//!
//! Two schemas. [`Schema::Tproch`] is HammerDB's for MariaDB (its column order, types, keys and
//! latin1_bin text), foreign keys and all; the index the server makes for `orders` to `customer`
//! is declared. [`Schema::Dbgen`] is lineitem alone, in the order of its file and with
//! two secondary keys of unlike locality: the table of the headline figure.
//!
//! Source: HammerDB, src/mariadb/mariaolap.tcl; TPC-H specification 3, clause 1.4.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// One of the eight tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names of the specification")]
pub enum Table {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    PartSupp,
    Orders,
    LineItem,
}

/// Which CREATE TABLE a table gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Schema {
    /// HammerDB's TPROC-H schema.
    #[default]
    Tproch,
    /// dbgen's column order; lineitem only.
    Dbgen,
}

impl Table {
    /// Every table, smallest first.
    pub const ALL: [Table; 8] = [
        Table::Region,
        Table::Nation,
        Table::Supplier,
        Table::Customer,
        Table::Part,
        Table::PartSupp,
        Table::Orders,
        Table::LineItem,
    ];

    /// Name of the table, and of its file less `.tbl`.
    pub fn name(self) -> &'static str {
        match self {
            Table::Region => "region",
            Table::Nation => "nation",
            Table::Supplier => "supplier",
            Table::Customer => "customer",
            Table::Part => "part",
            Table::PartSupp => "partsupp",
            Table::Orders => "orders",
            Table::LineItem => "lineitem",
        }
    }

    /// Columns in the order of the fields of a `.tbl` line.
    pub(crate) fn file_columns(self) -> &'static [&'static str] {
        match self {
            Table::Region => &["r_regionkey", "r_name", "r_comment"],
            Table::Nation => &["n_nationkey", "n_name", "n_regionkey", "n_comment"],
            Table::Supplier => &[
                "s_suppkey",
                "s_name",
                "s_address",
                "s_nationkey",
                "s_phone",
                "s_acctbal",
                "s_comment",
            ],
            Table::Customer => &[
                "c_custkey",
                "c_name",
                "c_address",
                "c_nationkey",
                "c_phone",
                "c_acctbal",
                "c_mktsegment",
                "c_comment",
            ],
            Table::Part => &[
                "p_partkey",
                "p_name",
                "p_mfgr",
                "p_brand",
                "p_type",
                "p_size",
                "p_container",
                "p_retailprice",
                "p_comment",
            ],
            Table::PartSupp => {
                &["ps_partkey", "ps_suppkey", "ps_availqty", "ps_supplycost", "ps_comment"]
            }
            Table::Orders => &[
                "o_orderkey",
                "o_custkey",
                "o_orderstatus",
                "o_totalprice",
                "o_orderdate",
                "o_orderpriority",
                "o_clerk",
                "o_shippriority",
                "o_comment",
            ],
            Table::LineItem => &[
                "l_orderkey",
                "l_partkey",
                "l_suppkey",
                "l_linenumber",
                "l_quantity",
                "l_extendedprice",
                "l_discount",
                "l_tax",
                "l_returnflag",
                "l_linestatus",
                "l_shipdate",
                "l_commitdate",
                "l_receiptdate",
                "l_shipinstruct",
                "l_shipmode",
                "l_comment",
            ],
        }
    }

    /// CREATE TABLE of this table. `Error::Option` for a table that `schema` does not have.
    pub fn ddl(self, schema: Schema) -> Result<&'static str, Error> {
        if schema == Schema::Dbgen {
            return match self {
                Table::LineItem => Ok(include_str!("../schema/lineitem.sql")),
                other => Err(Error::Option(format!("the dbgen schema has no table {other}"))),
            };
        }
        Ok(match self {
            Table::Region => include_str!("../schema/tproch/region.sql"),
            Table::Nation => include_str!("../schema/tproch/nation.sql"),
            Table::Supplier => include_str!("../schema/tproch/supplier.sql"),
            Table::Customer => include_str!("../schema/tproch/customer.sql"),
            Table::Part => include_str!("../schema/tproch/part.sql"),
            Table::PartSupp => include_str!("../schema/tproch/partsupp.sql"),
            Table::Orders => include_str!("../schema/tproch/orders.sql"),
            Table::LineItem => include_str!("../schema/tproch/lineitem.sql"),
        })
    }

    /// The statement that gives the table its foreign keys; none where it has none.
    pub fn foreign_keys(self, schema: Schema) -> Option<&'static str> {
        let all = match schema {
            Schema::Tproch => include_str!("../schema/tproch/foreign_keys.sql"),
            Schema::Dbgen => "",
        };
        let mut statements =
            all.split(";\n").filter_map(|text| Some(&text[text.find("ALTER ")?..]));
        statements.find(|text| text.split_whitespace().nth(2) == Some(self.name()))
    }

    /// The tables that its rows refer to.
    pub fn parents(self, schema: Schema) -> Vec<Table> {
        let statement = self.foreign_keys(schema).unwrap_or_default();
        let parents = statement.split("REFERENCES ").skip(1);
        let names = parents.filter_map(|text| text.split_whitespace().next());
        names.filter_map(|name| name.parse().ok()).collect()
    }

    /// Bytes of the `.tbl` file at scale 1, rounded up: for estimates before there is a file.
    pub(crate) fn text_bytes_at_scale_1(self) -> u64 {
        const MB: u64 = 1_000_000;
        match self {
            Table::Region | Table::Nation => 0,
            Table::Supplier => 2 * MB,
            Table::Customer => 25 * MB,
            Table::Part => 25 * MB,
            Table::PartSupp => 120 * MB,
            Table::Orders => 175 * MB,
            Table::LineItem => 765 * MB,
        }
    }
}

impl Schema {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Schema::Tproch => "tproch",
            Schema::Dbgen => "dbgen",
        }
    }

    /// Tables of the schema, smallest first.
    pub fn tables(self) -> &'static [Table] {
        match self {
            Schema::Tproch => &Table::ALL,
            Schema::Dbgen => &[Table::LineItem],
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Table {
    type Err = Error;

    fn from_str(text: &str) -> Result<Table, Error> {
        let found = Table::ALL.into_iter().find(|table| table.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let names = Table::ALL.map(Table::name).join(", ");
            Error::Option(format!("\"{text}\" is no TPC-H table; there are {names}"))
        })
    }
}

impl FromStr for Schema {
    type Err = Error;

    fn from_str(text: &str) -> Result<Schema, Error> {
        match text {
            "tproch" => Ok(Schema::Tproch),
            "dbgen" => Ok(Schema::Dbgen),
            _ => Err(Error::Option(format!("\"{text}\" is no schema; there are tproch and dbgen"))),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// Columns a CREATE TABLE declares: the first word of each indented line that is no key.
    fn declared(ddl: &str) -> Vec<&str> {
        let lines = ddl.lines().filter(|line| line.starts_with("  "));
        let words = lines.filter_map(|line| line.split_whitespace().next());
        words.filter(|word| !matches!(*word, "PRIMARY" | "KEY")).collect()
    }

    #[test]
    fn every_column_of_a_table_is_in_its_file_once() {
        for schema in [Schema::Tproch, Schema::Dbgen] {
            for table in schema.tables() {
                let mut of_table = declared(table.ddl(schema).unwrap());
                let mut of_file = table.file_columns().to_vec();
                of_table.sort_unstable();
                of_file.sort_unstable();
                assert_eq!(of_table, of_file, "{table}");
            }
        }
    }

    #[test]
    fn the_dbgen_schema_keeps_the_order_of_the_file() {
        let ddl = Table::LineItem.ddl(Schema::Dbgen).unwrap();
        assert_eq!(declared(ddl), Table::LineItem.file_columns());
        assert!(Table::Orders.ddl(Schema::Dbgen).is_err());
    }

    #[test]
    fn parents_come_before_children_among_all_tables() {
        let mut keys = 0;
        for table in Table::ALL {
            for parent in table.parents(Schema::Tproch) {
                assert!(parent < table, "{table} refers to {parent}");
                keys += 1;
            }
        }
        assert_eq!(keys, 8);
        let expected = [Table::Orders, Table::PartSupp];
        assert_eq!(Table::LineItem.parents(Schema::Tproch), expected);
        assert_eq!(Table::LineItem.foreign_keys(Schema::Dbgen), None);
    }

    #[test]
    fn a_table_is_found_by_its_name() {
        assert_eq!("LineItem".parse::<Table>().unwrap(), Table::LineItem);
        assert!("lineitems".parse::<Table>().unwrap_err().to_string().contains("partsupp"));
    }
}
