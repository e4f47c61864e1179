//! What a load of several tables would do.

use job::error::Error;
use job::options::{LoadOptions, LoadPath, WithOthers};
use schema::Table;
use serde::Serialize;
use server::{ConnectOptions, Session};

use super::check_several;
use super::each::{described, waiting};
use super::order::order;

use crate::copies::are_asked_for;
use crate::estimate::Estimate;
use crate::ladder::Refused;
use crate::plan::{Plan, planned};
use crate::small;

/// What a load of several tables would do.
#[derive(Clone, Debug, Serialize)]
pub struct SeveralPlan {
    /// Their database.
    pub database: String,
    /// Whether all would be published at once, or each by itself.
    pub atomic: bool,
    /// Each table, in the order in which they would be loaded.
    pub tables: Vec<Plan>,
    /// Bytes of all inputs as they are.
    pub input_bytes: u64,
    /// What all will take together; none where that of one is not known.
    pub estimate: Option<Estimate>,
}

impl SeveralPlan {
    /// Whether all tables can be loaded.
    pub fn is_open(&self) -> bool {
        self.tables.iter().all(|table| table.path.is_some())
    }
}

/// What speaks against the faster ways into a table, a sentence for each; against all ways where none
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
) -> Result<SeveralPlan, Error> {
    check_several(tables)?;
    let described = described(&mut Session::connect(connect)?, tables)?;
    let order = order(&waiting(&described, tables));
    let planned_by = |with_others| {
        let options = |at: &usize| LoadOptions { with_others, ..tables[*at].clone() };
        order.iter().map(|at| planned(Some(connect), &options(at))).collect::<Result<Vec<_>, _>>()
    };
    let with_others = if each { WithOthers::Alone } else { WithOthers::Swap };
    let there: Option<Vec<Table>> = described.into_iter().collect();
    // Of tables that are still to be made, nobody knows yet.
    let are_small = match &there {
        Some(there) => !each && small::are_small(tables, there)?,
        None => false,
    };
    let plans = match are_small {
        true => {
            let plans = planned_by(WithOthers::Transaction)?;
            let mut inspected = plans.iter().filter_map(|(_, inspected)| inspected.as_ref());
            let is_whole = inspected.all(small::gives_numbers);
            if is_whole { plans } else { planned_by(with_others)? }
        }
        false => planned_by(with_others)?,
    };
    let plans = match each {
        true => plans,
        false => one_way(plans, tables, &order, |options| {
            planned(Some(connect), &LoadOptions { with_others, ..options })
        })?,
    };
    let plans: Vec<Plan> = plans.into_iter().map(|(plan, _)| plan).collect();
    let estimates: Option<Vec<Estimate>> = plans.iter().map(|plan| plan.estimate).collect();
    Ok(SeveralPlan {
        database: tables[0].database.clone(),
        atomic: !each,
        input_bytes: plans.iter().map(|plan| plan.input_bytes).sum(),
        estimate: estimates.and_then(|all| Estimate::of_all(&all)),
        tables: plans,
    })
}

/// Where one table cannot be copied to the replicas that are named, the rows of all are sent.
fn one_way<T>(
    mut plans: Vec<(Plan, T)>,
    tables: &[LoadOptions],
    order: &[usize],
    again: impl Fn(LoadOptions) -> Result<(Plan, T), Error>,
) -> Result<Vec<(Plan, T)>, Error> {
    let is_direct = |plan: &Plan| plan.path == Some(LoadPath::Direct.name());
    let other = plans.iter().find(|(plan, _)| !is_direct(plan));
    let Some(other) = other.map(|(plan, _)| plan.target.clone()) else { return Ok(plans) };
    if !tables.iter().all(are_asked_for) {
        return Ok(plans);
    }
    for (planned, at) in plans.iter_mut().zip(order) {
        if is_direct(&planned.0) {
            *planned = again(LoadOptions { path: LoadPath::Stream, ..tables[*at].clone() })?;
            let reason = format!("{other}, of the same command, is not copied to the replicas");
            planned.0.refused.insert(0, Refused { path: LoadPath::Direct.name(), reason });
        }
    }
    Ok(plans)
}
