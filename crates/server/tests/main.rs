//! Tests against real servers. Skipped with a line when none is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounts;
mod certificates;
mod encryption;
mod facts;
mod impostor;
mod mysql;
mod nonsense;
mod option_files;
mod proof;
mod prover;
mod replicas;
mod session;
mod variables;
