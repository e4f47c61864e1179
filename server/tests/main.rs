//! Tests against real servers. Skipped with a line when none is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod catalog;
mod collation;
mod import;
mod option_files;
mod sandbox;
mod session;
