//! Whom each commit waits for: the binary log, replicas, a cluster.

use face::option::{BATCH_BYTES, BATCH_ROWS, MAX_LAG, MAX_RATE, REPLICA};

use crate::facts::Facts;
use crate::finding::{Finding, Weight};

/// Semi-synchronous replication, by who made the server and when.
const SEMI_SYNC: [&str; 2] = ["rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"];

pub(super) fn found(facts: &Facts) -> Vec<Finding> {
    let found = [galera(facts), semi_sync(facts), replicas(facts), binary_log(facts)];
    found.into_iter().flatten().collect()
}

fn galera(facts: &Facts) -> Option<Finding> {
    facts.server.galera.then(|| {
        let why = "each transaction is sent to all nodes when it commits, and waits until they can take it; one \
                   larger than wsrep_max_ws_size is refused";
        Finding::new(Weight::Heavy, "Galera", "wsrep_on", why)
            .how(format!("inrush load sends rows in transactions of some megabytes there; {MAX_RATE} leaves room for others"))
    })
}

fn semi_sync(facts: &Facts) -> Option<Finding> {
    let what = SEMI_SYNC.into_iter().find(|name| facts.is_on(name))?;
    let why = "each commit waits until a replica has it: small transactions wait longest";
    Some(
        Finding::new(Weight::Heavy, what, "ON", why)
            .risk("without it a primary that is lost takes with it what replicas have not got yet")
            .how(format!(
                "larger transactions: {BATCH_ROWS}, {BATCH_BYTES}; off only where nobody counts on it"
            )),
    )
}

fn replicas(facts: &Facts) -> Option<Finding> {
    let names = &facts.server.replicas;
    (!names.is_empty()).then(|| {
        let why = "they apply what a load commits once more, mostly one after the other, and come behind";
        Finding::new(Weight::Medium, "replicas", names.join(", "), why)
            .how(format!(
                "inrush load waits for replicas that are behind: {MAX_LAG}; {REPLICA} has them build the file too"
            ))
    })
}

fn binary_log(facts: &Facts) -> Option<Finding> {
    facts.server.log_bin.then(|| {
        let text = |name: &str| facts.text(name).unwrap_or_default().to_owned();
        let (format, image) = (text("binlog_format"), text("binlog_row_image"));
        let why = "all rows that are sent are written once more into the binary log; binlog_row_image changes nothing \
                   of that, since an INSERT has no row before";
        Finding::new(Weight::Note, "log_bin", format!("ON, {format}, row image {image}"), why)
    })
}
