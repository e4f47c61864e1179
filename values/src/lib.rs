//! Text values to InnoDB's stored form, and stored form to keys that sort by memcmp.

pub mod column;
mod error;
mod reason;
mod sql_mode;

pub use column::{Charset, Column, DefaultValue, SqlType, TextType};
pub use error::Error;
pub use reason::{Explained, Reason};
pub use sql_mode::SqlMode;
