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
        let why = "each COMMIT sends the transaction to all nodes and waits for them; \
                   transactions larger than wsrep_max_ws_size are refused";
        Finding::new(Weight::Heavy, "Galera", "wsrep_on", why).how(format!(
            "on Galera, inrush load sends rows in transactions of some megabytes; \
                          {MAX_RATE} leaves capacity for other clients"
        ))
    })
}

fn semi_sync(facts: &Facts) -> Option<Finding> {
    let what = SEMI_SYNC.into_iter().find(|name| facts.is_on(name))?;
    let why = "each commit waits for a replica: small transactions lose most time";
    Some(
        Finding::new(Weight::Heavy, what, "ON", why)
            .risk(
                "without semi-sync, the loss of the primary also loses commits that replicas have \
                 not received",
            )
            .how(format!(
                "larger transactions: {BATCH_ROWS}, {BATCH_BYTES}; turn semi-sync off only if \
                 nobody relies on it"
            )),
    )
}

fn replicas(facts: &Facts) -> Option<Finding> {
    let names = &facts.server.replicas;
    (!names.is_empty()).then(|| {
        let why = "replicas repeat the transactions of a load, mostly one after the other, and \
                   fall behind";
        Finding::new(Weight::Medium, "replicas", names.join(", "), why).how(format!(
            "inrush load waits for replicas that lag: {MAX_LAG}; {REPLICA} gives them the \
                 built file"
        ))
    })
}

fn binary_log(facts: &Facts) -> Option<Finding> {
    facts.server.log_bin.then(|| {
        let text = |name: &str| facts.text(name).unwrap_or_default().to_owned();
        let (format, image) = (text("binlog_format"), text("binlog_row_image"));
        let why = "sent rows are written a second time, into the binary log; binlog_row_image \
                   does not change that";
        Finding::new(Weight::Note, "log_bin", format!("ON, {format}, row image {image}"), why)
    })
}
