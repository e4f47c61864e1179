//! How many connections: climbs while more of them load faster, then looks to both sides.
//!
//! ```text
//! Ramp:  half the known good number, that number, its double ..  while a doubling gains a tenth
//! Rest:  loads, and measures what it has                         until looking is paid for
//! Probe: half as many more, or a third fewer                     kept if they load faster
//! ```
//!
//! A probe that finds nothing loses time; the next one waits until all that was lost is less than
//! [`LOSS_SHARE`] of the load. So a short load looks around once or twice, a long one until it
//! knows, and again when the server changes.

use std::time::Duration;

use super::sample::{Sample, Samples};

/// Share of the load's time that looking around may cost.
const LOSS_SHARE: f64 = 0.015;

/// What a doubling must gain for the next one to be tried. Where it gains less, the top is near.
const RAMP_GAIN: f64 = 0.10;

/// What a probe must gain to be kept: less than this is not worth the connections.
const PROBE_GAIN: f64 = 0.03;

/// Fewest portions that decide anything.
const PORTIONS_MIN: usize = 4;

/// Rounds of all lanes that a probe takes at most. What is not seen by then matters little.
const PROBE_ROUNDS_MAX: usize = 4;

/// Portions loaded by what has proved best, for each one of the probe before, until the next.
const REST_MIN: usize = 3;
const REST_MAX: usize = 48;

/// Chooses the number of connections.
#[derive(Debug)]
pub(super) struct Search {
    most: usize,
    /// What has proved best so far.
    best: usize,
    /// Portions at `best`, lately.
    base: Samples,
    phase: Phase,
    /// Whether the next probe is of more connections.
    upward: bool,
    /// Probes in a row that were not kept.
    failures: usize,
    /// Seconds that probes cost, against what the best would have done meanwhile.
    lost_seconds: f64,
}

#[derive(Debug)]
enum Phase {
    /// `--connections`.
    Fixed,
    /// The first round tells of opened connections and cold tables, not of the load.
    Cold {
        left: usize,
    },
    /// Doubles the connections; what half of them did is known after the first time.
    Ramp {
        half: Option<Samples>,
    },
    /// `left` portions before the next probe.
    Rest {
        left: usize,
    },
    Probe {
        to: usize,
        samples: Samples,
    },
}

impl Search {
    /// Exactly `connections`.
    pub(super) fn fixed(connections: usize) -> Search {
        Search::with(connections, connections, Phase::Fixed)
    }

    /// Begins near `start`, never exceeds `most`.
    pub(super) fn new(start: usize, most: usize) -> Search {
        let half = (start.min(most) / 2).max(1);
        Search::with(half, most, Phase::Cold { left: half })
    }

    fn with(best: usize, most: usize, phase: Phase) -> Search {
        let base = Samples::default();
        Search { most, best, base, phase, upward: true, failures: 0, lost_seconds: 0.0 }
    }

    /// Connections to load with now.
    pub(super) fn connections(&self) -> usize {
        match self.phase {
            Phase::Probe { to, .. } => to,
            _ => self.best,
        }
    }

    /// What has proved best.
    pub(super) fn best(&self) -> usize {
        self.best
    }

    /// Gives up what is being tried: connections were taken away.
    pub(super) fn suspend(&mut self) {
        if let Phase::Probe { .. } = self.phase {
            self.rest(self.best);
        }
    }

    /// A portion was loaded; the load began `now` ago.
    pub(super) fn push(&mut self, sample: Sample, now: Duration) {
        // Begun or ended beside another number of lanes, it tells of neither.
        let connections = self.connections() as f64;
        let is_full = (sample.beside - connections).abs() <= 0.1 * connections;
        let enough = |samples: &Samples| samples.len() >= self.best.max(PORTIONS_MIN);
        match &mut self.phase {
            Phase::Fixed => {}
            Phase::Cold { left } => {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.phase = Phase::Ramp { half: None };
                }
            }
            _ if !is_full => {}
            Phase::Ramp { .. } => {
                self.base.push(sample);
                if enough(&self.base) {
                    self.ramp();
                }
            }
            Phase::Rest { left } => {
                *left = left.saturating_sub(1);
                self.base.push(sample);
                let allowed = LOSS_SHARE * now.as_secs_f64();
                if *left == 0 && enough(&self.base) && self.lost_seconds <= allowed {
                    self.probe();
                }
            }
            Phase::Probe { samples, .. } => {
                samples.push(sample);
                self.judge();
            }
        }
    }

    /// Goes on doubling, or back, or is near the top.
    fn ramp(&mut self) {
        let Phase::Ramp { half } = &self.phase else { return };
        let gain = half.as_ref().map(|half| self.base.rate() / half.rate() - 1.0);
        if gain.is_some_and(|gain| gain < 0.0) {
            if let Phase::Ramp { half: Some(half) } =
                std::mem::replace(&mut self.phase, Phase::Rest { left: 0 })
            {
                self.base = half;
                self.best = (self.best / 2).max(1);
            }
            self.upward = true;
            return;
        }
        if gain.is_none_or(|gain| gain >= RAMP_GAIN) && self.best < self.most {
            let half = std::mem::take(&mut self.base);
            self.best = (self.best * 2).min(self.most);
            self.phase = Phase::Ramp { half: Some(half) };
        } else {
            self.phase = Phase::Rest { left: 0 };
        }
    }

    /// Tries another number of connections.
    fn probe(&mut self) {
        let more = (self.best + self.best.div_ceil(2)).min(self.most);
        let fewer = self.best - (self.best / 3).max(1).min(self.best - 1);
        let to = if self.upward { more } else { fewer };
        if to == self.best {
            self.upward = !self.upward;
            self.rest(self.best);
        } else {
            self.base.keep_last(4 * self.best.max(PORTIONS_MIN));
            self.phase = Phase::Probe { to, samples: Samples::default() };
        }
    }

    /// Keeps what is tried, gives it up, or waits for more portions.
    fn judge(&mut self) {
        let Phase::Probe { to, samples } = &self.phase else { return };
        let round = (*to).max(PORTIONS_MIN);
        if samples.len() < round {
            return;
        }
        let gain = samples.rate() / self.base.rate() - 1.0;
        let doubt = samples.error_of_ratio(&self.base);
        let is_clear = (gain - PROBE_GAIN).abs() > 1.5 * doubt;
        if !is_clear && samples.len() < PROBE_ROUNDS_MAX * round {
            return;
        }
        let (to, samples) = (*to, samples.clone());
        if gain >= PROBE_GAIN {
            self.best = to;
            self.base = samples;
            self.failures = 0;
            self.rest(0);
        } else {
            let seconds = samples.seconds() / to as f64;
            self.lost_seconds += (-gain).max(0.0) * seconds;
            self.upward = !self.upward;
            self.failures += 1;
            self.rest(samples.len());
        }
    }

    /// Loads by what is best, after a probe of `portions`.
    fn rest(&mut self, portions: usize) {
        let times = REST_MIN.saturating_mul(1 << (self.failures / 2).min(8)).min(REST_MAX);
        self.phase = Phase::Rest { left: portions.saturating_mul(times) };
    }
}
