//! The sort against `Vec::sort`: every shape, with and without spills, several threads.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod model;
mod open_files;
mod ranges;
mod threads;
