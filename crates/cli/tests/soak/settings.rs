//! Settings of the soak, by variables.
//!
//! | variable | |
//! | --- | --- |
//! | `SOAK_MINUTES` | how long to go on |
//! | `SOAK_SEED` | seed of the first case; those after it count up. Default: the time |
//! | `SOAK_CASES` | how many cases |
//! | `SOAK_SERVERS` | `mariadbd` and `mysqld` files separated by commas; `installed` is the installed one |
//! | `SOAK_ONLY` | `sent`: only cases whose rows are sent to the server |
//! | `SOAK_DIR` | where the files of failed cases go |

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// Cases when nothing is said, as in `make test`.
const FEW: u64 = 10;
/// Where they start then: some with kills, some without.
const FEW_SEED: u64 = 4;

pub(crate) struct Settings {
    pub(crate) seed: u64,
    cases: u64,
    end: Option<Instant>,
    /// None is the installed one.
    pub(crate) servers: Vec<Option<PathBuf>>,
    pub(crate) only_sent: bool,
    pub(crate) failed_dir: PathBuf,
    /// True to report as one goes.
    pub(crate) is_long: bool,
}

impl Settings {
    pub(crate) fn of_environment() -> Result<Settings, String> {
        let minutes: Option<f64> = number("SOAK_MINUTES")?;
        let (seed, cases) = (number("SOAK_SEED")?, number("SOAK_CASES")?);
        let is_long = minutes.is_some() || seed.is_some() || cases.is_some();
        let end = minutes.map(|minutes| {
            Instant::now() + Duration::try_from_secs_f64(minutes * 60.0).unwrap_or_default()
        });
        // A seed alone is a case to be had again.
        let all = match (minutes, seed) {
            (Some(_), _) => u64::MAX,
            (None, Some(_)) => 1,
            (None, None) => FEW,
        };
        let fresh = if is_long { now() } else { FEW_SEED };
        Ok(Settings {
            seed: seed.unwrap_or(fresh),
            cases: cases.unwrap_or(all),
            end,
            servers: servers(),
            only_sent: only_sent()?,
            failed_dir: variable("SOAK_DIR").unwrap_or_else(|| "soak-failed".to_owned()).into(),
            is_long,
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    pub(crate) fn end_seed(&self) -> u64 {
        self.seed.saturating_add(self.cases)
    }
}

fn only_sent() -> Result<bool, String> {
    match variable("SOAK_ONLY").as_deref() {
        None => Ok(false),
        Some("sent") => Ok(true),
        Some(other) => Err(format!("SOAK_ONLY is {other:?}; it may be sent")),
    }
}

fn servers() -> Vec<Option<PathBuf>> {
    let Some(list) = variable("SOAK_SERVERS") else { return vec![None] };
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| (name != "installed").then(|| name.into())).collect()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn number<T: std::str::FromStr>(name: &str) -> Result<Option<T>, String> {
    let Some(text) = variable(name) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| format!("{name} is {text:?}, which is no number"))
}

/// Seconds of the clock: small, and another for each run.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() % 100_000_000 * 1000)
}
