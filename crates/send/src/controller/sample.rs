//! Measured chunks, and what a few of them are worth.

use std::collections::VecDeque;
use std::time::Duration;

/// One chunk that was loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Bytes of input.
    pub(super) bytes: f64,
    /// From the permit to the commit.
    pub(super) seconds: f64,
    /// Connections at work meanwhile, on average, this one included.
    pub(super) beside: f64,
}

impl Sample {
    pub(super) fn new(bytes: u64, took: Duration, beside: f64) -> Sample {
        Sample { bytes: bytes.max(1) as f64, seconds: took.as_secs_f64().max(1e-9), beside }
    }

    /// Seconds a byte.
    fn cost(&self) -> f64 {
        self.seconds / self.bytes
    }
}

/// Chunks that were loaded under the same settings.
///
/// By Little's law the bytes a second of all connections are the connections times the bytes a second of one,
/// so that every chunk tells of the whole, however few there are: no window of time has to pass
/// whose ends cut chunks in two.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    samples: VecDeque<Sample>,
}

/// Most samples that are kept: older ones tell of another time.
const SAMPLES_MAX: usize = 1024;

impl Samples {
    pub(super) fn push(&mut self, sample: Sample) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    pub(super) fn clear(&mut self) {
        self.samples.clear();
    }

    /// Keeps the last `count`.
    pub(super) fn keep_last(&mut self, count: usize) {
        let drop = self.samples.len().saturating_sub(count);
        self.samples.drain(..drop);
    }

    /// Bytes a second of all connections together; 0 without samples.
    pub(super) fn rate(&self) -> f64 {
        let (mut bytes, mut seconds) = (0.0, 0.0);
        for sample in &self.samples {
            bytes += sample.bytes * sample.beside;
            seconds += sample.seconds;
        }
        if seconds > 0.0 { bytes / seconds } else { 0.0 }
    }

    /// Seconds a byte of one connection; 0 without samples.
    pub(super) fn cost(&self) -> f64 {
        let bytes: f64 = self.samples.iter().map(|sample| sample.bytes).sum();
        let seconds: f64 = self.samples.iter().map(|sample| sample.seconds).sum();
        if bytes > 0.0 { seconds / bytes } else { 0.0 }
    }

    /// Sum of the seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.samples.iter().map(|sample| sample.seconds).sum()
    }

    /// Standard deviation of the cost of one chunk, as a share of the average; at least a tenth,
    /// for a few chunks may agree by chance.
    fn spread(&self) -> f64 {
        const SPREAD_MIN: f64 = 0.1;
        let count = self.samples.len() as f64;
        if count < 2.0 {
            return 2.0 * SPREAD_MIN;
        }
        let mean = self.samples.iter().map(Sample::cost).sum::<f64>() / count;
        let squares: f64 = self.samples.iter().map(|s| (s.cost() - mean).powi(2)).sum();
        ((squares / (count - 1.0)).sqrt() / mean).max(SPREAD_MIN)
    }

    /// Standard error of `self.rate() / other.rate()`, about 1.
    pub(super) fn error_of_ratio(&self, other: &Samples) -> f64 {
        let part = |samples: &Samples| samples.spread().powi(2) / samples.len().max(1) as f64;
        (part(self) + part(other)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(seconds: &[f64], beside: f64) -> Samples {
        let mut samples = Samples::default();
        for &seconds in seconds {
            samples.push(Sample::new(1000, Duration::from_secs_f64(seconds), beside));
        }
        samples
    }

    #[test]
    fn the_rate_is_that_of_all_connections() {
        let four = samples(&[2.0, 2.0, 1.0, 3.0], 4.0);
        assert!((four.rate() - 2000.0).abs() < 1e-6);
        assert!((four.cost() - 0.002).abs() < 1e-9);
        assert_eq!(Samples::default().rate(), 0.0);
    }

    #[test]
    fn more_samples_leave_less_doubt() {
        let few = samples(&[1.0, 1.2, 0.8], 2.0);
        let many = samples(&[1.0, 1.2, 0.8].repeat(12), 2.0);
        assert!(many.error_of_ratio(&many) < few.error_of_ratio(&few) / 2.0);
        assert!(samples(&[1.0, 1.0], 1.0).error_of_ratio(&few) > 0.05);
    }

    #[test]
    fn old_samples_are_forgotten() {
        let mut samples = samples(&vec![1.0; 2 * SAMPLES_MAX], 1.0);
        assert_eq!(samples.len(), SAMPLES_MAX);
        samples.keep_last(3);
        assert_eq!(samples.len(), 3);
        assert!((samples.seconds() - 3.0).abs() < 1e-9);
    }
}
