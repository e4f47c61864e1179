//! Text values to InnoDB's stored form, and stored form to keys that sort by memcmp.

pub mod charset;
pub mod collation;
pub mod column;
pub mod key;
mod error;
mod reason;
mod sql_mode;

pub use collation::{Collation, CollationData};
pub use column::{Charset, Column, DefaultValue, SqlType, TextType};
pub use error::Error;
pub use key::{KeyKind, KeyPart};
pub use reason::{Explained, Reason};
pub use sql_mode::SqlMode;
