//! `--report FILE.html`: a load as a page that needs nothing else, neither network nor script.

mod chart;
mod page;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use disk::File;
use jiff::Zoned;
use load::{CommandLine, Progress, RejectTally, Report, SeveralReport};
use server::ConnectOptions;
use terminal::failure::Failure;
use terminal::size::{count, group, show};

use self::page::{HEAD, Page};
use crate::recorder::{Course, Recorder};

/// The file of a report, which is there from the beginning: what cannot be written is said before
/// anything is loaded.
pub(crate) struct ReportFile {
    path: PathBuf,
    file: File,
    /// The command, shown beside the report itself.
    command: Option<CommandLine>,
    memory_bytes_max: u64,
    /// Table or database, server, and time of the load.
    place: String,
}

/// Refuses a name that [`ReportFile::create`] does not write to. A killed load leaves the beginning of a page.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    disk::output::check(path).map_err(|error| refused(path, error))?;
    match disk::output::head(path, HEAD.len() as u64, "report") {
        Ok(Some(head)) if !HEAD.as_bytes().starts_with(&head) => {
            Err(refused(path, "the file exists, and it is not a report of Inrush"))
        }
        // Devices have no contents.
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(refused(path, error)),
        _ => Ok(()),
    }
}

fn refused(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("creating --report {}: {why}", path.display()))
}

/// Loads, and writes the report, if there is a file for it.
pub(crate) fn recorded<R>(
    file: Option<ReportFile>,
    progress: Box<dyn Progress + '_>,
    load: impl FnOnce(&dyn Progress) -> Result<R, load::Error>,
) -> Result<R, load::Error>
where
    for<'r> LoadReport<'r>: From<&'r R>,
{
    let Some(file) = file else { return load(&*progress) };
    let recorder = Recorder::new(progress);
    let outcome = load(&recorder);
    file.write(&recorder, outcome.as_ref().map(LoadReport::from));
    outcome
}

impl ReportFile {
    /// Makes the file of a load into `target`, a table or a database.
    pub(crate) fn create(
        path: &Path,
        options: &load::LoadOptions,
        target: &str,
        connect: &ConnectOptions,
    ) -> Result<ReportFile, Failure> {
        check(path)?;
        let file = disk::output::create(path, "report").map_err(|error| refused(path, error))?;
        let (command, memory_bytes_max) =
            (options.command.clone(), options.limits.memory_bytes_max);
        let place =
            format!("{target} on {}, {}", connect.server_text(), Zoned::now().strftime("%F %R %Z"));
        Ok(ReportFile { path: path.to_owned(), file, command, memory_bytes_max, place })
    }

    /// Writes the outcome of a load. A failure to write is a warning, and changes nothing.
    pub(crate) fn write(
        mut self,
        recorder: &Recorder<'_>,
        outcome: Result<LoadReport<'_>, &load::Error>,
    ) {
        let course = recorder.course();
        let page = match outcome {
            Ok(LoadReport::One(report)) => self.of_table(&course, report),
            Ok(LoadReport::Several(report)) => self.of_tables(&course, report),
            Err(error) => self.of_failure(&course, error),
        };
        if let Err(error) = self.file.write_all(page.html().as_bytes()) {
            tell!("inrush: warning: writing --report {}: {error}", self.path.display());
        }
    }

    fn of_table(&self, course: &Course, report: &Report) -> Page {
        let (rows, rejects) = (count(report.rows, "row"), group(report.rejects));
        let (place, seconds) = (&self.place, report.seconds);
        let mut page =
            Page::new(format!("{place}: {rows} loaded, {rejects} rejected, {seconds:.2} s"));
        page.facts("Stages", &of_one(report));
        self.course(&mut page, course);
        page.table(
            "Rejected rows",
            &["rows", "column", "reason"],
            tallies(&report.rejects_by_reason),
        );
        let indexes = report.indexes.iter().map(|index| {
            let numbers = [group(index.records), group(index.leaf_pages), index.height.to_string()];
            let [records, leaves, height] = numbers;
            vec![index.name.clone(), records, leaves, height]
        });
        page.table("Indexes", &["index", "records", "leaf pages", "height"], indexes.collect());
        page.list("Notes", &report.notes);
        page.list("Warnings", &report.warnings);
        page.table("Settings", &["", ""], self.settings());
        page
    }

    fn of_tables(&self, course: &Course, report: &SeveralReport) -> Page {
        let rows: u64 = report.tables.iter().map(|table| table.rows).sum();
        let (tables, seconds) = (count(report.tables.len() as u64, "table"), report.seconds);
        let mut page = Page::new(format!(
            "{}: {} loaded into {tables}, {} rejected, {seconds:.2} s",
            self.place,
            count(rows, "row"),
            group(report.rejects)
        ));
        page.facts(
            "Stages",
            &[
                ("rows", group(rows)),
                ("rejected", group(report.rejects)),
                ("input", show(report.bytes)),
                ("seconds", format!("{seconds:.2}")),
                ("peak memory", show(report.memory_peak_bytes)),
            ],
        );
        self.course(&mut page, course);
        let heads = ["table", "rows", "rejected", "path", "seconds of work"];
        let of_table = |table: &Report| {
            let (rows, rejects) = (group(table.rows), group(table.rejects));
            let seconds = format!("{:.2}", table.seconds);
            vec![table.target.clone(), rows, rejects, table.path.to_owned(), seconds]
        };
        page.table("Tables", &heads, report.tables.iter().map(of_table).collect());
        let all = || report.tables.iter();
        let refused = all().flat_map(|table| {
            tallies(&table.rejects_by_reason).into_iter().map(|mut row| {
                row.insert(0, table.target.clone());
                row
            })
        });
        let heads = ["table", "rows", "column", "reason"];
        page.table("Rejected rows", &heads, refused.collect());
        if let Some(lines) = &report.lines {
            page.table("Rejected lines", &["lines", "column", "reason"], tallies(&lines.reasons));
        }
        page.list("Notes", &distinct(all().flat_map(|table| &table.notes)));
        page.list(
            "Warnings",
            &distinct(all().flat_map(|table| &table.warnings).chain(&report.warnings)),
        );
        page.table("Settings", &["", ""], self.settings());
        page
    }

    fn of_failure(&self, course: &Course, error: &load::Error) -> Page {
        let state = match error.leaves_tables_as_before() {
            true => "load failed, and everything is as before",
            false => "load failed",
        };
        let mut page = Page::new(format!("{}: {state}", self.place));
        page.list("Why", &[error.to_string()]);
        self.course(&mut page, course);
        page.table("Settings", &["", ""], self.settings());
        page
    }

    fn course(&self, page: &mut Page, course: &Course) {
        page.figure("Stages", chart::stages(course));
        page.figure("Megabytes a second of each stage's work", chart::throughput(course));
        page.figure("Memory of the program", chart::memory(course, self.memory_bytes_max));
    }

    fn settings(&self) -> Vec<Vec<String>> {
        let mut settings = Vec::new();
        if let Some(command) = &self.command {
            settings.push(vec!["command".to_owned(), command.to_string()]);
            settings.push(vec!["run in".to_owned(), command.folder.display().to_string()]);
        }
        settings.push(vec!["memory allowed".to_owned(), show(self.memory_bytes_max)]);
        settings
    }
}

/// The report of a load that worked.
pub(crate) enum LoadReport<'a> {
    One(&'a Report),
    Several(&'a SeveralReport),
}

impl<'r> From<&'r Report> for LoadReport<'r> {
    fn from(report: &'r Report) -> LoadReport<'r> {
        LoadReport::One(report)
    }
}

impl<'r> From<&'r SeveralReport> for LoadReport<'r> {
    fn from(report: &'r SeveralReport) -> LoadReport<'r> {
        LoadReport::Several(report)
    }
}

fn of_one(report: &Report) -> Vec<(&'static str, String)> {
    let seconds = report
        .expected_seconds
        .map_or(String::new(), |expected| format!(", {expected:.2} expected"));
    let mut facts = vec![
        ("path", format!("{}: {}", report.path, report.why)),
        ("server", format!("{} ({})", report.server, report.server_address)),
        ("rows", group(report.rows)),
        ("rejected", group(report.rejects)),
        ("input", show(report.bytes)),
        ("seconds", format!("{:.2}{seconds}", report.seconds)),
        ("rows a second", group(report.rows_per_second as u64)),
        ("megabytes a second", format!("{:.1}", report.megabytes_per_second)),
        ("peak memory", show(report.memory_peak_bytes)),
        ("spilled", show(report.spilled_bytes)),
        ("job", report.job.clone()),
    ];
    if report.duplicates > 0 {
        facts.insert(4, ("duplicates", group(report.duplicates)));
    }
    if let Some(seconds) = report.readers_waited_seconds {
        facts.push(("readers waited at most", format!("{seconds:.2} s")));
    }
    if let Some(seconds) = report.writers_waited_seconds {
        facts.push(("writers waited at most", format!("{seconds:.2} s")));
    }
    if report.file_bytes > 0 {
        facts.push(("file built", show(report.file_bytes)));
    }
    if let Some(file) = &report.rejects_file {
        facts.push(("file of rejected rows", file.display().to_string()));
    }
    facts
}

fn tallies(reasons: &[RejectTally]) -> Vec<Vec<String>> {
    let tally = |tally: &RejectTally| {
        vec![group(tally.rows), tally.column.clone().unwrap_or_default(), tally.reason.clone()]
    };
    reasons.iter().map(tally).collect()
}

/// Lines of several tables, each once, in their order.
fn distinct<'r>(lines: impl Iterator<Item = &'r String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        if !kept.contains(line) {
            kept.push(line.clone());
        }
    }
    kept
}
