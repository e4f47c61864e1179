//! Results of the benchmark: for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use crate::figure::grouped;
use crate::head::Head;
use crate::text_table::TextTable;

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct FirstDayOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// The files, by their names.
    pub files: Vec<FileOutcome>,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct FileOutcome {
    /// Its name below the folder.
    pub name: String,
    /// Columns of its table.
    pub columns: usize,
    /// Columns that are not text.
    pub not_text: usize,
    /// The load by one command.
    pub load: Done,
    /// The first half, and then the second; none for a file with few rows.
    pub halves: Option<Done>,
}

/// A load that succeeded, or failed.
#[derive(Clone, Debug, Serialize)]
pub struct Done {
    /// The error.
    pub error: Option<String>,
}

impl Done {
    /// True if all rows are in.
    pub fn is_ok(&self) -> bool {
        self.error.is_none()
    }

    fn word(&self) -> String {
        if self.is_ok() { "yes" } else { "no" }.to_owned()
    }
}

impl FirstDayOutcome {
    /// A table of the files, the errors, and a line of totals.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server");
        let mut table = TextTable::new(["file", "columns", "not text", "loads", "halves"]);
        for file in &self.files {
            let halves = file.halves.as_ref().map_or_else(|| "-".to_owned(), Done::word);
            let (columns, not_text) = (file.columns.to_string(), file.not_text.to_string());
            table.line([file.name.clone(), columns, not_text, file.load.word(), halves]);
        }
        let _ = write!(text, "\n{table}\n");
        for file in &self.files {
            let halves = file.halves.as_ref().and_then(|done| done.error.as_ref());
            for (part, error) in [("", file.load.error.as_ref()), (" in halves", halves)] {
                if let Some(error) = error {
                    let _ = writeln!(text, "{}{part}: {error}", file.name);
                }
            }
        }
        text + &self.totals()
    }

    /// The share of each, in one line.
    pub fn totals(&self) -> String {
        let count = |is: &dyn Fn(&FileOutcome) -> bool| self.files.iter().filter(|f| is(f)).count();
        let loads = count(&|file| file.load.is_ok());
        let halves = count(&|file| file.halves.is_some());
        let halves_ok = count(&|file| file.halves.as_ref().is_some_and(Done::is_ok));
        let sum = |of: fn(&FileOutcome) -> usize| {
            grouped(self.files.iter().map(of).sum::<usize>() as f64)
        };
        let (columns, not_text) = (sum(|file| file.columns), sum(|file| file.not_text));
        format!(
            "{loads} of {} files load by one command; {halves_ok} of {halves} in halves; {not_text} of \
             {columns} columns are not text\n",
            self.files.len()
        )
    }
}
