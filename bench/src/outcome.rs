//! What a run of the TPC-H benchmark found: as a table for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use crate::machine::Machine;

/// A way of loading a file into a fresh table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// LOAD DATA INFILE, nothing set.
    LoadData,
    /// LOAD DATA INFILE with `unique_checks=0, foreign_key_checks=0`.
    Unchecked,
    /// Inrush, from its start to its end: verified, imported, published.
    Inrush,
}

/// Seconds of the least work that a load of this table can do on this machine.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Floor {
    /// Reading the input once.
    pub read_seconds: f64,
    /// Writing the bytes of the finished file, and making them durable.
    pub write_seconds: f64,
    /// IMPORT TABLESPACE of a finished file.
    pub import_seconds: f64,
}

/// What one table took.
#[derive(Clone, Debug, Serialize)]
pub struct TableOutcome {
    /// Its name.
    pub table: String,
    /// Rows of the file, and of the table after each way.
    pub rows: u64,
    /// Bytes of the input.
    pub text_bytes: u64,
    /// Bytes of the tablespace that Inrush built.
    pub file_bytes: u64,
    /// Seconds of [`Way::LoadData`].
    pub load_data_seconds: f64,
    /// Seconds of [`Way::Unchecked`].
    pub unchecked_seconds: f64,
    /// Seconds of [`Way::Inrush`].
    pub inrush_seconds: f64,
    /// The floor.
    pub floor: Floor,
    /// CHECKSUM TABLE, the same for all three.
    pub checksum: String,
    /// Inrush's own report of the load.
    pub inrush: serde_json::Value,
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Version of Inrush.
    pub inrush_version: &'static str,
    /// Version of the server.
    pub server_version: String,
    /// Settings of the server that matter here, as SHOW VARIABLES gives them.
    pub server_settings: Vec<(String, String)>,
    /// The machine.
    pub machine: Machine,
    /// The command of this run.
    pub command: String,
    /// TPC-H scale factor.
    pub scale: f64,
    /// `tproch` or `dbgen`.
    pub schema: &'static str,
    /// What would make the comparison less than fair.
    pub notes: Vec<String>,
    /// Every table, in the order loaded.
    pub tables: Vec<TableOutcome>,
}

impl Floor {
    /// All of it, one after the other.
    pub fn seconds(&self) -> f64 {
        self.read_seconds + self.write_seconds + self.import_seconds
    }
}

impl Way {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Way::LoadData => "LOAD DATA",
            Way::Unchecked => "LOAD DATA without checks",
            Way::Inrush => "Inrush",
        }
    }
}

/// Sums of the figures that one line shows.
#[derive(Default)]
struct Sum {
    rows: u64,
    text_bytes: u64,
    file_bytes: u64,
    load_data: f64,
    unchecked: f64,
    inrush: f64,
    floor: f64,
}

impl Sum {
    fn add(&mut self, table: &TableOutcome) {
        self.rows += table.rows;
        self.text_bytes += table.text_bytes;
        self.file_bytes += table.file_bytes;
        self.load_data += table.load_data_seconds;
        self.unchecked += table.unchecked_seconds;
        self.inrush += table.inrush_seconds;
        self.floor += table.floor.seconds();
    }

    fn line(&self, name: &str) -> String {
        let ratio = |slow: f64, fast: f64| if fast > 0.0 { slow / fast } else { 0.0 };
        format!(
            "{name:<9} {:>11} {:>8.1} {:>8.1} {:>10.2} {:>10.2} {:>8.2} {:>8.2} {:>7.1}x {:>8.1}x {:>7.2}x\n",
            self.rows,
            self.text_bytes as f64 / 1e6,
            self.file_bytes as f64 / 1e6,
            self.load_data,
            self.unchecked,
            self.inrush,
            self.floor,
            ratio(self.load_data, self.inrush),
            ratio(self.unchecked, self.inrush),
            ratio(self.inrush, self.floor),
        )
    }
}

impl Outcome {
    /// The comparison as text: seconds of each way, and ratios.
    pub fn text(&self) -> String {
        let mut text = format!(
            "Inrush {}, MariaDB {}\n{}\n{}\n\n",
            self.inrush_version,
            self.server_version,
            self.machine.line(),
            self.command
        );
        text += "                                         seconds                                  Inrush is faster than  Inrush\n";
        text += "table            rows  text MB  file MB  LOAD DATA  unchecked   Inrush    floor  LOAD DATA unchecked / floor\n";
        let mut total = Sum::default();
        for table in &self.tables {
            let mut one = Sum::default();
            one.add(table);
            total.add(table);
            text += &one.line(&table.table);
        }
        if self.tables.len() > 1 {
            text += &total.line("total");
        }
        text += "\nunchecked: LOAD DATA after SET unique_checks=0, foreign_key_checks=0. \
                 floor: read the input, write the\nfinished file's bytes and fsync, import it. \
                 Row counts and CHECKSUM TABLE of all three ways agree.\n";
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn table(name: &str, load_data: f64, inrush: f64) -> TableOutcome {
        TableOutcome {
            table: name.to_owned(),
            rows: 1_000_000,
            text_bytes: 120_000_000,
            file_bytes: 180_000_000,
            load_data_seconds: load_data,
            unchecked_seconds: load_data * 0.6,
            inrush_seconds: inrush,
            floor: Floor { read_seconds: 0.1, write_seconds: 0.2, import_seconds: 0.2 },
            checksum: "123".to_owned(),
            inrush: serde_json::Value::Null,
        }
    }

    #[test]
    fn the_total_is_a_ratio_of_sums_not_a_mean_of_ratios() {
        let outcome = Outcome {
            inrush_version: "0.1.0",
            server_version: "10.11".to_owned(),
            server_settings: Vec::new(),
            machine: Machine::here(),
            command: "inrush bench tproch".to_owned(),
            scale: 1.0,
            schema: "tproch",
            notes: vec!["small pool".to_owned()],
            tables: vec![table("orders", 10.0, 1.0), table("lineitem", 90.0, 4.0)],
        };
        let text = outcome.text();
        let total = text.lines().find(|line| line.starts_with("total")).unwrap();
        assert!(total.contains("100.00") && total.contains("5.00"), "{total}");
        assert!(total.contains("20.0x") && total.contains("12.0x") && total.contains("5.00x"));
        assert!(text.contains("note: small pool"));
        let json = serde_json::to_value(&outcome).unwrap();
        assert_eq!(json["tables"][1]["floor"]["import_seconds"], 0.2);
    }
}
