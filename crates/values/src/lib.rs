//! Text values to InnoDB's stored form, and stored form to keys that sort by memcmp.

#![forbid(unsafe_code)]

mod base64;
mod bit;
pub mod charset;
pub mod civil;
mod clock_text;
pub mod collation;
mod convert;
mod ctype;
mod decimal;
pub mod decode;
mod digits;
mod document;
mod enumeration;
mod error;
mod float;
pub mod geometry;
pub mod habits;
mod inet;
mod integer;
mod json;
pub mod key;
mod multibyte;
mod narrow;
mod plain_text;
mod reason;
mod rounded;
mod shape_kind;
mod sql_mode;
pub mod sql_type;
pub mod stored;
mod temporal;
mod text;
mod text_end;
mod typed;
mod uuid;
mod value;
mod vector;
mod year;
mod zone;

pub use base64::push_base64;
pub use collation::{Collation, CollationData};
pub use convert::{ConvertOptions, Converter};
pub use error::Error;
pub use key::{KeyKind, KeyPart};
pub use multibyte::MultiByte;
pub use narrow::VisitNarrow;
pub use plain_text::PlainText;
pub use reason::{Explained, Reason};
pub use shape_kind::ShapeKind;
pub use sql_mode::SqlMode;
pub use sql_type::{Charset, Family, SqlType, TextType};
pub use text_end::{Narrow, TextEnd};
pub use value::{Decimal, Value};
pub use zone::Zone;
