//! Benchmarks: the same rows loaded by the server's own ways and by Inrush.
//!
//! In reading order: the TPC-H tables ([`tpch`]) and their rows ([`rows`]); the ways of loading
//! them and the [`floor`] below which no load can be; [`tproch`] runs them side by side, and
//! [`outcome`] is what it finds, on which [`machine`]. [`stages`] measures each stage alone.

pub mod error;
pub use error::Error;

pub mod tpch;

pub mod rows;

pub mod floor;
mod ways;

pub mod tproch;

pub mod outcome;

pub mod machine;

pub mod stages;
