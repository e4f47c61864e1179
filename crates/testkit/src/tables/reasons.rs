//! The reasons that a load wrote about the rows it rejected.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// File, line and byte at which a row begins.
pub type Place = (String, u64, u64);

/// The file of reasons, line by line.
pub struct Reasons {
    /// Where the refused rows are.
    pub places: Vec<Place>,
    /// All that is said of each.
    pub lines: Vec<Value>,
}

impl Reasons {
    /// The reasons of the load that wrote its rejected rows to `rejects`.
    pub fn of(rejects: &Path) -> Reasons {
        let path = format!("{}.reasons.jsonl", rejects.display());
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let place = |line: &Value| {
            let number = |name: &str| line[name].as_u64().unwrap();
            (line["file"].as_str().unwrap().to_owned(), number("line"), number("byte"))
        };
        Reasons { places: lines.iter().map(place).collect(), lines }
    }

    /// Exactly the rows at `wanted` were refused; `raw` shows one that was not, or should not.
    #[track_caller]
    pub fn are_of(&self, wanted: &[Place], raw: impl Fn(&Place) -> String) {
        if self.places == wanted {
            return;
        }
        let ours: BTreeSet<&Place> = self.places.iter().collect();
        let theirs: BTreeSet<&Place> = wanted.iter().collect();
        let line = |place: &Place| {
            let at = self.places.iter().position(|seen| seen == place).unwrap();
            format!("{} ({})", raw(place), self.lines[at])
        };
        let ours_alone: Vec<String> =
            ours.difference(&theirs).take(3).map(|place| line(place)).collect();
        let theirs_alone: Vec<String> =
            theirs.difference(&ours).take(3).map(|place| raw(place)).collect();
        panic!("refused by us alone: {ours_alone:#?}\nby the server alone: {theirs_alone:#?}");
    }
}
