//! A table that is loaded: locked against other loads, filled, and swapped in.

mod checkpoint;
mod folder;
pub mod identity;
pub mod import;
pub mod publish;
pub mod recover;
pub mod secondary;
pub mod transaction;
mod twin;
pub mod waiting;
