//! A job file's settings of its input, as if they were typed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use sources::remote;
use terminal::failure::Failure;

use super::JobFile;
use super::keys;
use super::node::{Entry, Held, Node};
use crate::args::{Cli, is_typed};

/// Options of `load` that are no keys of `[input]`: what says which server is meant or what is printed, what
/// a job file says otherwise, and what is of one table.
const NO_KEYS: [&str; 38] = [
    "help",
    "help-all",
    "job",
    "host",
    "port",
    "socket",
    "user",
    "password",
    "defaults-file",
    "defaults-extra-file",
    "sandbox",
    "into",
    "map",
    "each",
    "columns",
    "set",
    "format-of",
    "create",
    "no-guess",
    "types",
    "collation",
    "dry-run",
    "json",
    "quiet",
    "verbose",
    "progress",
    "metrics",
    "report",
    "duplicates",
    "on-duplicate",
    "mode",
    "replica",
    "shard",
    "unlogged",
    "atomic",
    "ignore-unknown-columns",
    "by-position",
    "via",
];

/// The options that `[input]` may have, and whether each takes a value.
pub(super) fn options() -> Vec<(String, bool)> {
    let all = Cli::command();
    let load = all.find_subcommand("load");
    let arguments = load.into_iter().flat_map(|load| load.get_arguments());
    let named = arguments.filter_map(|argument| {
        let name = argument.get_long()?;
        let is_key =
            !NO_KEYS.contains(&name) && !name.starts_with("ssl") && !name.starts_with("tls");
        is_key.then(|| (name.to_owned(), argument.get_action().takes_values()))
    });
    named.collect()
}

/// Names of options may be written with underscores.
fn dashed(name: &str) -> String {
    name.replace('_', "-")
}

/// The arguments with those of the job file that they name, if they name one. Typed ones count
/// more.
///
/// Errors: those of the job file; values that no option can have.
pub(crate) fn with_job(typed: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let Some((path, has_files)) = named(&typed) else { return Ok(typed) };
    let file = JobFile::read(&path)?;
    let mut added: Vec<OsString> = Vec::new();
    if !is_typed(&typed, "into") {
        let into = file.root.get("into").and_then(Node::text);
        let into = into
            .ok_or_else(|| file.wrong(1, "into = \"DB\" is missing: the database of the tables"))?;
        added.push(format!("--into={into}").into());
    }
    let input = file.root.get("input");
    for entry in input.into_iter().flat_map(Node::entries) {
        let is_own = keys::INPUT.iter().any(|key| key.name == entry.key);
        if !is_own && !is_typed(&typed, &dashed(&entry.key)) {
            file.argument(entry, &mut added)?;
        }
    }
    let mut arguments = typed;
    arguments.splice(2..2, added);
    if !has_files {
        let files = input.and_then(|input| input.get("files")).map(Node::texts).unwrap_or_default();
        if files.is_empty() {
            return Err(file
                .wrong(1, "no files are named: use files = [..] of [input], or the command line"));
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        arguments.extend(files.iter().map(|name| in_folder(&folder, name).into_os_string()));
    }
    Ok(arguments)
}

/// A file of a job file: in its folder, unless it is a URL.
fn in_folder(folder: &Path, name: &str) -> PathBuf {
    let name = Path::new(name);
    if remote::is_url(name) { name.to_owned() } else { folder.join(name) }
}

/// The job file that is typed, and whether files are typed too.
fn named(typed: &[OsString]) -> Option<(PathBuf, bool)> {
    let command = typed
        .get(1)
        .filter(|word| ["load", "plan", "check", "verify"].iter().any(|of| word == of))?;
    // Any of these may be -c or --job; without them the options need not be built.
    let may_name = |word: &OsString| match word.as_encoded_bytes() {
        [b'-', b'-', name @ ..] => name.starts_with(b"j"),
        [b'-', letters @ ..] => letters.contains(&b'c'),
        _ => false,
    };
    typed.iter().skip(2).find(|word| may_name(word))?;
    // What is wrong with the rest is said when all of it is read.
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(typed).ok()?;
    let matches = matches.subcommand_matches(command.to_str()?)?;
    let path = matches.try_get_one::<PathBuf>("job").ok()??;
    let has_files = matches.try_get_many::<PathBuf>("files").ok().flatten().is_some();
    Some((path.clone(), has_files))
}

impl JobFile {
    /// Appends an entry of `[input]` as it would be typed.
    fn argument(&self, entry: &Entry, added: &mut Vec<OsString>) -> Result<(), Failure> {
        let name = dashed(&entry.key);
        let options = options();
        let takes_value = options.iter().any(|(known, takes_value)| *known == name && *takes_value);
        match (&entry.node.held, takes_value) {
            (Held::Switch(true), false) => added.push(format!("--{name}").into()),
            (Held::Switch(false), _) => {}
            (Held::Table(_), _) | (Held::List(_), false) => {
                return Err(
                    self.wrong(entry.line, format!("{} is {}", entry.key, entry.node.kind()))
                );
            }
            (_, false) => {
                return Err(self.wrong(entry.line, format!("{} must be true or false", entry.key)));
            }
            (_, true) => {
                added.extend(
                    entry.node.texts().iter().map(|text| format!("--{name}={text}").into()),
                );
            }
        }
        Ok(())
    }
}
