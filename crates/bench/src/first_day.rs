//! `inrush bench first-day`: how many files of a folder load by one command.
//!
//! Each file is loaded by `inrush load FILE --create`. Then its first half makes a table, and its second half
//! is added to that table: a guess that leaves no room for the rows of tomorrow fails there.
//!
//! In reading order: [`halves`] cuts a file, [`outcome`] is what is printed.

pub mod halves;
pub mod outcome;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use secrecy::ExposeSecret;
use server::Session;
use server::identifier::quote_name;

pub use self::outcome::{Done, FileOutcome, FirstDayOutcome};

use self::halves::{Halves, Layout};
use crate::error::Error;
use crate::head::Head;
use crate::host::{DATABASE, Host, HostOptions};
use crate::program::Program;

const TABLE: &str = "first_day";
/// Words in the types of columns that are text.
const TEXTS: [&str; 2] = ["CHAR", "TEXT"];
/// Bytes of the server's tables: files of a first day are small.
const TABLES_BYTES: u64 = 64 << 20;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct FirstDayOptions {
    /// The folder; the files of its folders belong to it.
    pub folder: PathBuf,
    /// The server, and the program that is measured.
    pub host: HostOptions,
}

/// Runs the benchmark. `say` gets a line before each file.
///
/// Errors: no folder, no files, no server. A file that does not load is a part of the outcome.
pub fn run(options: &FirstDayOptions, say: &mut dyn FnMut(&str)) -> Result<FirstDayOutcome, Error> {
    let folder = &options.folder;
    let mut files = Vec::new();
    find(folder, &mut files)?;
    if files.is_empty() {
        return Err(Error::Option(format!("{} has no files", folder.display())));
    }
    files.sort();
    let data_dir = options.host.data_dir()?;
    options.host.check_space(TABLES_BYTES)?;
    let host = Host::start(&options.host, TABLES_BYTES)?;
    let program = host.program(&options.host);
    let mut loader = Loader { host: &host, program, session: host.session()?, data_dir };
    loader.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    loader.session.exec(&format!("CREATE DATABASE {DATABASE}"))?;
    let mut outcomes = Vec::new();
    for path in &files {
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        say(&name);
        outcomes.push(loader.file(path, name)?);
    }
    let head = Head::new(loader.session.version().to_string());
    if !options.host.keep {
        loader.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    }
    drop(loader);
    host.finish()?;
    Ok(FirstDayOutcome { head, files: outcomes })
}

/// Adds the files of a folder and of its folders, without hidden ones.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("reading", folder))? {
        let path = entry.map_err(Error::io("reading", folder))?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        match path.is_dir() {
            _ if is_hidden => {}
            true => find(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// The program with its server.
struct Loader<'a> {
    host: &'a Host,
    program: Program,
    session: Session,
    /// Where halves are written.
    data_dir: PathBuf,
}

impl Loader<'_> {
    /// Loads a file, and its halves if it loads.
    fn file(&mut self, path: &Path, name: String) -> Result<FileOutcome, Error> {
        self.drop_table()?;
        let load = self.load(path, &[])?;
        let mut outcome = FileOutcome { name, columns: 0, not_text: 0, load, halves: None };
        if outcome.load.is_ok() {
            let layout = self.layout(path)?;
            outcome.columns = layout.types.len();
            let is_text = |name: &&String| TEXTS.iter().any(|text| name.contains(text));
            outcome.not_text = layout.types.len() - layout.types.iter().filter(is_text).count();
            if let Some(halves) = Halves::of(path, &layout, &self.data_dir)? {
                outcome.halves = Some(self.halves(path, &halves)?);
            }
        }
        Ok(outcome)
    }

    /// Has the first half make the table, and adds the second.
    fn halves(&mut self, path: &Path, halves: &Halves) -> Result<Done, Error> {
        self.drop_table()?;
        let name = halves::plain_name(path);
        for (folder, text, more) in
            [("first", &halves.first, &[][..]), ("second", &halves.second, &["--mode", "append"])]
        {
            let folder = self.data_dir.join(folder);
            fs::create_dir_all(&folder).map_err(Error::io("making", &folder))?;
            let file = folder.join(&name);
            fs::write(&file, text).map_err(Error::io("writing", &file))?;
            let done = self.load(&file, more)?;
            fs::remove_file(&file).map_err(Error::io("removing", &file))?;
            if done.error.is_some() {
                return Ok(done);
            }
        }
        Ok(Done { error: None })
    }

    fn load(&self, path: &Path, more: &[&str]) -> Result<Done, Error> {
        let into = format!("{DATABASE}.{TABLE}");
        let arguments = ["--into", &into, "--create", "--quiet"];
        let output = self.run("load", path, &[&arguments[..], more].concat(), true)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let error = said.lines().find_map(|line| line.strip_prefix("inrush: ")).map(str::to_owned);
        Ok(Done { error: error.or_else(|| (!output.status.success()).then_some(said)) })
    }

    /// The guess at a file.
    fn layout(&self, path: &Path) -> Result<Layout, Error> {
        let output = self.run("sniff", path, &["--json"], false)?;
        Layout::of(&output.stdout)
            .map_err(|said| Error::Program { name: "inrush sniff".to_owned(), said })
    }

    fn run(
        &self,
        command: &str,
        path: &Path,
        arguments: &[&str],
        is_connected: bool,
    ) -> Result<std::process::Output, Error> {
        let mut process = Command::new(&self.program.path);
        process.arg(command).arg(path).args(arguments).stdin(Stdio::null());
        if is_connected {
            process.args(&self.program.connect_arguments);
            if let Some(password) = &self.host.server.connect.password {
                process.env("MYSQL_PWD", password.expose_secret());
            }
        }
        process.output().map_err(Error::io("running", &self.program.path))
    }

    fn drop_table(&mut self) -> Result<(), Error> {
        let table = format!("{DATABASE}.{}", quote_name(TABLE));
        self.session.exec(&format!("DROP TABLE IF EXISTS {table}"))?;
        Ok(())
    }
}
