//! Ctrl-C and its like: the first asks the load to stop and clean up, the second ends the program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use server::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::failure::{FAILED, Failure};
use crate::say;

/// Signals that mean that the load is to end.
const ENDINGS: [(i32, &str); 3] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")];

/// The same signal so soon again is the same wish, not one of somebody who has waited.
const ECHO: Duration = Duration::from_millis(200);

/// The tables of a load that a second signal ended.
pub const LOADED: &str = "a table that was being replaced is complete, either the old or the new one; a table that rows \
     were being added to may have some of them; the next load of the table cleans up";
/// The tables of a command that changes none.
pub const UNCHANGED: &str = "no table was changed; files that were being written may be incomplete";

/// From now on these signals go to `interrupt`, and a second one ends the program with the words `left`. One that
/// whoever started us had us ignore, as `nohup` does, stays ignored.
pub fn watch(interrupt: &Interrupt, left: &'static str, quiet: bool) -> Result<(), Failure> {
    let ignored = ignored_mask();
    let endings = ENDINGS.map(|(signal, _)| signal);
    let endings = endings.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let wrong = |error| Failure::failed(format!("watching for signals: {error}"));
    let mut signals = Signals::new(endings).map_err(wrong)?;
    let interrupt = interrupt.clone();
    // A file beyond `ulimit -f` is then an error like any other.
    flag::register(SIGXFSZ, Arc::default()).map_err(wrong)?;
    let thread = std::thread::Builder::new().name("signals".to_owned());
    let watch = move || {
        disk::failpoint::hit("thread.signals");
        let mut asked: Option<(i32, Instant)> = None;
        for signal in signals.forever() {
            // `timeout` sends its signal to the program and to the group that it is in.
            if asked.is_some_and(|(first, at)| first == signal && at.elapsed() < ECHO) {
                continue;
            }
            asked.get_or_insert((signal, Instant::now()));
            obey(&interrupt, signal, left, quiet);
        }
    };
    thread.spawn(watch).map(drop).map_err(wrong)
}

fn obey(interrupt: &Interrupt, signal: i32, left: &str, quiet: bool) {
    let name = ENDINGS.iter().find(|(known, _)| *known == signal).map_or("a signal", |(_, n)| n);
    if interrupt.is_requested() {
        say(format_args!("inrush: ended at once by a second signal, {name}: {left}"));
        signal_hook::low_level::exit(i32::from(FAILED));
    }
    interrupt.request(name);
    if !quiet {
        say(format_args!(
            "{name}: stopping and cleaning up; a second signal ends the program at \
                          once"
        ));
    }
}

/// The signals that are ignored, a bit each; none where the kernel does not say.
fn ignored_mask() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
