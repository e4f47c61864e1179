//! Obstacles to the fastest path, for all tables of the server.

use face::call;
use face::option::{PROVE, REPLICA, UNLOGGED};
use serde::Serialize;
use server::Unsupported;

use crate::facts::Facts;
use crate::finding::{Finding, Weight};

/// A thing that closes the direct path to all tables of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Closed {
    /// The obstacle, as a sentence.
    pub reason: String,
    /// The change that removes it; none where the sentence has it, or none is known.
    pub how: Option<String>,
}

/// Everything that closes the direct path to all tables. Rights on single databases are not known here: `inrush
/// plan` names them for a table.
pub fn closed(facts: &Facts) -> Vec<Closed> {
    let mut all: Vec<Closed> = facts.server.unsupported("").iter().filter_map(of_server).collect();
    all.extend(
        facts.no_datadir.iter().map(|reason| Closed { reason: reason.to_string(), how: None }),
    );
    all
}

fn of_server(reason: &Unsupported) -> Option<Closed> {
    let Unsupported::Privileges(missing) = reason else {
        return Some(Closed { reason: reason.to_string(), how: remedy(reason) });
    };
    let global: Vec<String> =
        missing.iter().filter(|grant| grant.contains(" ON *.* TO ")).cloned().collect();
    (!global.is_empty()).then(|| Closed {
        reason: "privileges (the account lacks rights on the server)".to_owned(),
        how: Some(global.join("; ")),
    })
}

/// The change that opens the direct path again.
fn remedy(reason: &Unsupported) -> Option<String> {
    let set = |name: &str, value: &str| {
        Some(format!("SET GLOBAL {name}={value}, and the same in my.cnf"))
    };
    match reason {
        Unsupported::BinaryLog => Some(format!(
            "{}, if replicas and point-in-time recovery may lack the rows; {REPLICA} for each \
             replica",
            call("load", UNLOGGED)
        )),
        Unsupported::Replicas(_) => Some(format!("{} for each of them", call("load", REPLICA))),
        Unsupported::UntestedBuild(..) => Some(call("doctor", PROVE).to_string()),
        Unsupported::SharedTablespace => set("innodb_file_per_table", "ON"),
        Unsupported::Checksum { needed, .. } => set("innodb_checksum_algorithm", needed),
        Unsupported::EncryptedTables(variable, _) => set(variable, "OFF"),
        Unsupported::CompressedTables => set("innodb_compression_default", "OFF"),
        // It ends super_read_only too.
        Unsupported::ReadOnly(names)
            if names.iter().all(|name| ["super_read_only", "read_only"].contains(name)) =>
        {
            set("read_only", "OFF")
        }
        _ => None,
    }
}

/// The path is of MariaDB alone, and rights are said by `inrush plan` for the table in question.
pub(super) fn found(facts: &Facts) -> Vec<Finding> {
    let mut found: Vec<Finding> = facts.server.unsupported("").iter().filter_map(of).collect();
    found.extend(page_size(facts));
    found
}

fn of(reason: &Unsupported) -> Option<Finding> {
    // A variable of its own, or the table's, says it.
    if matches!(
        reason,
        Unsupported::Checksum { .. } | Unsupported::Privileges(_) | Unsupported::PageSize(_)
    ) {
        return None;
    }
    let why = "the direct path imports a finished file instead of sending rows, which is many times \
         faster";
    let now = format!("closed: {reason}");
    let finding = Finding::new(Weight::Heavy, "direct path", now, why);
    Some(match remedy(reason) {
        Some(how) => finding.how(how),
        None => finding,
    })
}

fn page_size(facts: &Facts) -> Option<Finding> {
    let bytes = facts.server.page_bytes;
    (bytes != 0 && bytes != 16_384).then(|| {
        let why = "the direct path builds pages of 16 KiB only; a server's page size never changes";
        Finding::new(Weight::Medium, "innodb_page_size", bytes.to_string(), why)
    })
}
