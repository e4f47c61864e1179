//! Benchmarks: the same rows loaded by the server's own ways and by Inrush.
//!
//! In reading order: the [`host`] is the server of a run. The TPC-H tables ([`tpch`]) and their rows
//! ([`rows`]); the ways of loading them, plain [`clients`] among them, and the [`floor`] below which no load
//! can be; [`tproch`] runs them side by side, then all by one command (`together`), and [`outcome`] is what
//! it finds, on which [`machine`], under the [`head`] of all reports. [`mod@batch`] inserts the rows of
//! [`sbtest`] in batches of every size over any number of connections. [`replay`] has a dump of the TPC-H
//! tables replayed; [`insert`] is the Insert Benchmark, [`split`] one file into several tables, [`folder`]
//! hundreds of small tables of an application, as files and as a dump,
//! [`mod@export`] the way back, [`formats`] files of several formats, [`mod@tune`] what each setting of a server gains. [`stages`] measures each
//! stage alone, [`writes`] ways of writing the file, [`first_day`] how many files of a folder load by one command.

pub mod error;
pub use error::Error;

pub mod choice;
mod figure;
mod mixed;
pub mod runs;
mod text_table;

pub mod tpch;

pub mod rows;

mod client;
mod clients;
pub mod floor;
mod ways;

pub mod host;

pub mod head;

mod program;

mod together;
pub mod tproch;

pub mod outcome;

pub mod machine;

pub mod clock;

mod plot;
mod svg;

pub mod sbtest;

pub mod batch;

pub mod replay;

pub mod insert;

pub mod split;

pub mod folder;

pub mod export;

pub mod formats;

pub mod tune;

pub mod stages;

pub mod writes;

pub mod first_day;
