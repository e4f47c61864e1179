//! `--metrics FILE`: the numbers of a command in the text format of Prometheus.
//!
//! node_exporter runs as another user and reads whole files: each write is a new file of mode 0644 that takes
//! the name when it is complete. It has numbers and the name of the table, and no rows. A file that is not one of
//! metrics keeps its name: `--metrics orders.csv` destroys no input.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use terminal::failure::Failure;

use super::is_done;
use super::meter::Reading;

/// Mode of the file, which anybody may read.
pub(crate) const METRICS_MODE: u32 = 0o644;
/// The first bytes of each file.
const HEAD: &str = "# HELP inrush_";

/// Refuses a name that [`MetricsFile`] does not write to.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    MetricsFile::begin(path)?.check()
}

/// The file.
#[derive(Clone, Debug)]
pub(super) struct MetricsFile {
    path: PathBuf,
}

impl MetricsFile {
    /// The file at `path`, which is a plain file or does not exist yet.
    ///
    /// Errors: another kind of file, or a folder that is missing.
    pub(super) fn begin(path: &Path) -> Result<MetricsFile, Failure> {
        let file = MetricsFile { path: path.to_owned() };
        if disk::output::is_stream(path) {
            return Err(file.refused("name a file"));
        }
        Ok(file)
    }

    /// Refuses a file of anything but metrics.
    fn check(&self) -> Result<(), Failure> {
        let head = disk::output::head(&self.path, HEAD.len() as u64, "metrics");
        match head.map_err(|error| self.refused(error))? {
            Some(head) if head != HEAD.as_bytes() => {
                Err(self.refused("the file exists, and it is not one of metrics"))
            }
            _ => Ok(()),
        }
    }

    /// Replaces the file. Errors: the file cannot be written.
    pub(super) fn write(&self, reading: &Reading) -> Result<(), Failure> {
        self.check()?;
        let text = text(reading);
        let written = disk::output::replace(&self.path, text.as_bytes(), METRICS_MODE, "metrics");
        written.map_err(|error| self.refused(error))
    }

    fn refused(&self, why: impl std::fmt::Display) -> Failure {
        Failure::usage(format!("writing --metrics {}: {why}", self.path.display()))
    }
}

/// The contents of the file.
fn text(reading: &Reading) -> String {
    let seconds = |time: SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    };
    let flag = |is_true: bool| Some(f64::from(u8::from(is_true)));
    let status = reading.status;
    let end = status.map(|_| seconds(reading.started_at) + reading.seconds);
    let metrics: [(&str, &str, Option<f64>); 12] = [
        ("running", "1 while the command runs, 0 after its end.", flag(status.is_none())),
        (
            "success",
            "1 if the command has done its work, 0 if it has failed.",
            status.and_then(|status| flag(is_done(status))),
        ),
        ("exit_status", "Exit status of the command.", status.map(f64::from)),
        ("rows", "Rows that the command has read, loaded or written.", Some(reading.rows as f64)),
        ("rejected_rows", "Rejected rows.", reading.rejected.map(|rows| rows as f64)),
        ("bytes", "Bytes of the current phase that are done.", Some(reading.bytes as f64)),
        ("bytes_expected", "All bytes of the phase.", reading.total_bytes.map(|all| all as f64)),
        ("rows_per_second", "Rows a second.", Some(reading.rows_per_second as f64)),
        ("duration_seconds", "Seconds since the command began.", Some(reading.seconds)),
        ("left_seconds", "Estimated seconds until the end.", reading.seconds_left),
        ("start_time_seconds", "Unix time of the start.", Some(seconds(reading.started_at))),
        ("end_time_seconds", "Unix time of the end.", end),
    ];
    let (command, table) = (reading.command, label(&reading.name));
    let mut text = String::new();
    for (name, help, value) in metrics {
        let Some(value) = value else { continue };
        let _ = write!(
            text,
            "# HELP inrush_{name} {help}\n# TYPE inrush_{name} gauge\n\
             inrush_{name}{{command=\"{command}\",table=\"{table}\"}} {value}\n"
        );
    }
    text
}

/// The value of a label. Source: Prometheus, exposition formats: backslash, quote and line feed are escaped.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::meter::{Meter, Totals};
    use super::*;

    #[test]
    fn metrics_are_in_the_text_format() {
        let meter = Meter::new("load", "a.b\"c\\\n");
        let running = text(&meter.reading());
        let labels = "{command=\"load\",table=\"a.b\\\"c\\\\\\n\"}";
        assert!(running.contains(&format!("\ninrush_running{labels} 1\n")), "{running}");
        assert!(!running.contains("inrush_success"), "{running}");
        meter.total(Totals { rows: 12_345_678, bytes: Some(7), rejected: 1 });
        meter.end(3);
        let text = text(&meter.reading());
        for line in ["running", "success", "exit_status", "rows", "rejected_rows"]
            .into_iter()
            .zip(["0", "1", "3", "12345678", "1"])
            .map(|(name, value)| format!("\ninrush_{name}{labels} {value}\n"))
        {
            assert!(text.contains(&line), "{line} in {text}");
        }
        for lines in text.lines().collect::<Vec<_>>().chunks(3) {
            let name = lines[0].strip_prefix("# HELP ").unwrap().split(' ').next().unwrap();
            assert_eq!(lines[1], format!("# TYPE {name} gauge"));
            assert!(lines[2].starts_with(&format!("{name}{{command=")), "{lines:?}");
        }
    }
}
