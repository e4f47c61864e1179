//! Tests against real servers. Skipped with a line when none is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod identity;
mod import;
mod staging_copy;
mod swap;
mod transaction;

/// Has a filled table take its target's place, and drops the old one.
fn publish(mut filled: targets::publish::Filled<'_>, mode: schema::Mode) {
    let mut swapped = filled.publish(mode, targets::relations::KeyChecks::Rows).unwrap();
    swapped.drop_old(filled.lock).unwrap();
}
