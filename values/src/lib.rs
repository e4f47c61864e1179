//! Text values to InnoDB's stored form, and stored form to keys that sort by memcmp.

pub mod column;

pub use column::{Charset, Column, DefaultValue, SqlType, TextType};
