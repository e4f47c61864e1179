//! Tests against real servers. Skipped with a line when none is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod identity;
mod import;
mod swap;
mod transaction;
mod twin;
