//! A load that is about to begin: what is asked, what may be used, what was seen, which way.

use job::memory::Memory;
use job::options::{LoadOptions, LoadPath};
use job::progress::Progress;
use schema::Method;

use crate::inspected::Inspected;

/// The beginning of every method.
#[derive(Clone, Copy)]
pub struct Prepared<'a> {
    /// The request.
    pub options: &'a LoadOptions,
    /// Who watches.
    pub progress: &'a dyn Progress,
    /// Who may use how much memory.
    pub memory: &'a Memory,
    /// Facts about the table, by server and input.
    pub inspected: &'a Inspected,
    /// The path; never [`LoadPath::Auto`].
    pub path: LoadPath,
    /// The method.
    pub method: Method,
    /// Why that path.
    pub why: &'a str,
    /// Why it does so for the rows of one partition only, if that is so.
    pub one_partition: Option<&'a str>,
}
