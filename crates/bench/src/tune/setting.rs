//! Settings, one at a time and several together.

use serde::{Serialize, Serializer};

use crate::choice::Choice;

/// A setting, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Nothing.
    Default,
    /// Variables that belong together, and the name that they have here.
    Variables(&'static str, &'static [(&'static str, &'static str)]),
    /// Statements of the session.
    Session(&'static str, &'static [&'static str]),
    /// All of class safe.
    Safe,
    /// These and those of class relaxed.
    Relaxed,
    /// Settings that are often advised, dangerous ones too.
    Advised,
}

/// Each alone, as (name, variable, value).
const SINGLE: [Setting; 14] = [
    Setting::Variables("log-file-size", &[("innodb_log_file_size", "2147483648")]),
    Setting::Variables(
        "io-capacity",
        &[("innodb_io_capacity_max", "10000"), ("innodb_io_capacity", "2000")],
    ),
    Setting::Variables("flush-neighbors", &[("innodb_flush_neighbors", "0")]),
    Setting::Variables("adaptive-hash-index", &[("innodb_adaptive_hash_index", "ON")]),
    Setting::Variables("flush-log", &[("innodb_flush_log_at_trx_commit", "2")]),
    Setting::Variables("doublewrite", &[("innodb_doublewrite", "OFF")]),
    Setting::Variables("buffer-pool-size", &[("innodb_buffer_pool_size", "1073741824")]),
    Setting::Variables("pool-instances", &[("innodb_buffer_pool_instances", "8")]),
    Setting::Variables("log-buffer-size", &[("innodb_log_buffer_size", "67108864")]),
    Setting::Variables("sort-buffer-size", &[("innodb_sort_buffer_size", "67108864")]),
    Setting::Variables("change-buffering", &[("innodb_change_buffering", "all")]),
    Setting::Variables("stats-auto-recalc", &[("innodb_stats_auto_recalc", "OFF")]),
    Setting::Variables("dirty-pages", &[("innodb_max_dirty_pages_pct", "20")]),
    CHECKS,
];
const CHECKS: Setting = Setting::Session(
    "checks",
    &["SET SESSION unique_checks=0", "SET SESSION foreign_key_checks=0"],
);

/// By name.
const SAFE: [&str; 3] = ["log-file-size", "io-capacity", "flush-neighbors"];
const RELAXED: [&str; 1] = ["flush-log"];
const ADVISED: [&str; 6] = [
    "doublewrite",
    "buffer-pool-size",
    "pool-instances",
    "log-buffer-size",
    "change-buffering",
    "checks",
];

impl Choice for Setting {
    /// All but the defaults.
    const ALL: &'static [Setting] = &{
        let mut all = [Setting::Default; 17];
        let mut at = 0;
        while at < SINGLE.len() {
            all[at] = SINGLE[at];
            at += 1;
        }
        all[14] = Setting::Safe;
        all[15] = Setting::Relaxed;
        all[16] = Setting::Advised;
        all
    };

    fn short(self) -> &'static str {
        match self {
            Setting::Default => "default",
            Setting::Variables(name, _) | Setting::Session(name, _) => name,
            Setting::Safe => "safe",
            Setting::Relaxed => "relaxed",
            Setting::Advised => "advised",
        }
    }
}

impl Setting {
    /// For people.
    pub fn text(self) -> String {
        match self {
            Setting::Default => "as the server comes".to_owned(),
            Setting::Safe => "--tune=safe: all of them together".to_owned(),
            Setting::Relaxed => "--tune=relaxed: these and the commits".to_owned(),
            Setting::Advised => "all that is often advised, doublewrite off too".to_owned(),
            Setting::Session(..) => self.session().collect::<Vec<_>>().join("; "),
            Setting::Variables(..) => {
                let all: Vec<String> = self.variables().map(|(n, v)| format!("{n}={v}")).collect();
                all.join(", ")
            }
        }
    }

    /// True if it is more than one thing.
    pub(super) fn is_several(self) -> bool {
        self.parts().len() > 1
    }

    /// The single ones that it is made of.
    fn parts(self) -> Vec<Setting> {
        let named = |names: &[&str]| {
            SINGLE.into_iter().filter(|one| names.contains(&one.short())).collect::<Vec<_>>()
        };
        match self {
            Setting::Default => Vec::new(),
            Setting::Variables(..) | Setting::Session(..) => vec![self],
            Setting::Safe => named(&SAFE),
            Setting::Relaxed => [named(&SAFE), named(&RELAXED)].concat(),
            Setting::Advised => [named(&SAFE), named(&RELAXED), named(&ADVISED)].concat(),
        }
    }

    /// Each variable with its value.
    pub(super) fn variables(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.parts().into_iter().flat_map(|part| match part {
            Setting::Variables(_, variables) => variables.to_vec(),
            _ => Vec::new(),
        })
    }

    /// Arguments of the server. A server that has no such variable any more ignores it.
    pub(super) fn arguments(self) -> impl Iterator<Item = String> {
        self.variables().map(|(name, value)| format!("--loose-{}={value}", name.replace('_', "-")))
    }

    /// Statements of the session that loads.
    pub(super) fn session(self) -> impl Iterator<Item = &'static str> {
        self.parts().into_iter().flat_map(|part| match part {
            Setting::Session(_, statements) => statements.to_vec(),
            _ => Vec::new(),
        })
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_once_and_together_are_those_alone() {
        let names: std::collections::BTreeSet<&str> =
            Setting::ALL.iter().map(|setting| setting.short()).collect();
        assert_eq!(names.len(), Setting::ALL.len());
        assert!(SAFE.iter().chain(&RELAXED).chain(&ADVISED).all(|name| names.contains(name)));
        let relaxed: Vec<String> = Setting::Relaxed.arguments().collect();
        assert!(relaxed.contains(&"--loose-innodb-flush-log-at-trx-commit=2".to_owned()));
        assert_eq!(relaxed.len(), Setting::Safe.arguments().count() + 1);
        assert_eq!(Setting::Advised.session().count(), 2);
        assert!(Setting::Safe.is_several() && !SINGLE[0].is_several());
    }
}
