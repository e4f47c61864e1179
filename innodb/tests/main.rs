//! Tests that need more than one file of the crate, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod model;
mod store;
