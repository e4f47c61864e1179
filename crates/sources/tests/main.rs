//! Tests of the crate as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod archives;
mod cases;
mod csv;
mod files;
mod json;
mod mishaps;
mod onward;
mod oracle;
mod paths;
mod random_dialects;
mod statements;
mod support;
mod tuples;
