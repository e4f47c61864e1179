//! Where bytes come from: files and pipes, archives, character sets of more than a byte.
//!
//! ```text
//! names --expand--> Input --archive, encoding--> Text --Stream--> whoever cuts it
//!                   a file, a Spool of a pipe, or a Remote object
//! ```
//!
//! In reading order: `expand` names to paths, `stdin` what is none, `remote` objects on other machines, `input` files that must
//! not change and pipes, `spool`
//! what a pipe gave, `random` both at any place, `archive` compressed ones, `encoding` UTF-16 and UTF-32, `text` all
//! of these in a row, `ahead` on a thread, `stream` or not, `sample` parts of them to guess from, `at_once` several at a time.

pub(crate) mod ahead;
mod archive;
pub(crate) mod at_once;
pub(crate) mod encoding;
pub(crate) mod expand;
pub(crate) mod input;
pub(crate) mod random;
pub mod remote;
pub(crate) mod sample;
mod spool;
pub(crate) mod stdin;
pub(crate) mod stream;
pub(crate) mod text;
