//! The report of a comparison.

use serde::Serialize;

/// How an input and a table differ.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VerifyReport {
    /// `database.table`.
    pub target: String,
    /// Version of the server.
    pub server: String,
    /// Where the server is: host and port, its socket, or `sandbox`.
    pub server_address: String,
    /// Rows of the input.
    pub rows: u64,
    /// Rows of the table.
    pub table_rows: u64,
    /// Rows of the input that the table would refuse: they are in it in no form.
    pub refused_rows: u64,
    /// Rows of the input that the table lacks.
    pub missing_rows: u64,
    /// Rows that the table has with other values.
    pub changed_rows: u64,
    /// Rows of the table that the input lacks.
    pub extra_rows: u64,
    /// True if these are all; of very many differences, a part was compared one by one.
    pub are_all_told: bool,
    /// The first rows that are missing.
    pub first_missing: Vec<OtherRow>,
    /// The first with other values.
    pub first_changed: Vec<OtherRow>,
    /// The first that the input lacks, by key.
    pub first_extra: Vec<OtherRow>,
    /// Columns that were compared.
    pub compared: Vec<String>,
    /// Columns that were not compared: the input does not give them, or their values are unknown
    /// here.
    pub not_compared: Vec<String>,
    /// From the beginning to the end.
    pub seconds: f64,
}

/// A row that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherRow {
    /// File, line and byte, if it is one of the input.
    pub place: Option<String>,
    /// Its primary key; all of its values where there is none.
    pub key: String,
}

impl VerifyReport {
    /// True if the table holds exactly the rows of the input.
    pub fn is_same(&self) -> bool {
        let differing = self.missing_rows + self.changed_rows + self.extra_rows;
        differing + self.refused_rows == 0 && self.are_all_told
    }
}
