//! Fewer connections while the server is in trouble, more again when that is over.
//!
//! | seen | connections |
//! | --- | --- |
//! | deadlock, lock wait, connection lost or refused | [`SHRINK`] as many, at most once in [`CALM`] |
//! | Galera's flow control stopped more than [`FLOW_CONTROL_MAX`] of the time | the same |
//! | a member of the replication group has more to certify or apply than it may before it holds writers up | the same |
//! | [`BUSY_MAX`] more statements of others than when the load began | the same |
//! | a replica behind by more than half of `--max-lag` | fewer, the more it is behind |
//! | a replica behind by more than `--max-lag`, or not applying | none, until half of it |
//!
//! Never below one, but for replicas: those a trickle would keep behind for ever. When it is over,
//! one more connection comes back after each [`CALM`]. A wait for a replica that applies nothing has an end.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::pressure::Pressure;
use crate::retry;
use job::settled::HeldBack;
use server::replication::lag::{Following, Lag};

/// Share of the connections that remain after trouble.
const SHRINK: f64 = 0.7;

/// Time that a change gets to show its effect.
const CALM: Duration = Duration::from_secs(1);

/// Share of the time that flow control may stop writes, as pt-archiver's `--max-flow-ctl` is used.
const FLOW_CONTROL_MAX: f64 = 0.1;

/// Statements of others that may come to run beside the load: pt-online-schema-change's limit.
const BUSY_MAX: u64 = 25;

/// The cause for fewer connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Deadlock,
    LockWait,
    Lost,
    Refused,
    Lag,
    FlowControl,
    GroupQueue,
    Busy,
}

impl Cause {
    fn name(self) -> &'static str {
        match self {
            Cause::Deadlock => "deadlocks",
            Cause::LockWait => "lock waits",
            Cause::Lost => "lost connections",
            Cause::Refused => "refused connections or statements",
            Cause::Lag => "replica lag",
            Cause::FlowControl => "Galera flow control",
            Cause::GroupQueue => "Group Replication flow control",
            Cause::Busy => "other statements on the server",
        }
    }
}

impl From<retry::Cause> for Cause {
    fn from(cause: retry::Cause) -> Cause {
        match cause {
            retry::Cause::Deadlock => Cause::Deadlock,
            retry::Cause::LockWait => Cause::LockWait,
            retry::Cause::Lost => Cause::Lost,
            retry::Cause::Refused => Cause::Refused,
        }
    }
}

/// The remaining share of the connections that the search requests.
#[derive(Debug)]
pub(super) struct Backoff {
    holds: BTreeMap<Cause, Hold>,
    lag_max: Duration,
    /// Statements of others when the load began.
    others: Option<u64>,
    counted_at: Duration,
    /// Since when a replica applies nothing, and its words.
    standing: Option<(Duration, String)>,
}

/// The limit for one cause.
#[derive(Debug)]
struct Hold {
    /// Connections; infinite when it is over.
    cap: f64,
    moved_at: Duration,
    /// How bad `report.worst` was.
    worst: f64,
    report: HeldBack,
}

impl Backoff {
    /// Replicas may be behind by `lag_max`.
    pub(super) fn new(lag_max: Duration) -> Backoff {
        let (holds, counted_at) = (BTreeMap::new(), Duration::ZERO);
        Backoff { holds, lag_max, others: None, counted_at, standing: None }
    }

    /// Connections that may be at work; 0 is a pause.
    pub(super) fn allowed(&self) -> usize {
        self.holds.values().fold(f64::INFINITY, |least, hold| least.min(hold.cap)) as usize
    }

    /// A chunk has to be loaded again; the search wants `wanted` connections.
    pub(super) fn troubled(&mut self, cause: retry::Cause, wanted: usize, now: Duration) {
        self.count(wanted, now);
        let hold = self.hold(cause.into());
        hold.report.times += 1;
        hold.shrink(wanted, now);
    }

    /// A chunk is loaded.
    pub(super) fn done(&mut self, wanted: usize, now: Duration) {
        self.count(wanted, now);
        for cause in [Cause::Deadlock, Cause::LockWait, Cause::Lost, Cause::Refused] {
            if let Some(hold) = self.holds.get_mut(&cause) {
                hold.grow(wanted, now);
            }
        }
    }

    /// The server was looked at, while `active` connections were at work.
    pub(super) fn observe(
        &mut self,
        pressure: &Pressure,
        wanted: usize,
        active: usize,
        now: Duration,
    ) {
        self.count(wanted, now);
        // What is not known any more holds nothing back: nobody would ever let go.
        let share = pressure.flow_control.unwrap_or(0.0);
        let worst = format!("writes were stopped for {:.0} % of a second", share * 100.0);
        self.weigh(Cause::FlowControl, share / FLOW_CONTROL_MAX, worst, wanted, now);
        let queue = pressure.group_queue.unwrap_or(0.0);
        let worst = format!("a member's queue was {:.0} % full", queue * 100.0);
        self.weigh(Cause::GroupQueue, queue, worst, wanted, now);
        // The one that asks is among them.
        let others = pressure.threads_running.map(|n| n.saturating_sub(active as u64 + 1));
        self.others = self.others.or(others);
        let others = others.unwrap_or(0);
        let more = others.saturating_sub(self.others.unwrap_or(0)) as f64 / BUSY_MAX as f64;
        self.weigh(Cause::Busy, more, format!("{others} ran at once"), wanted, now);
        let stands = |lag: &&Lag| !matches!(lag.following, Following::Behind(_));
        let since = self.standing.take().map_or(now, |(since, _)| since);
        self.standing = pressure.lag.as_ref().filter(stands).map(|lag| (since, lag.to_string()));
        match &pressure.lag {
            Some(lag) => self.follow(lag, wanted, now),
            None => self.weigh(Cause::Lag, 0.0, String::new(), wanted, now),
        }
    }

    /// The reason why the load is held back now, as a sentence; None if it is not.
    pub(super) fn holding(&self) -> Option<String> {
        let least = self.holds.iter().min_by(|a, b| a.1.cap.total_cmp(&b.1.cap));
        let (cause, hold) = least.filter(|(_, hold)| hold.cap.is_finite())?;
        let how = match hold.cap as usize {
            0 => "loading is paused".to_owned(),
            1 => "only 1 connection loads".to_owned(),
            n => format!("only {n} connections load"),
        };
        let worst =
            hold.report.worst.as_deref().map_or(String::new(), |worst| format!(" ({worst})"));
        Some(format!("{how} because of {}{worst}", cause.name()))
    }

    /// How long a replica has applied nothing, and its words.
    pub(super) fn standing(&self, now: Duration) -> Option<(Duration, &str)> {
        let (since, words) = self.standing.as_ref()?;
        Some((now.saturating_sub(*since), words))
    }

    /// For the report: what had any effect.
    pub(super) fn held(&self) -> Vec<HeldBack> {
        let seen = |hold: &&Hold| hold.report.times > 0;
        self.holds.values().filter(seen).map(|hold| hold.report.clone()).collect()
    }

    /// Takes connections away when `badness` exceeds 1, gives them back when it does not.
    fn weigh(&mut self, cause: Cause, badness: f64, worst: String, wanted: usize, now: Duration) {
        if badness <= 1.0 {
            if let Some(hold) = self.holds.get_mut(&cause) {
                hold.grow(wanted, now);
            }
            return;
        }
        let hold = self.hold(cause);
        hold.saw(badness, worst);
        hold.shrink(wanted, now);
    }

    /// As many connections as let the replica follow.
    fn follow(&mut self, lag: &Lag, wanted: usize, now: Duration) {
        let most = self.lag_max.as_secs_f64().max(1.0);
        // From 0 at half of what is allowed to 1 at all of it.
        let badness = match lag.following {
            Following::Behind(behind) => behind.as_secs_f64() / most * 2.0 - 1.0,
            Following::Stopped | Following::Unreachable => f64::INFINITY,
        };
        if badness <= 0.0 {
            if let Some(hold) = self.holds.get_mut(&Cause::Lag) {
                hold.grow(wanted, now);
            }
            return;
        }
        let hold = self.hold(Cause::Lag);
        hold.saw(badness, lag.to_string());
        hold.moved_at = now;
        let is_paused = hold.cap < 1.0;
        if badness >= 1.0 || is_paused {
            hold.cap = 0.0;
        } else {
            hold.cap = (wanted as f64 * (1.0 - badness)).max(1.0);
        }
    }

    fn hold(&mut self, cause: Cause) -> &mut Hold {
        self.holds.entry(cause).or_insert_with(|| Hold {
            cap: f64::INFINITY,
            moved_at: Duration::ZERO,
            worst: 0.0,
            report: HeldBack { cause: cause.name(), ..HeldBack::default() },
        })
    }

    /// Adds up how long each cause has held the load back, until `now`.
    fn count(&mut self, wanted: usize, now: Duration) {
        let seconds = now.saturating_sub(self.counted_at).as_secs_f64();
        self.counted_at = self.counted_at.max(now);
        for hold in self.holds.values_mut().filter(|hold| hold.cap < wanted as f64) {
            hold.report.seconds += seconds;
            if hold.cap < 1.0 {
                hold.report.paused_seconds += seconds;
            }
        }
    }
}

impl Hold {
    /// Notes one more sample of trouble.
    fn saw(&mut self, badness: f64, what: String) {
        self.report.times += 1;
        if badness >= self.worst {
            self.worst = badness;
            self.report.worst = Some(what);
        }
    }

    fn shrink(&mut self, wanted: usize, now: Duration) {
        // Several connections meet the same trouble at once: it counts once.
        if self.cap.is_finite() && now.saturating_sub(self.moved_at) < CALM {
            return;
        }
        self.cap = (self.cap.min(wanted as f64) * SHRINK).max(1.0);
        self.moved_at = now;
    }

    fn grow(&mut self, wanted: usize, now: Duration) {
        if self.cap.is_infinite() || now.saturating_sub(self.moved_at) < CALM {
            return;
        }
        self.cap = self.cap.floor() + 1.0;
        self.moved_at = now;
        if self.cap >= wanted as f64 {
            self.cap = f64::INFINITY;
        }
    }
}
