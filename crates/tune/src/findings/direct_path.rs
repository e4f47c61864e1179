//! Obstacles to the fastest path, for all tables of the server.

use face::call;
use face::option::{REPLICA, UNLOGGED};
use server::Unsupported;

use crate::facts::Facts;
use crate::finding::{Finding, Weight};

/// The path is of MariaDB alone, and rights are said by `inrush plan` for the table in question.
pub(super) fn found(facts: &Facts) -> Vec<Finding> {
    let mut found: Vec<Finding> = facts.server.unsupported("").iter().filter_map(of).collect();
    found.extend(page_size(facts));
    found
}

fn of(reason: &Unsupported) -> Option<Finding> {
    let how = match reason {
        // A variable of its own, or the table's, says it.
        Unsupported::Checksum(_) | Unsupported::Privileges(_) | Unsupported::PageSize(_) => {
            return None;
        }
        Unsupported::BinaryLog => format!(
            "{}, if replicas and point-in-time recovery may lack the rows; {REPLICA} for each \
             replica",
            call("load", UNLOGGED)
        ),
        Unsupported::Replicas(_) => format!("{} for each of them", call("load", REPLICA)),
        Unsupported::SharedTablespace => {
            "SET GLOBAL innodb_file_per_table=ON, and the same in my.cnf".to_owned()
        }
        _ => String::new(),
    };
    let why = "the direct path imports a finished file instead of sending rows, which is many times \
         faster";
    let now = format!("closed: {reason}");
    let finding = Finding::new(Weight::Heavy, "direct path", now, why);
    Some(if how.is_empty() { finding } else { finding.how(how) })
}

fn page_size(facts: &Facts) -> Option<Finding> {
    let bytes = facts.server.page_bytes;
    (bytes != 0 && bytes != 16_384).then(|| {
        let why = "the direct path builds pages of 16 KiB only; a server's page size never changes";
        Finding::new(Weight::Medium, "innodb_page_size", bytes.to_string(), why)
    })
}
