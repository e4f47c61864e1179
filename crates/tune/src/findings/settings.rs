//! Variables that should be something else.

use face::call;
use face::option::TUNE;

use crate::class::Class;
use crate::facts::Facts;
use crate::finding::Finding;
use crate::variable::{ALL, Use, Variable};

pub(super) fn found(facts: &Facts) -> Vec<Finding> {
    // Those that can leave a server that does not start are for whoever knows them.
    let told = ALL.iter().filter(|variable| variable.class < Class::Unsafe);
    told.filter_map(|variable| of(variable, facts)).collect()
}

fn of(variable: &Variable, facts: &Facts) -> Option<Finding> {
    let (now, better) = (variable.now(facts)?, variable.better(facts)?);
    let risk = if variable.cost.is_empty() { variable.class.risk() } else { variable.cost };
    let faster = variable.faster.map_or(String::new(), |faster| format!("; {}", faster()));
    let risk = format!("{risk}{faster}");
    let mut finding = Finding::new(variable.weight, variable.name, now, variable.why).risk(risk);
    finding.class = (variable.used != Use::Advise).then_some(variable.class);
    let better = match variable.used {
        Use::SetOnly => format!("{better}, while a load runs"),
        Use::Set | Use::Advise => better,
    };
    finding = finding.better(better);
    Some(how(finding, variable, facts))
}

/// How to have it, by what the server takes and the account may do.
fn how(finding: Finding, variable: &Variable, facts: &Facts) -> Finding {
    let Some(value) = variable.better(facts) else { return finding };
    if !variable.is_settable(facts) {
        return restart(finding, variable, &value);
    }
    if let Some(obstacle) = variable.obstacle(facts) {
        return restart(finding, variable, &value).how(format!(
            "not while the server runs: \
                                                               {obstacle}"
        ));
    }
    let finding = match (variable.used, variable.class) {
        (Use::Advise, _) => finding,
        (_, class) => finding.how(format!(
            "{} sets the variable for the load and restores it",
            call("load", TUNE.with(class))
        )),
    };
    let finding = match facts.may_set() {
        true => finding,
        false => finding.how(format!(
            "with an account that has {}; this account lacks it",
            facts.right_to_set()
        )),
    };
    match variable.used {
        Use::SetOnly => {
            let back = variable.now(facts).map(|now| variable.statement(&now)).unwrap_or_default();
            finding.how(format!("{}; after the load {back}", variable.statement(&value)))
        }
        Use::Set | Use::Advise => finding.how(variable.statement(&value)),
    }
}

fn restart(finding: Finding, variable: &Variable, value: &str) -> Finding {
    let line = format!("in [mysqld] of my.cnf: {}={value}; then restart the server", variable.name);
    finding.how(line)
}
