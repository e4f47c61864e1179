//! The overhead of a load besides its rows: inspecting server and table, and making, writing, importing,
//! swapping and dropping its own tables.

use schema::Method;
use serde::{Deserialize, Serialize};

/// Weight of a load beside those before it.
const WEIGHT: f64 = 0.3;
/// Beyond these nothing was measured.
const SECONDS_MIN: f64 = 1e-3;
const SECONDS_MAX: f64 = 10.0;

/// Seconds of each, once there were loads that had little else to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Overhead {
    built: Option<f64>,
    merged: Option<f64>,
    swapped: Option<f64>,
    added: Option<f64>,
}

impl Overhead {
    /// By those loads; before the first, what 20,000 rows took on two cores with nothing beside them
    /// (10.11.19).
    pub(crate) fn seconds(&self, method: Method) -> f64 {
        let (known, usual) = match method {
            Method::Build => (self.built, 0.06),
            Method::Merge | Method::MergePartition => (self.merged, 0.07),
            Method::Stage => (self.swapped, 0.03),
            Method::Transaction | Method::Append => (self.added, 0.02),
        };
        known.unwrap_or(usual).clamp(SECONDS_MIN, SECONDS_MAX)
    }

    /// Remembers what a load took so.
    pub(crate) fn learn(&mut self, method: Method, seen: f64) {
        if !(SECONDS_MIN..=SECONDS_MAX).contains(&seen) {
            return;
        }
        let known = match method {
            Method::Build => &mut self.built,
            Method::Merge | Method::MergePartition => &mut self.merged,
            Method::Stage => &mut self.swapped,
            Method::Transaction | Method::Append => &mut self.added,
        };
        *known = Some(known.map_or(seen, |known| known * (1.0 - WEIGHT) + seen * WEIGHT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_takes_what_it_took_before() {
        let mut fixed = Overhead::default();
        let usual = fixed.seconds(Method::Build);
        fixed.learn(Method::Merge, 0.5);
        fixed.learn(Method::Merge, 1.5);
        fixed.learn(Method::Merge, 1e9);
        assert!((fixed.seconds(Method::Merge) - 0.8).abs() < 1e-9, "{fixed:?}");
        assert!((fixed.seconds(Method::Build) - usual).abs() < 1e-9, "{fixed:?}");
    }
}
