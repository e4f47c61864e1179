//! SQL as dumps write it: statements, the rows of INSERTs, CREATE TABLE. Reads no files.
//!
//! ```text
//! bytes --Lexer--> one statement --classify--> StatementKind
//!       --insert::head--> InsertHead, and then rows:
//!       --Cutter--> whole tuples --Walk--> tuples, fields --StringRules--> Value
//! ```
//!
//! A dump is bytes, not UTF-8: blobs stand raw in its strings. Statements are told apart by the
//! rules of the mariadb client and of the server's lexer (`client/mysql.cc`, `sql/sql_lex.cc`).
//!
//! In reading order: [`syntax`] what a session says of its text, `lexer` where a statement ends,
//! `script` the statements of a text that is at hand, [`token`] the words of one, and `words` one
//! after the other, `name` what names something, `statement` what a statement is and `classify` how
//! that is told, `assignments` the parts of a SET, `session` what a dump sets that changes how it is
//! read, [`command`] lines that are for the client, `stray_line` lines that are in a dump by accident, `problem`
//! what cannot be read; `create` a table under another name, its `outline` and its `foreign_key`s, [`shown`] what the server shows of one, `objects` the tables that a statement changes, `alter` what is
//! said of it behind its rows, `collation` other names for collations, `qualifier` for databases. Then
//! rows: [`insert`] the words before them, [`walk`] what is a string and what a tuple, `tuples` what
//! comes after a semicolon, `cut` where a run of rows may be cut and ends, `escape` what a backslash
//! makes of a byte, `like` which texts a pattern matches, `literal` what a value means and which column takes it.
#![forbid(unsafe_code)]

pub mod syntax;

mod lexer;
mod script;

pub mod token;
mod words;

mod name;

mod classify;
mod statement;

mod assignments;
mod session;

pub mod command;
mod problem;
mod stray_line;

mod alter;
mod change;
mod collation;
mod create;
mod foreign_key;
mod objects;
mod outline;
mod qualifier;
pub mod shown;

pub mod insert;

pub mod walk;

mod cut;
mod escape;
mod like;
mod literal;
mod tuples;

pub use alter::AlterTable;
pub use change::TableChange;
pub use classify::{classify, is_global};
pub use collation::{database_charset, replace_collations};
pub use create::{CreateTable, Unread};
pub use cut::Cutter;
pub use escape::escaped;
pub use foreign_key::{ForeignKey, Parent};
pub use insert::{InsertHead, Verb};
pub use lexer::{Boundary, Inside, Lexer};
pub use like::is_like;
pub use literal::{Literals, StringRules};
pub use name::{ObjectName, quoted};
pub use objects::{changed_objects, is_of_replication};
pub use outline::{Outline, OutlinedColumn, OutlinedIndex};
pub use problem::Problem;
pub use qualifier::{other_databases, replace_databases};
pub use script::{altered_table, made_table, statements};
pub use session::Session;
pub use statement::{Bound, StatementKind};
pub use stray_line::StrayLine;
pub use syntax::{Comments, Syntax};
pub use token::{Token, TokenKind, Tokens};
pub use tuples::{Next, Tuples, is_blank, is_nothing};
