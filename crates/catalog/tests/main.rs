//! Tests against real servers. Skipped with a line when none is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod collation;
mod foreign_keys;
mod mysql_collation;
mod tables;
