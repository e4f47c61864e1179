//! Job files: a load that is declared, `inrush load -c job.toml`.
//!
//! ```text
//! job.toml -> nodes -> checked by keys -> [input]   as options that were typed
//!                                      -> [[table]] a mapping each
//! ```
//!
//! In reading order: `node` the text as a tree, `keys` what may be in it, `arguments` its options, `tables`
//! what of each line goes where, `rules` what each has to be; `schema` the keys for editors, `init` a file to
//! begin with.

mod arguments;
mod init;
mod keys;
mod node;
mod rules;
mod schema;
mod tables;

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use terminal::failure::Failure;

pub(crate) use self::arguments::with_job;
use self::node::Node;
use crate::args::{JobAction, JobArgs};

/// `inrush job`: prints what helps to write one.
pub(crate) fn run(args: &JobArgs) -> Result<u8, Failure> {
    let mut out = terminal::out();
    match &args.action {
        JobAction::Init(args) => out.write_all(init::text(args)?.as_bytes())?,
        JobAction::Schema => writeln!(out, "{:#}", schema::schema())?,
    }
    Ok(0)
}

/// A job file that was read, whose keys are those that there are.
pub(crate) struct JobFile {
    path: PathBuf,
    root: Node,
}

impl JobFile {
    /// Reads one.
    ///
    /// Errors: it cannot be read, is no TOML, or has a key that there is not, with its line.
    pub(crate) fn read(path: &Path) -> Result<JobFile, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("reading the job file {}: {error}", path.display()))
        })?;
        let root = Node::parse(&text, path)?;
        let file = JobFile { path: path.to_owned(), root };
        let options = |of: &[keys::Key]| match keys::are_of_input(of) {
            true => arguments::options().into_iter().map(|(name, _)| name).collect(),
            false => Vec::new(),
        };
        let checked = keys::Kind::Section(keys::ROOT).check(&file.root, "", &options);
        checked.map_err(|(line, what)| file.wrong(line, what))?;
        Ok(file)
    }

    fn wrong(&self, line: usize, what: impl Display) -> Failure {
        Failure::usage(format!("{} line {line}: {what}", self.path.display()))
    }
}
