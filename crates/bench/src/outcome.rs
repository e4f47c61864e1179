//! Results of the TPC-H benchmark: as a table for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use crate::choice::{Choice, choices};
use crate::clock::Took;
use crate::figure::times;
use crate::head::{Head, write_notes};
use crate::text_table::TextTable;

choices! {
    /// A way of loading a file into a fresh table.
    pub enum LoadWay {
        /// LOAD DATA INFILE, nothing set.
        LoadData = "load-data", "LOAD DATA";
        /// LOAD DATA INFILE with `unique_checks=0, foreign_key_checks=0`.
        Unchecked = "unchecked", "LOAD DATA without checks";
        /// Eight clients, each with INSERTs of 1,000 rows, as PolarDB-X's Batch Tool loads.
        Clients = "clients", "INSERTs of 8 clients";
        /// `inrush load --path direct`, from its start to its end: verified, imported, published.
        Direct = "direct", "Inrush direct";
        /// `inrush load --path stream`.
        Stream = "stream", "Inrush stream";
        /// `inrush load --path insert`.
        Insert = "insert", "Inrush insert";
    }
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

/// The times of one table.
#[derive(Clone, Debug, Serialize)]
pub struct TableOutcome {
    /// Its name.
    pub table: String,
    /// Rows of the file, and of the table after each way.
    pub rows: u64,
    /// Bytes of the input.
    pub text_bytes: u64,
    /// Bytes of the tablespace that Inrush built; 0 without [`LoadWay::Direct`].
    pub file_bytes: u64,
    /// Seconds of each way, in the order of [`LoadWay::ALL`].
    pub loads: Vec<WayOutcome>,
    /// The floor; measured where [`LoadWay::Direct`] is.
    pub floor: Option<Floor>,
    /// CHECKSUM TABLE, the same for all ways.
    pub checksum: String,
}

/// The times of one table by one method.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Which.
    pub way: LoadWay,
    /// To the last commit, or to the end of Inrush's process.
    #[serde(flatten)]
    pub took: Took,
    /// Inrush's own report of the load.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub report: serde_json::Value,
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Settings of the server that matter here, as SHOW VARIABLES gives them.
    pub server_settings: Vec<(String, String)>,
    /// TPC-H scale factor.
    pub scale: f64,
    /// `tproch` or `dbgen`.
    pub schema: &'static str,
    /// Circumstances that make the comparison less than fair.
    pub notes: Vec<String>,
    /// Every table, in the order loaded.
    pub tables: Vec<TableOutcome>,
    /// All of them by one `inrush load FOLDER --into DATABASE`; measured where [`LoadWay::Direct`] is and
    /// there are several.
    pub together: Option<WayOutcome>,
}

impl Floor {
    /// All of it, one after the other.
    pub fn seconds(&self) -> f64 {
        self.read_seconds + self.write_seconds + self.import_seconds
    }
}

impl TableOutcome {
    /// Seconds of one way; None when it was not among those that ran.
    pub fn seconds(&self, way: LoadWay) -> Option<f64> {
        self.took(way).map(|took| took.seconds)
    }

    fn took(&self, way: LoadWay) -> Option<Took> {
        self.loads.iter().find(|load| load.way == way).map(|load| load.took)
    }
}

/// Writes a line of a table: of these sums, under this name, a cell for each way.
type Line = fn(&Sum, &str, &[LoadWay]) -> Vec<String>;

/// Sums of the figures that one line shows.
#[derive(Default)]
struct Sum {
    rows: u64,
    text_bytes: u64,
    file_bytes: u64,
    /// By way.
    seconds: [f64; 6],
    /// Processor seconds, as `seconds`.
    cpu_seconds: [f64; 6],
    floor: f64,
}

impl Sum {
    fn add(&mut self, table: &TableOutcome) {
        self.rows += table.rows;
        self.text_bytes += table.text_bytes;
        self.file_bytes += table.file_bytes;
        for (place, &way) in LoadWay::ALL.iter().enumerate() {
            let took = table.took(way).unwrap_or_default();
            self.seconds[place] += took.seconds;
            self.cpu_seconds[place] += took.server_cpu_seconds + took.client_cpu_seconds;
        }
        self.floor += table.floor.map_or(0.0, |floor| floor.seconds());
    }

    fn of(&self, way: LoadWay) -> f64 {
        self.seconds[way as usize]
    }

    fn seconds_line(&self, name: &str, ways: &[LoadWay]) -> Vec<String> {
        let known = |number: f64, text: String| if number > 0.0 { text } else { "-".to_owned() };
        let megabytes = |bytes: u64| known(bytes as f64, format!("{:.1}", bytes as f64 / 1e6));
        let mut line = vec![name.to_owned(), self.rows.to_string()];
        line.extend([megabytes(self.text_bytes), megabytes(self.file_bytes)]);
        line.extend(ways.iter().map(|&way| format!("{:.2}", self.of(way))));
        line.push(known(self.floor, format!("{:.2}", self.floor)));
        line
    }

    /// The time of one command for all tables, beside the sum of commands for each, and beside that
    /// for the largest of them.
    fn together_line(&self, tables: usize, seconds: f64, largest: &TableOutcome) -> String {
        let mut line = format!("\nall {tables} tables by one command: {seconds:.2} s");
        for way in [LoadWay::LoadData, LoadWay::Unchecked, LoadWay::Direct] {
            if self.of(way) > 0.0 {
                let _ = write!(line, ", {:.2} times {}", self.of(way) / seconds, way.name());
            }
        }
        if self.floor > 0.0 {
            let _ = write!(line, ", {:.2} of the floor", seconds / self.floor);
        }
        if let Some(alone) = largest.seconds(LoadWay::Direct) {
            let _ = write!(line, ", {:.2} of {} alone", seconds / alone, largest.table);
        }
        line.push('\n');
        line
    }

    fn cpu_line(&self, name: &str, ways: &[LoadWay]) -> Vec<String> {
        let seconds = ways.iter().map(|&way| format!("{:.2}", self.cpu_seconds[way as usize]));
        [name.to_owned()].into_iter().chain(seconds).collect()
    }

    fn ratios_line(&self, name: &str, ways: &[LoadWay]) -> Vec<String> {
        let mut line = vec![name.to_owned()];
        line.extend(ways.iter().map(|&way| times(self.of(LoadWay::LoadData), self.of(way))));
        line.push(times(self.of(LoadWay::Clients), self.of(LoadWay::Insert)));
        line.push(times(self.of(LoadWay::Direct), self.floor));
        line
    }
}

impl Outcome {
    /// The comparison as text: seconds of each way, and ratios.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server") + "\n";
        let ran = |way: &LoadWay| self.tables.iter().any(|table| table.seconds(*way).is_some());
        let ways: Vec<LoadWay> = LoadWay::ALL.iter().copied().filter(ran).collect();
        let mut lines: Vec<(&str, Sum)> = Vec::new();
        let mut total = Sum::default();
        for table in &self.tables {
            let mut one = Sum::default();
            one.add(table);
            total.add(table);
            lines.push((&table.table, one));
        }
        if self.tables.len() > 1 {
            lines.push(("total", total));
        }
        let table = |before: &[&'static str], behind: &[&'static str], line: Line| {
            let shorts = ways.iter().map(|way| way.short());
            let heads = before.iter().copied().chain(shorts).chain(behind.iter().copied());
            let mut table = TextTable::new(heads);
            lines.iter().for_each(|(name, sum)| table.line(line(sum, name, &ways)));
            table
        };
        let seconds = ["seconds", "rows", "text MB", "file MB"];
        let _ = writeln!(text, "{}", table(&seconds, &["floor"], Sum::seconds_line));
        let ratios = ["insert/clients", "direct / floor"];
        let _ =
            write!(text, "{}", table(&["times as fast as LOAD DATA"], &ratios, Sum::ratios_line));
        let largest = self.tables.iter().max_by_key(|table| table.text_bytes);
        if let (Some(together), Some((_, total)), Some(largest)) =
            (&self.together, lines.last(), largest)
        {
            text += &total.together_line(self.tables.len(), together.took.seconds, largest);
        }
        let cpu = table(&["processor seconds, server and client"], &[], Sum::cpu_line);
        let _ = write!(text, "\n{cpu}");
        text += "\nunchecked: LOAD DATA after SET unique_checks=0, foreign_key_checks=0. clients: 8 \
                 connections, INSERTs\nof 1,000 rows, as PolarDB-X's Batch Tool loads. direct, stream, \
                 insert: inrush load --path. floor: read\nthe input, write the finished file's bytes into \
                 the page cache, import it. Row counts and CHECKSUM TABLE of all\nways agree.\n";
        write_notes(&mut text, &self.notes);
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn table(name: &str, load_data: f64, direct: f64) -> TableOutcome {
        let load = |way, seconds| WayOutcome {
            way,
            took: Took { seconds, server_cpu_seconds: seconds, client_cpu_seconds: 0.25 },
            report: serde_json::Value::Null,
        };
        TableOutcome {
            table: name.to_owned(),
            rows: 1_000_000,
            text_bytes: 120_000_000,
            file_bytes: 180_000_000,
            loads: vec![
                load(LoadWay::LoadData, load_data),
                load(LoadWay::Clients, load_data * 2.0),
                load(LoadWay::Direct, direct),
                load(LoadWay::Insert, load_data * 0.8),
            ],
            floor: Some(Floor { read_seconds: 0.1, write_seconds: 0.2, import_seconds: 0.2 }),
            checksum: "123".to_owned(),
        }
    }

    #[test]
    fn the_total_is_a_ratio_of_sums_not_a_mean_of_ratios() {
        let outcome = Outcome {
            head: Head::new("10.11".to_owned()),
            server_settings: Vec::new(),
            scale: 1.0,
            schema: "tproch",
            notes: vec!["small pool".to_owned()],
            tables: vec![table("orders", 10.0, 1.0), table("lineitem", 90.0, 4.0)],
            together: Some(WayOutcome {
                way: LoadWay::Direct,
                took: Took { seconds: 4.0, ..Took::default() },
                report: serde_json::Value::Null,
            }),
        };
        let text = outcome.text();
        let totals: Vec<&str> = text.lines().filter(|line| line.starts_with("total")).collect();
        let [seconds, ratios, cpu] = totals[..] else { panic!("{text}") };
        assert!(seconds.contains("100.00") && seconds.contains("5.00"), "{seconds}");
        let ratios: Vec<&str> = ratios.split_whitespace().collect();
        assert_eq!(ratios, ["total", "1.00x", "0.50x", "20.00x", "1.25x", "2.50x", "5.00x"]);
        assert!(cpu.contains(" 100.50 ") && cpu.contains(" 5.50 "), "{cpu}");
        let together = "all 2 tables by one command: 4.00 s, 25.00 times LOAD DATA, 1.25 times Inrush direct, 4.00 of the floor, 1.00 of lineitem alone";
        assert!(text.contains(together), "{text}");
        assert!(!text.contains(" stream "), "{text}");
        assert!(text.contains("note: small pool"));
        let json = serde_json::to_value(&outcome).unwrap();
        assert_eq!(json["tables"][1]["floor"]["import_seconds"], 0.2);
    }
}
