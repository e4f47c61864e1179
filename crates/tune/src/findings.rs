//! All that is found, from what was seen.
//!
//! `settings` what single variables should be; `dangers` what can lose data, doublewrite above all; `ways` what
//! is in the direct path's way; `commits` whom each commit waits for; `disks` and `machine` what is below the
//! server.

mod commits;
mod dangers;
mod direct_path;
mod disks;
mod machine;
mod settings;

pub use self::direct_path::{Closed, closed};

use face::option::MODE;

use crate::facts::Facts;
use crate::finding::{Finding, Weight};
use crate::gain::Gains;

/// Appends that have not ended: their tables are in view, and nobody else knows why.
fn interrupted(facts: &Facts) -> Option<Finding> {
    let append = MODE.with("append");
    let why =
        format!("the table lists the rows of a load with {append} that runs, or was interrupted");
    let finding = || Finding::new(Weight::Note, "unfinished load", facts.ledgers.join(", "), &why);
    let how = "the command of that load, or inrush resume, loads the rest and drops the table; inrush \
               jobs names the command";
    (!facts.ledgers.is_empty()).then(|| finding().how(how))
}

/// Everything there is to say, what matters most first.
pub fn findings(facts: &Facts, gains: Option<&Gains>) -> Vec<Finding> {
    if !facts.server.engine.kind.has_files() {
        // Of InnoDB, or of the one server behind a vtgate that answers.
        return direct_path::found(facts);
    }
    let mut all = dangers::found(facts);
    all.extend(direct_path::found(facts));
    all.extend(interrupted(facts));
    all.extend(settings::found(facts));
    all.extend(commits::found(facts));
    all.extend(disks::found(facts));
    all.extend(machine::found(facts));
    for finding in &mut all {
        let Some(gains) = gains else { continue };
        finding.gain = gains.of(&finding.what);
        // Of what is set for loads, the measurement counts, and not what is said of it elsewhere.
        let percent = gains.percent(&finding.what).filter(|_| finding.class.is_some());
        finding.weight = percent.map_or(finding.weight, Weight::measured);
    }
    all.sort_by_key(|finding| finding.weight);
    all
}
