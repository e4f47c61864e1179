//! `inrush bench replay`: a dump of the eight TPC-H tables, by the client and by Inrush.
//!
//! Two dumps, as `mariadb-dump --databases` writes them of HammerDB's tables with their foreign keys:
//! `plain`, and `numbered`, in which every table has an AUTO_INCREMENT column. Each goes into a server
//! without the database, by `mariadb < dump.sql`, by `inrush replay --as statements` and by `inrush
//! replay`. Afterwards every way has to have left the tables that were dumped: their rows (CHECKSUM
//! TABLE) and their CREATE statements (`mariadb-dump --no-data`, byte for byte).
//!
//! In reading order: [`dump`] makes the dumps and keeps them, [`player`] replays and looks at what it
//! got, [`outcome`] is what is printed.

pub mod dump;
mod maker;
pub mod outcome;
mod player;
mod way;

use std::path::Path;

pub use self::dump::Kind;
pub use self::outcome::{DumpOutcome, ReplayOutcome};
pub use self::way::ReplayWay;

use self::dump::Dump;
use self::player::Player;
use crate::choice::Choice;
use crate::error::Error;
use crate::head::Head;
use crate::host::{self, DATABASE, Host, HostOptions};

/// Bytes of text at scale 1: the rows, and each of the two dumps (quotes, and keys where numbered).
const TEXT_BYTES: f64 = 1.3e9;
/// Bytes of all finished tables at scale 1, keys made by foreign keys included.
const TABLES_BYTES: f64 = 2.4e9;

/// Options of a run. `ReplayOptions::default()` is scale 1, both dumps, every method once, on a
/// server of its own.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// TPC-H scale factor: 1 is 8.7 million rows.
    pub scale: f64,
    /// Which dumps; empty for both.
    pub kinds: Vec<Kind>,
    /// The ways to replay each; empty for all.
    pub ways: Vec<ReplayWay>,
    /// Runs of each way.
    pub repeat: usize,
    /// Memory for Inrush, in bytes; none for its default.
    pub memory_bytes_max: Option<u64>,
    /// Threads for Inrush; none for its default.
    pub threads: Option<usize>,
    /// Connections for Inrush; none for its default.
    pub connections: Option<usize>,
    /// The server, and the program that is measured.
    pub host: HostOptions,
}

impl Default for ReplayOptions {
    fn default() -> ReplayOptions {
        ReplayOptions {
            scale: 1.0,
            kinds: Vec::new(),
            ways: Vec::new(),
            repeat: 1,
            memory_bytes_max: None,
            threads: None,
            connections: None,
            host: HostOptions::default(),
        }
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Needs the space of the rows, the dumps, the tables and 5 GB. Errors: no space, no server, no
/// `mariadb` or `mariadb-dump`, a replay that fails, and one that leaves other tables.
pub fn run(options: &ReplayOptions, say: &mut dyn FnMut(&str)) -> Result<ReplayOutcome, Error> {
    if options.repeat == 0 {
        return Err(Error::Option("--repeat must be at least 1".to_owned()));
    }
    let data_dir = options.host.data_dir()?;
    options.host.check_space(needed_bytes(options))?;
    let host = Host::start(&options.host, (TABLES_BYTES * options.scale) as u64)?;
    let mut player = Player::new(&host, host.program(&options.host), options)?;
    let mut dumps = Vec::new();
    for (index, kind) in Kind::chosen(&options.kinds).into_iter().enumerate() {
        let dump = make(&mut player, kind, options.scale, &data_dir, say)?;
        dumps.push(compare(&mut player, &dump, options, index, say)?);
    }
    let outcome = ReplayOutcome {
        head: Head::new(player.session.version().to_string()),
        server_settings: host::settings(&mut player.session)?,
        scale: options.scale,
        notes: host.notes.clone(),
        dumps,
    };
    if !options.host.keep {
        player.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    }
    drop(player);
    host.finish()?;
    Ok(outcome)
}

fn needed_bytes(options: &ReplayOptions) -> u64 {
    let texts = 1.0 + Kind::chosen(&options.kinds).len() as f64;
    // Inrush may hold a table twice: as a sorted run and as its file.
    (options.scale * (texts * TEXT_BYTES + 1.5 * TABLES_BYTES)) as u64
}

/// Finds the dump where a run before left it, or makes it.
fn make(
    player: &mut Player,
    kind: Kind,
    scale: f64,
    data_dir: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Dump, Error> {
    let dir = data_dir.join(format!("sf{scale}"));
    let server = player.session.version().to_string();
    if let Some(found) = dump::existing(&dir, kind, scale, &server) {
        return Ok(found);
    }
    say(&format!("making the {} dump of scale {scale}", kind.name()));
    maker::make(&dir, kind, scale, player)
}

/// Replays one dump in every way; `first` says which begins, so that it is not always the same.
fn compare(
    player: &mut Player,
    dump: &Dump,
    options: &ReplayOptions,
    first: usize,
    say: &mut dyn FnMut(&str),
) -> Result<DumpOutcome, Error> {
    let ways = ReplayWay::chosen(&options.ways);
    let mut outcome = DumpOutcome::new(dump, &ways);
    for round in 0..options.repeat {
        for turn in 0..ways.len() {
            let way = ways[(first + round + turn) % ways.len()];
            say(&format!("{}: {}", dump.kind.name(), way.name()));
            let played = player.play(way, dump)?;
            say(&format!("{}: {:.2} s", dump.kind.name(), played.took.seconds));
            outcome.push(way, played);
        }
    }
    Ok(outcome)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn no_run_at_all_is_refused_before_anything() {
        let options = ReplayOptions {
            repeat: 0,
            host: HostOptions { data_dir: "/nonexistent".into(), ..HostOptions::default() },
            ..ReplayOptions::default()
        };
        let error = run(&options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("--repeat"), "{error}");
    }

    #[test]
    fn more_dumps_need_more_room() {
        let both = ReplayOptions::default();
        let one = ReplayOptions { kinds: vec![Kind::Plain], ..ReplayOptions::default() };
        assert!(needed_bytes(&both) > needed_bytes(&one) + 1_000_000_000);
    }
}
