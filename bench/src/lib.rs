//! Benchmarks: the same rows loaded by the server's own ways and by Inrush.
//!
//! In reading order: the TPC-H tables ([`tpch`]), their rows ([`rows`]).

pub mod error;
pub use error::Error;

pub mod tpch;

pub mod rows;
