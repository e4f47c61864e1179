//! What a load of several tables would do.

use job::error::Error;
use job::options::LoadOptions;
use serde::Serialize;
use server::{ConnectOptions, Session};

use super::check_several;
use super::each::waiting;
use super::order::order;
use crate::estimate::Estimate;
use crate::ladder::Refused;
use crate::plan::{Plan, plan};

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
    let order = order(&waiting(&mut Session::connect(connect)?, tables)?);
    let mut plans = Vec::new();
    for options in order.into_iter().map(|at| &tables[at]) {
        let options = LoadOptions { with_others: !each, ..options.clone() };
        plans.push(plan(Some(connect), &options)?);
    }
    let estimates: Option<Vec<Estimate>> = plans.iter().map(|plan| plan.estimate).collect();
    Ok(SeveralPlan {
        database: tables[0].database.clone(),
        atomic: !each,
        input_bytes: plans.iter().map(|plan| plan.input_bytes).sum(),
        estimate: estimates.and_then(|all| Estimate::of_all(&all)),
        tables: plans,
    })
}
