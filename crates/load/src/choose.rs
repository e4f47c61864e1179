//! The method by which a load gets rows into a table, and why not a faster one.
//!
//! ```text
//! inspection -> Facts -> choose(&Facts, &LoadOptions, &Costs) -> Choice
//! ```
//!
//! [`facts`] are plain data; [`choose()`] is a pure function. [`inspection`] asks server and input, in the order
//! in which an answer may make the next question needless, and removes leftovers of killed loads. Each path is
//! refused by name and with every reason ([`objections`]), which plan and report print.

mod facts;
mod importing;
mod inspection;
mod objections;
mod order;
mod refused;
mod small_input;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod together;

use job::memory::Memory;
use job::options::{LoadOptions, LoadPath, Mode, ServerOptions};
use schema::Method;

use self::facts::{Choice, Input};
pub(crate) use self::facts::{CommandFacts, CommandTable, Facts};
pub(crate) use self::importing::import_note;
use self::objections::{Objections, why};
use crate::append::{AppendTimes, Old, Ways};
use crate::estimate::Estimate;
use crate::partitioned::{Partitioned, Scope};
use crate::speeds::Speeds;

pub use self::inspection::Chosen;
pub(crate) use self::inspection::{
    Decision, Prediction, Purpose, decide, decide_without_building, foresee,
};
pub use self::objections::not_empty;
pub(crate) use self::order::{largest_first, with_children};
pub use self::refused::Refused;
pub(crate) use self::small_input::{TogetherSeconds, small_bytes};
pub(crate) use self::together::{Methods, Together};

/// Measured speeds of this machine, and the memory that a load may use.
pub(crate) struct Costs<'a> {
    pub(crate) speeds: &'a Speeds,
    pub(crate) memory: &'a Memory,
}

/// The fastest method that nothing is known against.
pub(crate) fn choose(facts: &Facts, options: &LoadOptions, costs: &Costs<'_>) -> Choice {
    let mut against = Objections::of(facts, options);
    let weighed =
        facts.input.as_ref().map(|input| Comparison::of(facts, input, options, costs, &against));
    let weighed = weighed.unwrap_or_default();
    if against.is_open(LoadPath::Direct)
        && let Some(reason) = weighed.against_building(&options.server, against.may_send())
    {
        against.refuse(LoadPath::Direct, reason);
    }
    let path = against.first();
    let refused = std::mem::take(&mut against.refused);
    let Some(path) = path else { return Choice { refused, ..Choice::default() } };
    let method = facts.method(path);
    let built = (path == LoadPath::Direct).then_some(weighed.built).flatten();
    let mut estimate = if path.sends() { weighed.sent(path, facts, options, costs) } else { built };
    let seconds = weighed.adding.map(|adding| match path {
        LoadPath::Direct => adding.merge_seconds,
        _ => adding.send_seconds,
    });
    if let (Some(seconds), Some(estimate)) = (seconds, &mut estimate) {
        estimate.take(seconds);
    }
    let is_direct = path == LoadPath::Direct;
    let adding = weighed.adding.filter(|_| is_direct).map(|adding| adding.to_string());
    let partitioned = weighed.partitioned.filter(|_| is_direct).map(|both| both.to_string());
    Choice {
        path: Some(path),
        method,
        why: why(path, facts, options, &refused),
        expected_seconds: seconds.or(estimate.as_ref().map(Estimate::seconds_in_order)),
        estimate,
        notes: adding.into_iter().chain(partitioned).collect(),
        one_partition: weighed.one_partition,
        refused,
    }
}

impl Facts {
    /// None where it is not known yet where rows would go that are sent.
    fn method(&self, path: LoadPath) -> Option<Method> {
        if path.sends() {
            return self.sending.as_ref()?.as_ref().ok().copied();
        }
        let scope = self.input.as_ref().and_then(|input| input.scope.as_ref());
        Some(match scope {
            None => Method::Build,
            Some(Scope::Table | Scope::All(_) | Scope::Altered(_)) => Method::Merge,
            Some(Scope::One(..)) => Method::MergePartition,
        })
    }
}

/// The time of building beside that of sending.
#[derive(Default)]
struct Comparison {
    /// For an empty table without partitions.
    plain: Option<Estimate>,
    /// In the files that are built.
    built: Option<Estimate>,
    adding: Option<AppendTimes>,
    partitioned: Option<Partitioned>,
    /// Why the whole table is not merged, where one partition may be.
    one_partition: Option<String>,
}

impl Comparison {
    fn of(
        facts: &Facts,
        input: &Input,
        options: &LoadOptions,
        costs: &Costs<'_>,
        against: &Objections,
    ) -> Comparison {
        let speeds = costs.speeds;
        let mut weighed = Comparison { plain: input.built, ..Comparison::default() };
        let Some(mut plain) = input.built else { return weighed };
        if facts.stamps {
            plain = plain.stamped(speeds);
        }
        let partitions = facts.partitions.unwrap_or(0);
        let files = input.scope.as_ref().map_or(partitions, Scope::partitions);
        weighed.built = Some(plain.in_partitions(files, speeds));
        let by = against.sent_by();
        let Some(sent) = weighed.sent(by, facts, options, costs) else {
            return weighed;
        };
        let weigh = |old: &Old, scope: &Scope| {
            let built = plain.in_partitions(scope.partitions(), speeds);
            let (bytes, method) = (input.bytes.unwrap_or(0), sending(facts, options));
            let bare = plain.sent(bytes, 1, costs.memory, by, method, speeds);
            let ways = Ways { built: &built, sent: &sent, bare: &bare, stamps: facts.stamps };
            AppendTimes::of(old, scope, &ways, &options.rows, costs.memory.threads, speeds)
        };
        if let (Some(old), Some(scope)) = (&input.old, &input.scope) {
            weighed.adding = Some(weigh(old, scope));
        }
        if let (Some(all), Some(wider)) =
            (&input.all, input.scope.as_ref().and_then(Scope::widened))
        {
            let wider = weigh(all, &wider);
            let may_send = options.path == LoadPath::Auto;
            weighed.one_partition = wider.against(may_send, options.server.write_block_seconds_max);
        }
        if let (Some(count), Some(built), false) =
            (facts.partitions, &weighed.built, facts.extends(options))
        {
            weighed.partitioned = Some(Partitioned::of(count, built, &sent));
        }
        weighed
    }

    /// The same rows sent by a path.
    fn sent(
        &self,
        path: LoadPath,
        facts: &Facts,
        options: &LoadOptions,
        costs: &Costs<'_>,
    ) -> Option<Estimate> {
        let bytes = facts.input.as_ref().and_then(|input| input.bytes).unwrap_or(0);
        let (method, Costs { memory, speeds, .. }) = (sending(facts, options), costs);
        self.plain.map(|plain| plain.sent(bytes, facts.indexes, memory, path, method, speeds))
    }

    /// Why rows are not to be built: sending them is faster, or others would wait too long.
    fn against_building(&self, options: &ServerOptions, may_send: bool) -> Option<String> {
        match &self.adding {
            Some(adding) => adding.against(may_send, options.write_block_seconds_max),
            None => self.partitioned.filter(|_| may_send)?.against_building(),
        }
    }
}

/// The usual method of rows that are sent.
fn sending(facts: &Facts, options: &LoadOptions) -> Method {
    match options.mode {
        _ if facts.is_small() => Method::Transaction,
        Mode::Append => Method::Append,
        Mode::Insert | Mode::Replace => Method::Stage,
    }
}
