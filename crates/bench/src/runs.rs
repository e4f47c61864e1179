//! The runs of one way, and what is told of them.

use serde::Serialize;

use crate::clock::Took;
use crate::figure::median;

/// The runs of one way.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Runs {
    /// In the order of the runs.
    pub runs: Vec<Took>,
    /// Inrush's own report of each run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<serde_json::Value>,
}

impl Runs {
    /// Adds a run.
    pub(crate) fn push(&mut self, took: Took, report: Option<serde_json::Value>) {
        self.runs.push(took);
        self.reports.extend(report);
    }

    /// The median of a figure.
    pub(crate) fn median(&self, figure: impl Fn(&Took) -> f64) -> f64 {
        median(&self.runs.iter().map(figure).collect::<Vec<f64>>())
    }

    /// Seconds: the median.
    pub fn seconds(&self) -> f64 {
        self.median(|took| took.seconds)
    }

    /// Processor time of server and client, in units of which a second has so many: `1.20 + 0.30`.
    pub(crate) fn cpu(&self, units: f64, decimals: usize) -> String {
        let server = units * self.median(|took| took.server_cpu_seconds);
        let client = units * self.median(|took| took.client_cpu_seconds);
        format!("{server:.decimals$} + {client:.decimals$}")
    }

    /// Seconds of each run.
    pub(crate) fn each(&self) -> String {
        let seconds = self.runs.iter().map(|run| format!("{:.2}", run.seconds));
        seconds.collect::<Vec<_>>().join(" ")
    }
}
