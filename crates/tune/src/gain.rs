//! Measured gains of settings on this machine, by `inrush bench tune`.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use disk::private;

/// Its name in the state folder.
const FILE: &str = "tune-gains.json";

/// Measured gains, and their machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gains {
    /// The machine's name.
    pub host: String,
    /// Name of the processor.
    pub cpu: String,
    /// Its cores.
    pub cores: usize,
    /// The server's version.
    pub server: String,
    /// Lines of the file that was loaded.
    pub lines: u64,
    /// Each setting.
    pub gains: Vec<Gain>,
}

/// The gain of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The variable.
    pub variable: String,
    /// The value that was set.
    pub value: String,
    /// Seconds of the load with everything at its default.
    pub default_seconds: f64,
    /// Seconds with this set.
    pub seconds: f64,
}

impl Gains {
    /// Those of this machine; none where nothing was measured on it.
    pub fn read(state_dir: &Path, host: &str) -> Option<Gains> {
        let folder = private::open(state_dir).ok()?;
        let text = private::read(&folder, FILE.as_ref(), "gains").ok()?;
        let gains: Gains = serde_json::from_slice(&text).ok()?;
        (gains.host == host).then_some(gains)
    }

    /// Keeps them, in place of those before.
    ///
    /// Errors: a folder that others could have put something into, or that is full.
    pub fn write(&self, state_dir: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        private::write(&private::make(state_dir)?, FILE, &text, "gains")
    }

    /// With what was measured before, where it was the same that was measured.
    pub fn beside(mut self, before: Option<Gains>) -> Gains {
        let is_same = |before: &Gains| {
            let of = |gains: &Gains| {
                (
                    gains.host.clone(),
                    gains.cpu.clone(),
                    gains.cores,
                    gains.server.clone(),
                    gains.lines,
                )
            };
            of(before) == of(&self)
        };
        let mut older = before.filter(is_same).map_or_else(Vec::new, |before| before.gains);
        older.retain(|old| !self.gains.iter().any(|new| new.variable == old.variable));
        self.gains.extend(older);
        self
    }

    /// Percent of the time that a variable was measured to spare; below 0 what it cost.
    pub fn percent(&self, variable: &str) -> Option<f64> {
        let gain = self.gains.iter().find(|gain| gain.variable == variable)?;
        Some((1.0 - gain.seconds / gain.default_seconds) * 100.0)
    }

    /// In words, what a variable was measured to gain.
    pub fn of(&self, variable: &str) -> Option<String> {
        let gain = self.gains.iter().find(|gain| gain.variable == variable)?;
        let Gain { default_seconds, seconds, .. } = gain;
        let percent = self.percent(variable)?;
        let so_much = match percent {
            percent if percent >= 1.0 => format!("{percent:.0} % less time"),
            percent if percent <= -1.0 => format!("{:.0} % more time", -percent),
            _ => "no difference".to_owned(),
        };
        Some(format!(
            "{so_much} here: {seconds:.2} s instead of {default_seconds:.2} s for {} lines, {}",
            self.lines, self.server
        ))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_those_of_this_machine() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path().join("inrush");
        assert_eq!(Gains::read(&dir, "here"), None);
        let gain = |variable: &str, seconds| Gain {
            variable: variable.to_owned(),
            value: "2".to_owned(),
            default_seconds: 10.0,
            seconds,
        };
        let gains = Gains {
            host: "here".to_owned(),
            lines: 7,
            server: "10.11".to_owned(),
            gains: vec![gain("a", 5.0), gain("b", 10.04), gain("c", 11.0)],
            ..Gains::default()
        };
        gains.write(&dir).unwrap();
        assert_eq!(Gains::read(&dir, "elsewhere"), None);
        let read = Gains::read(&dir, "here").unwrap();
        assert_eq!(read, gains);
        let text = "50 % less time here: 5.00 s instead of 10.00 s for 7 lines, 10.11";
        assert_eq!(read.of("a").unwrap(), text);
        assert!(read.of("b").unwrap().starts_with("no difference here"));
        assert!(read.of("c").unwrap().starts_with("10 % more time"));
        assert_eq!(read.of("d"), None);
        let again = Gains { gains: vec![gain("a", 9.0)], ..read.clone() };
        let both = again.clone().beside(Some(read.clone()));
        assert!(both.of("a").unwrap().starts_with("10 % less") && both.of("c").is_some());
        let other = Gains { lines: 8, ..read };
        assert_eq!(again.clone().beside(Some(other)), again);
    }
}
