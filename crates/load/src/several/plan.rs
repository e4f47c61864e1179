//! The plan of a load of several tables.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use encode::input;
use encode::inspected::Inspected;
use job::error::Error;
use job::options::{LoadOptions, LoadPath, WithOthers};
use job::tuning::for_load;
use schema::{Table, TableName};
use serde::Serialize;
use server::{ConnectOptions, Session};
use targets::{Keeper, Lock, Resting};

use super::facts::waiting;
use super::inspection::{may_be_apart, spelled};
use super::{after_others, check_several};

use crate::choose::Prediction;
use crate::choose::{
    self, CommandFacts, Methods, Purpose, Refused, Together, TogetherSeconds, with_children,
};
use crate::connections::SharedConnections;
use crate::copies::are_asked_for;
use crate::estimate::Estimate;
use crate::lock_target::lock_options;
use crate::places::Places;
use crate::plan::{Plan, planned};

/// The plan of a load of several tables.
#[derive(Clone, Debug, Serialize)]
pub struct SeveralPlan {
    /// Their database.
    pub database: String,
    /// True if all would be published at once; false if each by itself.
    pub atomic: bool,
    /// Each table, in the order in which they would be loaded.
    pub tables: Vec<Plan>,
    /// Bytes of all inputs as they are.
    pub input_bytes: u64,
    /// The estimate of all together; none if that of one is unknown.
    pub estimate: Option<Estimate>,
    /// Notes about all tables, one sentence each; those about one alone are in its plan.
    pub notes: Vec<String>,
}

/// A table's plan, and what was seen of it and of its input.
type Planned = (Plan, Option<Inspected>);

/// The plans of all tables, by the way that they would take together.
struct AllPlanned {
    /// The order in which they would be loaded.
    order: Vec<usize>,
    /// In that order.
    plans: Vec<Planned>,
    /// The times that the way was chosen by.
    seconds: Option<TogetherSeconds>,
    /// True if one transaction would load all.
    is_whole: bool,
    /// Tables that would be loaded by themselves behind the others.
    apart: Vec<TableName>,
}

impl SeveralPlan {
    /// True if all tables can be loaded.
    pub fn is_open(&self) -> bool {
        self.tables.iter().all(|table| table.path.is_some())
    }
}

/// Reasons against the faster methods of a table, a sentence for each; against all methods if none
/// is open.
pub fn refused(plan: &Plan) -> Vec<String> {
    // Of a table that is loaded, why it is loaded so says it.
    match plan.path {
        Some(_) => Vec::new(),
        None => Refused::sentences(&plan.refused),
    }
}

/// Says what [`load_several`](super::load_several) would do, or with `each`
/// [`load_each`](super::load_each). Changes nothing.
///
/// Errors: those that have nothing to do with the shape of a table.
pub fn plan_several(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    each: bool,
    places: Option<&dyn Places>,
) -> Result<SeveralPlan, Error> {
    check_several(tables)?;
    let mut looked = PlannedTables::at(connect, tables, places)?;
    let AllPlanned { order, plans, seconds, is_whole, apart } = looked.plan_all(each)?;
    let plans = if each { plans } else { one_way(plans, &order, &mut looked)? };
    let mut plans: Vec<Plan> = plans.into_iter().map(|(plan, _)| plan).collect();
    let mut notes = shared_notes(&mut plans);
    notes.extend(apart.iter().map(|table| after_others(&table.to_string())));
    notes.extend(seconds.map(|TogetherSeconds { transaction, swap }| {
        format!(
            "one transaction of all tables takes about {transaction:.2} s, a swap of built tables \
             about {swap:.2} s"
        )
    }));
    notes.extend(looked.replication_notes(&plans, &order)?);
    let estimates: Option<Vec<Estimate>> = plans.iter().map(|plan| plan.estimate).collect();
    let mut estimate = estimates.and_then(|all| Estimate::of_all(&all));
    if let (Some(estimate), Some(seconds), true) = (&mut estimate, seconds, is_whole) {
        estimate.take(seconds.transaction);
    }
    Ok(SeveralPlan {
        database: tables[0].database.clone(),
        atomic: !each && apart.is_empty(),
        input_bytes: plans.iter().map(|plan| plan.input_bytes).sum(),
        estimate,
        tables: plans,
        notes,
    })
}

/// Takes the notes that all tables have from each.
fn shared_notes(plans: &mut [Plan]) -> Vec<String> {
    let Some(first) = plans.first() else { return Vec::new() };
    let is_shared = |note: &&String| plans.iter().all(|plan| plan.notes.contains(note));
    let shared: Vec<String> = first.notes.iter().filter(is_shared).cloned().collect();
    for plan in plans {
        plan.notes.retain(|note| !shared.contains(note));
    }
    shared
}

/// Where one table cannot be copied to the replicas that are named, the rows of all are sent.
fn one_way(
    mut plans: Vec<Planned>,
    order: &[usize],
    looked: &mut PlannedTables<'_>,
) -> Result<Vec<Planned>, Error> {
    let other = plans.iter().find(|(plan, _)| !plan.is_direct());
    let Some(other) = other.map(|(plan, _)| plan.target.clone()) else { return Ok(plans) };
    if !looked.are_copied {
        return Ok(plans);
    }
    for (planned, at) in plans.iter_mut().zip(order) {
        if planned.0.is_direct() {
            let sent = LoadOptions { path: LoadPath::Stream, ..looked.tables[*at].clone() };
            *planned = looked.plan(*at, LoadOptions { with_others: WithOthers::Swap, ..sent })?;
            let reason = format!(
                "{other}, which the same command loads, is not copied to the \
                                  replicas"
            );
            planned.0.refused.insert(0, Refused { path: LoadPath::Direct.name(), reason });
        }
    }
    Ok(plans)
}

/// The tables of a command, described at once, and planned over the same connections one after the
/// other.
struct PlannedTables<'t> {
    connect: &'t ConnectOptions,
    places: Option<&'t dyn Places>,
    tables: &'t [LoadOptions],
    /// Names of all tables.
    names: Arc<HashSet<TableName>>,
    /// As the server describes them; none of one that is still to be made.
    described: Vec<Option<Table>>,
    /// True if replicas get the files: each table is then inspected by itself, there too.
    are_copied: bool,
    /// None of one that is still to be made or not taken, and while it is worked at.
    targets: Vec<Option<Resting>>,
    /// None where no table is there.
    connections: Option<SharedConnections>,
    /// Asks what no table is needed for.
    session: Session,
    /// Facts for tables that do not exist yet: those of the server, and of options that all share.
    foreseen: Option<Prediction>,
}

impl<'t> PlannedTables<'t> {
    fn at(
        connect: &'t ConnectOptions,
        tables: &'t [LoadOptions],
        places: Option<&'t dyn Places>,
    ) -> Result<PlannedTables<'t>, Error> {
        let mut session = Session::connect(&for_load(connect, &tables[0]))?;
        let names = spelled(&mut session, tables)?;
        let there = catalog::spellings(&mut session, &tables[0].database, &names)?;
        let known: Vec<TableName> = there.iter().flatten().cloned().collect();
        let asking = session.another()?;
        let (taken, connections) = match known.is_empty() {
            true => (Vec::new(), None),
            false => {
                let (keeper, taken) =
                    Keeper::take(session, &known, &lock_options(&tables[0], None))?;
                (taken, Some(SharedConnections::of(keeper.another()?)))
            }
        };
        let mut taken = taken.into_iter();
        let targets = there.into_iter().map(|name| name.and_then(|_| taken.next()));
        let mut looked = PlannedTables {
            connect,
            tables,
            places,
            names: Arc::new(names.into_iter().collect()),
            described: Vec::new(),
            are_copied: tables.iter().all(are_asked_for),
            targets: targets.collect(),
            connections,
            session: asking,
            foreseen: None,
        };
        let table = |target: &Option<Resting>| Some(target.as_ref()?.table.clone());
        looked.described = looked.targets.iter().map(table).collect();
        if looked.are_copied {
            looked.targets.iter_mut().for_each(|target| *target = None);
        }
        Ok(looked)
    }

    fn described(&self) -> impl Iterator<Item = Option<&Table>> {
        self.described.iter().map(Option::as_ref)
    }

    /// All tables, by the way that they would take together.
    fn plan_all(&mut self, each: bool) -> Result<AllPlanned, Error> {
        if each {
            let Together { order, with_others } =
                Together::each(&waiting(self.tables, self.described()));
            let plans = self.planned_by(&order, with_others)?;
            let (seconds, is_whole, apart) = (None, false, Vec::new());
            return Ok(AllPlanned { order, plans, seconds, is_whole, apart });
        }
        let mut session = self.session.another()?;
        let described: Vec<Option<&Table>> = self.described().collect();
        let facts = CommandFacts::of(&mut session, self.tables, &described, &[], &[])?;
        let mut together = Together::choose(&facts)?;
        loop {
            let plans = self.planned_by(&together.order, together.with_others)?;
            let mut inspected = plans.iter().filter_map(|(_, inspected)| inspected.as_ref());
            let methods = match plans.iter().all(|(plan, _)| plan.path.is_some()) {
                true => Methods::All { gives_numbers: inspected.all(Inspected::gives_numbers) },
                false => Methods::Missing,
            };
            match together.after(methods, &facts) {
                Some(next) => together = next,
                None => {
                    let seconds = facts.seconds().filter(|_| facts.tables.len() > 1);
                    let Together { order, with_others } = together;
                    let (is_whole, apart) = (with_others.is_transaction(), Vec::new());
                    let planned = AllPlanned { order, plans, seconds, is_whole, apart };
                    return self.leave_out(planned, &facts);
                }
            }
        }
    }

    /// Has tables that cannot be published together with others come behind them, each by itself.
    fn leave_out(
        &mut self,
        planned: AllPlanned,
        facts: &CommandFacts,
    ) -> Result<AllPlanned, Error> {
        let mut plans: HashMap<usize, Planned> =
            planned.order.iter().copied().zip(planned.plans).collect();
        let mut apart: HashSet<usize> = HashSet::new();
        let targets = self.targets.iter().map(Option::as_ref);
        let may_be_apart = may_be_apart(facts, self.tables, targets);
        for (&at, (plan, _)) in &mut plans {
            let options = &self.tables[at];
            if plan.path.is_some() || !may_be_apart.contains(&at) {
                continue;
            }
            let alone =
                self.plan(at, LoadOptions { with_others: WithOthers::Alone, ..options.clone() })?;
            if alone.0.path.is_some() {
                apart.insert(at);
            }
            *plan = alone.0;
        }
        let tables = &facts.tables;
        let apart = with_children(tables, apart);
        let (last, mut order): (Vec<usize>, Vec<usize>) =
            Together::each(tables).order.into_iter().partition(|at| apart.contains(at));
        order.sort_by_key(|at| planned.order.iter().position(|other| other == at));
        order.extend(&last);
        let plans = order.iter().filter_map(|at| plans.remove(at)).collect();
        let apart = last.iter().map(|&at| tables[at].name.clone()).collect();
        Ok(AllPlanned { order, plans, apart, ..planned })
    }

    /// All of them in this order.
    fn planned_by(
        &mut self,
        order: &[usize],
        with_others: WithOthers,
    ) -> Result<Vec<Planned>, Error> {
        let tables = self.tables;
        let plan = |&at: &usize| self.plan(at, LoadOptions { with_others, ..tables[at].clone() });
        order.iter().map(plan).collect()
    }

    /// One of them, by these options.
    fn plan(&mut self, at: usize, options: LoadOptions) -> Result<Planned, Error> {
        if self.are_copied {
            return planned(Some(self.connect), &options, self.places);
        }
        let (memory, mut source) = input::open_files(&options)?;
        let plan = Plan::of(&options, &*source, Some(&self.session))?;
        if self.described[at].is_none() {
            let name = TableName::new(&options.database, &options.table);
            let foreseen = match self.foreseen.clone() {
                Some(foreseen) => foreseen,
                None => self.foresee(&options)?,
            };
            let plan = plan.of_missing(Some(foreseen), &name, &options, &memory, &mut *source)?;
            return Ok((plan, None));
        }
        let all = Arc::clone(&self.names);
        self.work(at, |target| {
            let decision = choose::decide(target, &options, &memory, &mut *source, Purpose::Plan)?;
            plan.of_decision(target, decision, &options, |name| all.contains(name))
        })
    }

    /// Inspects the server for tables that do not exist yet.
    fn foresee(&mut self, options: &LoadOptions) -> Result<Prediction, Error> {
        let missing = self.tables.iter().zip(&self.described).filter(|(_, there)| there.is_none());
        let missing = missing.map(|(one, _)| TableName::new(&one.database, &one.table));
        let missing: Vec<TableName> = missing.collect();
        targets::refuse_any_put_aside(&mut self.session, &missing)?;
        let foreseen = choose::foresee(&mut self.session, options)?;
        self.foreseen = Some(foreseen.clone());
        Ok(foreseen)
    }

    /// Notes about replication, as for the first table that can be loaded.
    fn replication_notes(&mut self, plans: &[Plan], order: &[usize]) -> Result<Vec<String>, Error> {
        let is_there =
            |(plan, at): &(&Plan, &usize)| plan.path.is_some() && self.targets[**at].is_some();
        let Some((plan, &at)) = plans.iter().zip(order).find(is_there) else {
            return Ok(Vec::new());
        };
        let options = &self.tables[at];
        self.work(at, |target| plan.replication_notes(target, options))
    }

    /// Has the connections work at a table that is there.
    fn work<T>(
        &mut self,
        at: usize,
        work: impl FnOnce(&mut Lock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let connections = self.connections.as_mut();
        let none = || Error::Internal("no table was there to be worked at".to_owned());
        connections.ok_or_else(none)?.at(&mut self.targets[at], work)
    }
}
