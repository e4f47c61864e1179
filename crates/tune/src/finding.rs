//! Something that slows loads down, or that is dangerous, and what to do about it.

use serde::Serialize;

use crate::class::Class;

/// How much it matters; what comes first matters most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Data can be lost.
    Danger,
    /// Loads take times as long.
    Heavy,
    /// Loads take noticeably longer.
    Medium,
    /// It may be noticed.
    Light,
    /// Good to know.
    Note,
}

impl Weight {
    /// That of something that was measured to spare so many percent of the time.
    pub fn measured(percent: f64) -> Weight {
        match percent {
            percent if percent >= 30.0 => Weight::Heavy,
            percent if percent >= 10.0 => Weight::Medium,
            _ => Weight::Light,
        }
    }

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Weight::Danger => "danger",
            Weight::Heavy => "heavy",
            Weight::Medium => "medium",
            Weight::Light => "light",
            Weight::Note => "note",
        }
    }
}

/// A finding about the server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// Its subject: a variable, a mount option.
    pub what: String,
    /// How it is.
    pub now: String,
    /// How it should be; empty where there is nothing to change.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub better: String,
    /// Why.
    pub why: String,
    /// Its cost, or what can happen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub risk: String,
    /// The safety that the change gives up, if it is set for a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// How to have it, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub how: Vec<String>,
    /// Its measured gain on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<String>,
}

impl Finding {
    /// One that says how something is, and why that matters.
    pub fn new(weight: Weight, what: &str, now: impl Into<String>, why: &str) -> Finding {
        Finding {
            weight,
            what: what.to_owned(),
            now: now.into(),
            better: String::new(),
            why: why.to_owned(),
            risk: String::new(),
            class: None,
            how: Vec::new(),
            gain: None,
        }
    }

    /// With how it should be.
    pub fn better(mut self, better: impl Into<String>) -> Finding {
        self.better = better.into();
        self
    }

    /// With what that costs.
    pub fn risk(mut self, risk: impl Into<String>) -> Finding {
        self.risk = risk.into();
        self
    }

    /// With a line on how to have it.
    pub fn how(mut self, line: impl Into<String>) -> Finding {
        self.how.push(line.into());
        self
    }
}
