//! The program as its users meet it: typed, read, killed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bad_file;
mod kill;
mod support;
