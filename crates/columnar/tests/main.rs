//! Files that the crates of Apache write, read back as typed rows.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod damaged;
#[cfg(feature = "excel")]
mod excel;
mod files;
mod fixtures;
mod int96;
mod round_trip;
#[cfg(feature = "excel")]
mod small_workbooks;
mod writing;
mod written;

use testkit::arrow_tables as tables;
