//! The direct path: build the tablespace, have the server adopt it, swap it in.
//!
//! ```text
//! rows (a chunk a worker) -> sorted runs -> indexes (a key range a worker) -> verify -> import
//!   rows                      sort           indexes                           verify    server
//! ```
//!
//! In reading order: `load` the steps, `build` what joins the stages, `rows` the first and
//! `indexes` the second, `off_page` long values, `pages` and `space_file` where pages go, `verify`
//! the finished file; `locate` which rows have a key, `duplicates` those that lose. `damage` is the
//! tests' own.

mod build;
#[cfg(feature = "failpoints")]
mod damage;
mod duplicates;
mod indexes;
mod load;
mod locate;
mod off_page;
mod pages;
mod rows;
mod space_file;
mod verify;

pub use load::run;
