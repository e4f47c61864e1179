//! What a load takes besides its rows: looking at server and table, and tables of its own that are made,
//! written out, imported, swapped in and dropped.

use serde::{Deserialize, Serialize};

/// Weight of a load beside those before it.
const WEIGHT: f64 = 0.3;
/// Beyond these nothing was measured.
const SECONDS_MIN: f64 = 1e-3;
const SECONDS_MAX: f64 = 10.0;

/// Ways in, as far as they differ in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// A table is built and swapped in.
    Built,
    /// The same with the rows of the target, which is held and written out.
    Merged,
    /// Rows are sent into a table that is swapped in.
    Swapped,
    /// Rows are sent into the target.
    Added,
}

/// Seconds of each, once there were loads that had little else to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Fixed {
    built: Option<f64>,
    merged: Option<f64>,
    swapped: Option<f64>,
    added: Option<f64>,
}

impl Fixed {
    /// By those loads; before the first, what 20,000 rows took on two cores with nothing beside them
    /// (10.11.19).
    pub(crate) fn seconds(&self, means: Means) -> f64 {
        let (known, usual) = match means {
            Means::Built => (self.built, 0.06),
            Means::Merged => (self.merged, 0.07),
            Means::Swapped => (self.swapped, 0.03),
            Means::Added => (self.added, 0.02),
        };
        known.unwrap_or(usual).clamp(SECONDS_MIN, SECONDS_MAX)
    }

    /// Remembers what a load took so.
    pub(crate) fn learn(&mut self, means: Means, seen: f64) {
        if !(SECONDS_MIN..=SECONDS_MAX).contains(&seen) {
            return;
        }
        let known = match means {
            Means::Built => &mut self.built,
            Means::Merged => &mut self.merged,
            Means::Swapped => &mut self.swapped,
            Means::Added => &mut self.added,
        };
        *known = Some(known.map_or(seen, |known| known * (1.0 - WEIGHT) + seen * WEIGHT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_means_takes_what_it_took_before() {
        let mut fixed = Fixed::default();
        let usual = fixed.seconds(Means::Built);
        fixed.learn(Means::Merged, 0.5);
        fixed.learn(Means::Merged, 1.5);
        fixed.learn(Means::Merged, 1e9);
        assert!((fixed.seconds(Means::Merged) - 0.8).abs() < 1e-9, "{fixed:?}");
        assert!((fixed.seconds(Means::Built) - usual).abs() < 1e-9, "{fixed:?}");
    }
}
