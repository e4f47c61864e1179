//! Time taken, by the wall and by the processors: a busy machine lengthens the first, hardly the second.

use std::fs;
use std::time::Instant;

use serde::Serialize;

/// Ticks of a second in `/proc/PID/stat` (USER_HZ): 100 on every processor in use.
const TICKS: f64 = 100.0;
/// Places in `/proc/PID/stat`, counted from 0 behind the name: user and system time, then those of
/// children that have ended.
const UTIME: usize = 11;
const CUTIME: usize = 13;

/// Elapsed and processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Took {
    /// Seconds by the wall.
    pub seconds: f64,
    /// Processor seconds of the server; 0 where it is not the benchmark's own.
    pub server_cpu_seconds: f64,
    /// Processor seconds of the client: the benchmark and the programs it ran.
    pub client_cpu_seconds: f64,
}

/// A running clock.
#[derive(Debug)]
pub(crate) struct Clock {
    server: Option<u32>,
    started: Instant,
    server_cpu: f64,
    client_cpu: f64,
}

impl Clock {
    /// Starts it; `server` is the server's process, if it is on this machine and known.
    pub(crate) fn start(server: Option<u32>) -> Clock {
        Clock {
            server_cpu: cpu_of_server(server),
            client_cpu: cpu_of_client(),
            server,
            started: Instant::now(),
        }
    }

    /// The time until now.
    pub(crate) fn stop(self) -> Took {
        Took {
            seconds: self.started.elapsed().as_secs_f64(),
            server_cpu_seconds: cpu_of_server(self.server) - self.server_cpu,
            client_cpu_seconds: cpu_of_client() - self.client_cpu,
        }
    }
}

/// Processor seconds of a process so far; 0 where it is not known.
pub(crate) fn cpu_of_server(pid: Option<u32>) -> f64 {
    let stat = pid.and_then(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    cpu_seconds(&stat.unwrap_or_default(), UTIME)
}

/// Those of this process, and of the programs that it ran.
pub(crate) fn cpu_of_client() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    cpu_seconds(&stat, UTIME) + cpu_seconds(&stat, CUTIME)
}

/// Two neighbouring times of a line of `/proc/PID/stat`, added; 0 of any other text.
fn cpu_seconds(stat: &str, first: usize) -> f64 {
    // The name, in brackets, may hold anything.
    let Some((_, fields)) = stat.rsplit_once(") ") else { return 0.0 };
    let times = fields.split_whitespace().skip(first).take(2);
    times.filter_map(|time| time.parse::<f64>().ok()).sum::<f64>() / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 1 0 5";
        assert_eq!(cpu_seconds(stat, UTIME), 2.0);
        assert_eq!(cpu_seconds(stat, CUTIME), 0.5);
        assert_eq!(cpu_seconds("", UTIME), 0.0);
    }

    #[test]
    fn work_takes_processor_time() {
        let clock = Clock::start(None);
        let started = Instant::now();
        let mut sum = 0_u64;
        while started.elapsed().as_millis() < 60 || cpu_of_client() < clock.client_cpu + 0.02 {
            sum = sum.wrapping_mul(31).wrapping_add(1);
        }
        let took = clock.stop();
        assert!(took.seconds >= 0.06 && took.client_cpu_seconds >= 0.01, "{took:?} {sum}");
        assert_eq!(took.server_cpu_seconds, 0.0);
    }
}
