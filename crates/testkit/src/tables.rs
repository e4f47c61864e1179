//! Random tables, loaded by LOAD DATA and by Inrush, and compared in every way.
//!
//! ```text
//! table (column, text) -> case: with a file (format, value), sorted out by the server (oracle)
//!                      -> run: loaded by both -> compare, change, compare again: twins
//! ```
//!
//! [`left_out`] does the same with rows whose keys others have. All is made of one seed.

pub mod case;
pub mod change;
pub mod column;
pub mod compare;
pub mod format;
pub mod left_out;
mod oracle;
pub mod reasons;
pub mod run;
pub mod server;
mod shape;
pub mod table;
pub mod table_pair;
mod text;
mod value;

pub use case::{Case, Line};
pub use run::{Input, Run};
pub use server::{Db, Server};
