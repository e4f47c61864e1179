//! How many connections: climbs while more of them load faster, then looks to both sides.
//!
//! ```text
//! Ramp:  the number begun with, its double, its double's double ..  while a doubling gains a tenth
//! Rest:  loads, and measures what it has                            until looking is paid for
//! Probe: half as many more, or a third fewer                        kept if they load faster
//! ```
//!
//! A probe that finds nothing loses time; the next one waits until all that was lost is less than
//! [`LOSS_SHARE`] of the load. So a short load looks around once or twice, a long one until it
//! knows, and again when the server changes.

use std::time::Duration;

use super::sample::{Sample, Samples};

/// Share of the load's time that looking around may cost.
const LOSS_SHARE: f64 = 0.01;

/// Expected cost of a probe: this share of the load's speed while it lasts.
const LOSS_EXPECTED: f64 = 0.05;

/// Gain of a doubling that has the next one tried. A smaller gain means that the top is near.
const RAMP_GAIN: f64 = 0.10;
/// Where it gains as much as this, the top is so far away that the next step is twice a doubling.
const RAMP_GAIN_FULL: f64 = 0.8;
/// Rounds of all connections that a doubling takes at most, when it is in doubt what it gains.
const RAMP_ROUNDS_MAX: usize = 3;

/// Gain of a probe that is kept: a smaller one is not worth the connections.
const PROBE_GAIN: f64 = 0.015;

/// Loss that fewer connections may bring if the server's log is full.
const PRESSED_LOSS: f64 = 0.005;

/// Standard errors that a gain must be away from what decides, to decide before the last round.
const SURE: f64 = 1.5;

/// Fewest chunks that decide anything.
const CHUNKS_MIN: usize = 4;

/// Most rounds of all connections in a probe, or this share of all chunks so far if that is more.
/// Differences that do not show by then matter little.
const PROBE_ROUNDS_MAX: usize = 4;
const PROBE_SHARE: usize = 25;

/// Chunks loaded by what has proved best, for each one of the probe before, until the next.
const REST_MIN: usize = 3;
const REST_MAX: usize = 48;

/// Chooses the number of connections.
#[derive(Debug)]
pub(super) struct Search {
    most: usize,
    /// The best number so far.
    best: usize,
    /// Chunks at `best`, lately.
    base: Samples,
    phase: Phase,
    /// True if the next probe has more connections.
    upward: bool,
    /// True if more connections could only press on the server: then as few as do it are best.
    pressed: bool,
    /// True if the ramp has gained by more connections.
    climbed: bool,
    /// Probes in a row that were not kept.
    failures: usize,
    /// Chunks so far.
    chunks: usize,
    /// Seconds that probes cost, against what the best would have done meanwhile.
    lost_seconds: f64,
}

#[derive(Debug)]
enum Phase {
    /// `--connections`.
    Fixed,
    /// The first round tells of opened connections and cold tables, not of the load.
    Cold { left: usize, near: bool },
    /// Changes the connections in large steps; `before` is what the number before did.
    Ramp { before: Option<(usize, Samples)> },
    /// `left` chunks before the next probe.
    Rest { left: usize },
    /// Loads with `to` connections to see what they do.
    Probe { to: usize, samples: Samples },
}

impl Search {
    /// Exactly `connections`.
    pub(super) fn fixed(connections: usize) -> Search {
        Search::with(connections, connections, Phase::Fixed)
    }

    /// Begins with `start`, never exceeds `most`. Where the top is taken to be `near`, it is not
    /// climbed to in large steps.
    pub(super) fn new(start: usize, most: usize, near: bool) -> Search {
        let start = start.clamp(1, most.max(1));
        Search::with(start, most, Phase::Cold { left: start, near })
    }

    fn with(best: usize, most: usize, phase: Phase) -> Search {
        let base = Samples::default();
        Search {
            most,
            best,
            base,
            phase,
            upward: true,
            pressed: false,
            climbed: false,
            failures: 0,
            chunks: 0,
            lost_seconds: 0.0,
        }
    }

    /// Connections to load with now.
    pub(super) fn connections(&self) -> usize {
        match self.phase {
            Phase::Probe { to, .. } => to,
            _ => self.best,
        }
    }

    /// The best number.
    pub(super) fn best(&self) -> usize {
        self.best
    }

    /// Gives up what is being tried: connections were taken away.
    pub(super) fn suspend(&mut self) {
        if let Phase::Probe { .. } = self.phase {
            self.rest(self.best);
        }
    }

    /// Forgets what was measured: chunks are loaded in another way from now on.
    pub(super) fn forget(&mut self) {
        self.base.clear();
        match &mut self.phase {
            Phase::Fixed | Phase::Cold { .. } | Phase::Rest { .. } => {}
            Phase::Ramp { before } => *before = None,
            Phase::Probe { .. } => self.phase = Phase::Rest { left: 0 },
        }
    }

    /// Tells if writers already wait for pages to be flushed.
    pub(super) fn press(&mut self, pressed: bool) {
        self.pressed = pressed;
    }

    /// A chunk was loaded; the load began `now` ago.
    pub(super) fn push(&mut self, sample: Sample, now: Duration) {
        self.chunks += 1;
        // Begun or ended beside another number of connections, it tells of neither.
        let connections = self.connections() as f64;
        let is_full = (sample.beside - connections).abs() <= 0.1 * connections;
        let enough = |samples: &Samples| samples.len() >= self.best.max(CHUNKS_MIN);
        match &mut self.phase {
            Phase::Fixed => {}
            Phase::Cold { left, near } => {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    let next = Phase::Ramp { before: None };
                    self.phase = if *near { Phase::Rest { left: 0 } } else { next };
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
                let may_lose = LOSS_SHARE * now.as_secs_f64();
                let round_seconds = self.base.seconds() / self.base.len() as f64;
                let loss = self.lost_seconds + LOSS_EXPECTED * round_seconds;
                if *left == 0 && enough(&self.base) && loss <= may_lose {
                    self.probe();
                }
            }
            Phase::Probe { samples, .. } => {
                samples.push(sample);
                self.judge();
            }
        }
    }

    /// Goes on in the direction in which it gains, or is near the top.
    fn ramp(&mut self) {
        let Phase::Ramp { before } = &mut self.phase else { return };
        let Some((connections, samples)) = before else { return self.step(2) };
        let gain = self.base.rate() / samples.rate() - 1.0;
        let doubt = SURE * self.base.error_of_ratio(samples);
        let is_clear = (gain - RAMP_GAIN).abs() > doubt;
        if !is_clear && self.base.len() < RAMP_ROUNDS_MAX * self.best.max(CHUNKS_MIN) {
            return;
        }
        if gain >= RAMP_GAIN {
            return self.step(if gain >= RAMP_GAIN_FULL { 4 } else { 2 });
        }
        // More that gain next to nothing at the very start may also mean that it is too many.
        let is_top = self.climbed || !self.upward;
        if gain < if is_top { 0.0 } else { RAMP_GAIN / 2.0 } {
            (self.best, self.base) = (*connections, std::mem::take(samples));
            if !is_top {
                self.upward = false;
                return self.step(2);
            }
        }
        self.phase = Phase::Rest { left: 0 };
    }

    /// Goes to `times` as many connections, or as few.
    fn step(&mut self, times: usize) {
        let to = match self.upward {
            true => self.best.saturating_mul(times).min(self.most),
            false => (self.best / 2).max(1),
        };
        self.climbed |= matches!(self.phase, Phase::Ramp { before: Some(_) }) && self.upward;
        if to == self.best {
            self.phase = Phase::Rest { left: 0 };
            self.upward = !self.upward;
        } else {
            self.phase = Phase::Ramp { before: Some((self.best, std::mem::take(&mut self.base))) };
            self.best = to;
        }
    }

    /// Tries another number of connections.
    fn probe(&mut self) {
        self.upward &= !self.pressed;
        // Large steps to both sides, then small ones, then large ones again.
        let is_small = (self.failures / 2) % 2 == 1;
        let by = if is_small { self.best / 5 } else { self.best.div_ceil(2) }.max(1);
        let to = match self.upward {
            true => (self.best + by).min(self.most),
            // As far down as up: from there it would be the same step up.
            false => (self.best * self.best / (self.best + by)).clamp(1, self.best.max(2) - 1),
        };
        if to == self.best {
            self.upward = !self.upward;
            self.rest(self.best);
        } else {
            self.base.keep_last(self.probe_chunks_max(self.best));
            self.phase = Phase::Probe { to, samples: Samples::default() };
        }
    }

    /// Keeps what is tried, gives it up, or waits for more chunks.
    fn judge(&mut self) {
        let Phase::Probe { to, samples } = &self.phase else { return };
        let round = (*to).max(CHUNKS_MIN);
        if samples.len() < round {
            return;
        }
        let gain = samples.rate() / self.base.rate() - 1.0;
        let doubt = samples.error_of_ratio(&self.base);
        let wanted = if self.pressed && *to < self.best { -PRESSED_LOSS } else { PROBE_GAIN };
        let is_clear = (gain - wanted).abs() > SURE * doubt;
        if !is_clear && samples.len() < self.probe_chunks_max(*to) {
            return;
        }
        let (to, samples) = (*to, samples.clone());
        if gain >= wanted {
            // Nearly as much as was added: the top is far away.
            let added = to as f64 / self.best as f64 - 1.0;
            let is_far = self.upward && gain >= RAMP_GAIN_FULL * added;
            self.best = to;
            self.base = samples;
            self.failures = 0;
            self.rest(0);
            if is_far {
                self.phase = Phase::Ramp { before: None };
                self.climbed = true;
                self.step(2);
            }
        } else {
            let seconds = samples.seconds() / to as f64;
            self.lost_seconds += (-gain).max(0.0) * seconds;
            self.upward = !self.upward;
            self.failures += 1;
            self.rest(samples.len());
        }
    }

    /// Chunks that decide at most about `connections`.
    fn probe_chunks_max(&self, connections: usize) -> usize {
        (PROBE_ROUNDS_MAX * connections.max(CHUNKS_MIN)).max(self.chunks / PROBE_SHARE)
    }

    /// Loads by what is best, after a probe of `chunks`.
    fn rest(&mut self, chunks: usize) {
        let times = REST_MIN.saturating_mul(1 << (self.failures / 2).min(8)).min(REST_MAX);
        self.phase = Phase::Rest { left: chunks.saturating_mul(times) };
    }
}
