//! The two tables that share a name: columns, indexes and sizes of INSERTs of each benchmark.

use std::fmt;

use crate::choice::choices;

/// The table of both.
pub const TABLE: &str = "purchases_index";

choices! {
    /// Which of the two Insert Benchmarks. Their figures cannot be compared with each other.
    pub enum Version {
        /// Tim Callaghan's: FLOAT prices, INT keys, two of three indexes that begin with the price.
        #[serde(rename = "iibench-tc")]
        Tc = "iibench-tc";
        /// Mark Callaghan's: INT prices, BIGINT keys, another index first, a column of text.
        #[serde(rename = "iibench-mc")]
        Mc = "iibench-mc";
    }
}

impl Version {
    /// CREATE TABLE, without the three indexes.
    pub(crate) fn create(self) -> &'static str {
        match self {
            Version::Tc => include_str!("../../schema/iibench-tc.sql"),
            Version::Mc => include_str!("../../schema/iibench-mc.sql"),
        }
    }

    /// Makes the three indexes, as the benchmark does: one statement each, or one for all.
    pub(crate) fn create_indexes(self) -> &'static [&'static str] {
        match self {
            Version::Tc => &[
                "CREATE INDEX marketsegment ON purchases_index (price, customerid)",
                "CREATE INDEX registersegment ON purchases_index (cashregisterid, price, customerid)",
                "CREATE INDEX pdc ON purchases_index (price, dateandtime, customerid)",
            ],
            Version::Mc => &["ALTER TABLE purchases_index \
                 ADD INDEX purchases_index_marketsegment (productid, customerid, price), \
                 ADD INDEX purchases_index_registersegment (cashregisterid, customerid, price), \
                 ADD INDEX purchases_index_pdc (price, dateandtime, customerid)"],
        }
    }

    /// Names of all indexes.
    pub(crate) fn indexes(self) -> [&'static str; 4] {
        match self {
            Version::Tc => ["PRIMARY", "marketsegment", "registersegment", "pdc"],
            Version::Mc => [
                "PRIMARY",
                "purchases_index_marketsegment",
                "purchases_index_registersegment",
                "purchases_index_pdc",
            ],
        }
    }

    /// True if the first step runs with the indexes in place.
    pub(crate) fn has_indexes_first(self) -> bool {
        self == Version::Tc
    }

    /// Columns that the rows have; the server numbers them.
    pub(crate) fn columns(self) -> &'static str {
        match self {
            Version::Tc => "dateandtime,cashregisterid,customerid,productid,price",
            Version::Mc => "dateandtime,cashregisterid,customerid,productid,price,data",
        }
    }

    /// Rows of an INSERT, which is a transaction: of the first step and of the one behind it.
    pub(crate) fn insert_rows(self) -> [u64; 2] {
        match self {
            Version::Tc => [250, 250],
            Version::Mc => [100, 50],
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
