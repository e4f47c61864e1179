//! The program as its users meet it: typed, read, killed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bad_file;
mod command_line;
mod disturbed;
mod faults;
mod inputs;
mod inspect;
mod intruders;
mod kill;
mod logical;
mod meanwhile;
mod memory;
mod mysql;
mod names;
mod password;
mod refused;
mod report;
mod rights;
mod sandbox;
mod scene;
mod secure;
mod signals;
mod sniff;
mod space;
mod support;
mod waits;
