//! The direct path: build the tablespace, have the server adopt it, swap it in.
//!
//! ```text
//! rows (a chunk a worker) -> sorted runs -> indexes (a key range a worker) -> verify -> import
//!   rows                      sort           indexes                           verify    server
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | `load` | the steps |
//! | `staged_build`, `unplaced` | the staging table before the build; rows without a place in the key order |
//! | `build`, `attempt` | the shared parts of all stages, and their order |
//! | `rows`, `order`, `key_ranges`, `key_taps`, `indexes` | rows to sorted runs, runs to indexes, a key range for each worker |
//! | `old`, `hold` | rows of the table that are merged, and the lock that keeps them as they are |
//! | `off_page`, `pages`, `space_file` | long values; pages; their file |
//! | `early_pass`, `verify`, `unique_part` | pages verified while they are written, and the finished file; unique keys of an entity |
//! | `adopted`, `digest`, `digester` | the imported rows compared with the built ones |
//! | `stamp` | the pages of the adopted table, given the server's LSN for incremental backups |
//! | `page_pass` | threads that read all pages of a file, for `adopted` and `stamp` |
//! | `min_memory` | the smallest memory of a build |
//! | `duplicates`, `locate` | rows with equal keys, and their lines |
//! | `damage` | faults for tests |

#![forbid(unsafe_code)]

mod adopted;
mod attempt;
mod build;
#[cfg(feature = "failpoints")]
mod damage;
mod digest;
mod digester;
mod duplicates;
mod early_pass;
mod hold;
mod indexes;
mod key_ranges;
mod key_taps;
mod load;
mod locate;
mod min_memory;
mod off_page;
mod old;
mod order;
mod page_pass;
mod pages;
mod rows;
mod space_file;
mod staged_build;
mod stamp;
mod unique_part;
mod unplaced;
mod verify;

pub use attempt::Built;
pub use load::{build, report};
pub use min_memory::least_memory;
pub use staged_build::{StagedBuild, prepare};
pub use unplaced::Unplaced;
