//! `inrush bench tune`: what each setting of a server gains, one at a time and all together, for a load of
//! many files into two tables with secondary indexes, a transaction each.
//!
//! ```text
//! start the server with a setting -> empty tables -> file by file: START TRANSACTION, LOAD DATA twice, COMMIT
//! ```
//!
//! The server is the benchmark's own, small as it comes: a buffer pool of 128 MiB that the tables outgrow, a
//! redo log of 96 MiB, each commit synced, doublewrite. Each setting has to leave the same rows.

mod outcome;
mod rows;
mod setting;

use std::path::{Path, PathBuf};
use std::time::Instant;

use sandbox::{Sandbox, SandboxOptions};
use server::identifier::quote_text;
use server::{Interrupt, Session};
use tune::gain::{Gain, Gains};

pub use self::outcome::{SettingOutcome, TuneOutcome};
pub use self::setting::Setting;

use crate::choice::Choice;
use crate::error::Error;
use crate::head::Head;
use crate::host::{self, DATABASE};

/// Bytes of a line as text, and of its rows in both tables, for room on the disk.
const LINE_BYTES: u64 = 60;
const ROWS_BYTES: u64 = 300;
/// The server's own default.
const POOL_BYTES: u64 = 128 << 20;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// Lines of all files.
    pub lines: u64,
    /// Files, and transactions.
    pub files: u64,
    /// Which settings, beside the defaults; empty for all.
    pub settings: Vec<Setting>,
    /// Runs of each.
    pub repeat: usize,
    /// Where the server and the lines are.
    pub data_dir: PathBuf,
    /// Where `inrush doctor` finds what was measured; none to keep nothing.
    pub state_dir: Option<PathBuf>,
    /// True if the benchmark's server keeps its folder.
    pub keep: bool,
    /// Ends the run early.
    pub interrupt: Interrupt,
}

impl Default for TuneOptions {
    fn default() -> TuneOptions {
        TuneOptions {
            lines: 1_000_000,
            files: 50,
            settings: Vec::new(),
            repeat: 1,
            data_dir: host::default_data_dir(),
            state_dir: None,
            keep: false,
            interrupt: Interrupt::default(),
        }
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Errors: no space, no server, a setting that the server does not start with, one that leaves other rows.
pub fn run(options: &TuneOptions, say: &mut dyn FnMut(&str)) -> Result<TuneOutcome, Error> {
    if options.repeat == 0 || options.files == 0 || options.lines < options.files {
        let text = "--repeat and --files must be at least 1, and --lines at least 1 for each file";
        return Err(Error::Option(text.to_owned()));
    }
    let data_dir = &options.data_dir;
    let data_dir = std::path::absolute(data_dir).map_err(Error::io("finding", data_dir))?;
    let needed = options.lines * (LINE_BYTES + 3 * ROWS_BYTES) + (4 << 30);
    host::check_space(&data_dir, needed)?;
    let _lock = host::lock(&data_dir)?;
    let folder = data_dir.join("tune");
    let files = rows::make(&folder, options.lines, options.files, say)?;
    let sandbox = Sandbox::at(data_dir.join("server"))?;
    let yard = Yard { sandbox, options, files };
    // What a killed run left.
    yard.clear()?;
    let measured = yard.measure(say);
    if !options.keep {
        yard.clear()?;
    }
    let outcome = measured?;
    if let Some(state_dir) = &options.state_dir {
        let gains = gains(&outcome);
        let before = Gains::read(state_dir, &gains.host);
        let gains = gains.beside(before);
        gains.write(state_dir).map_err(Error::io("writing the measurements to", state_dir))?;
    }
    Ok(outcome)
}

/// The server's folder, and what is loaded.
struct Yard<'a> {
    sandbox: Sandbox,
    options: &'a TuneOptions,
    files: Vec<PathBuf>,
}

impl Drop for Yard<'_> {
    /// A run that failed leaves no server behind.
    fn drop(&mut self) {
        let _ = self.sandbox.stop();
    }
}

impl Yard<'_> {
    fn measure(&self, say: &mut dyn FnMut(&str)) -> Result<TuneOutcome, Error> {
        let mut settings = vec![Setting::Default];
        let wanted = self.options.settings.iter().copied();
        match self.options.settings.is_empty() {
            true => settings.extend(Setting::ALL),
            false => settings.extend(wanted.filter(|setting| *setting != Setting::Default)),
        }
        let mut outcome = TuneOutcome {
            head: Head::new(String::new()),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            lines: self.options.lines,
            files: self.options.files,
            notes: crate::machine::busy_note().into_iter().collect(),
            settings: Vec::new(),
        };
        let mut expected: Option<(Setting, String)> = None;
        for round in 0..self.options.repeat {
            for &setting in &settings {
                let (seconds, seen) = self.load(setting, &mut outcome.head.server_version)?;
                say(&format!("run {}, {}: {seconds:.2} s", round + 1, setting.text()));
                outcome.push(setting, seconds);
                match &expected {
                    Some((reference, expected)) if *expected != seen => {
                        return Err(Error::Different {
                            table: DATABASE.to_owned(),
                            method: setting.text(),
                            seen,
                            reference: reference.text(),
                            expected: expected.clone(),
                        });
                    }
                    Some(_) => {}
                    None => expected = Some((setting, seen)),
                }
            }
        }
        Ok(outcome)
    }

    /// Seconds of one load, and what it left.
    fn load(&self, setting: Setting, version: &mut String) -> Result<(f64, String), Error> {
        self.sandbox.stop()?;
        let mut extra = vec![
            "--innodb-buffer-pool-load-at-startup=OFF".to_owned(),
            "--innodb-buffer-pool-dump-at-shutdown=OFF".to_owned(),
        ];
        extra.extend(setting.arguments());
        let buffer_pool_bytes = Some(POOL_BYTES);
        let started = SandboxOptions { buffer_pool_bytes, extra, ..SandboxOptions::default() };
        self.sandbox.start(&started)?;
        let mut connect = self.sandbox.connect_options();
        connect.interrupt = self.options.interrupt.clone();
        let mut session = Session::connect(&connect)?;
        *version = session.version().to_string();
        rows::make_tables(&mut session)?;
        host::settle(&mut session, true)?;
        for statement in setting.session() {
            session.exec(statement)?;
        }
        let begun = Instant::now();
        self.files.iter().try_for_each(|file| load_file(&mut session, file))?;
        let seconds = begun.elapsed().as_secs_f64();
        Ok((seconds, rows::seen(&mut session)?))
    }

    fn clear(&self) -> Result<(), Error> {
        self.sandbox.stop()?;
        host::remove_dir(self.sandbox.dir())
    }
}

/// A line is a row of either table.
fn load_file(session: &mut Session, file: &Path) -> Result<(), Error> {
    let path = quote_text(&file.to_string_lossy());
    session.exec("START TRANSACTION")?;
    for into in rows::INTO {
        session.exec(&format!("LOAD DATA INFILE {path} INTO TABLE {into}"))?;
    }
    session.exec("COMMIT")?;
    Ok(())
}

/// The gains of single variables, for questions on this machine.
fn gains(outcome: &TuneOutcome) -> Gains {
    let default_seconds = outcome.seconds(Setting::Default);
    let single = outcome.settings.iter().filter(|one| !one.setting.is_several());
    let gains = single.flat_map(|one| {
        let seconds = one.least();
        one.setting.variables().map(move |(variable, value)| Gain {
            variable: variable.to_owned(),
            value: value.to_owned(),
            default_seconds,
            seconds,
        })
    });
    Gains {
        host: outcome.host.clone(),
        cpu: outcome.head.machine.cpu.clone(),
        cores: outcome.head.machine.cores,
        server: outcome.head.server_version.clone(),
        lines: outcome.lines,
        gains: gains.collect(),
    }
}
