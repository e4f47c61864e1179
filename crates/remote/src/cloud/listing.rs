//! Objects by a pattern: `s3://bucket/folder/*.parquet`.

use std::io;

use futures_util::TryStreamExt;
use glob::{MatchOptions, Pattern};

use super::address::Address;
use super::refusal::Task;
use super::store::{Store, path};
use crate::patience::Stops;

/// As patterns of files: `*` does not go over `/` or find hidden names.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The addresses that a name stands for: its own, or those of the objects that match it as a pattern, in the order
/// of their names' bytes. The object that has the very name is meant, though it is a pattern, too.
///
/// Errors: the store's; a pattern that matches nothing, or is none.
pub(crate) fn expand(address: Address) -> io::Result<Vec<Address>> {
    let Some(at) = address.key.find(['*', '?', '[']) else { return Ok(vec![address]) };
    let folder = address.key[..at].rsplit_once('/').map_or("", |(folder, _)| folder);
    let names = names(&address.with_key(folder))?;
    if names.contains(&address.key) {
        return Ok(vec![address]);
    }
    let pattern =
        Pattern::new(&address.key).map_err(|error| io::Error::other(error.to_string()))?;
    let matching = names.iter().filter(|name| pattern.matches_with(name, OPTIONS));
    let found: Vec<Address> = matching.map(|name| address.with_key(name)).collect();
    match found.is_empty() {
        true => Err(io::Error::other("no object has this name or matches it as a pattern")),
        false => Ok(found),
    }
}

/// The names of all objects below a folder, in the order of their bytes.
pub(crate) fn names(folder: &Address) -> io::Result<Vec<String>> {
    let prefix = match folder.key.trim_end_matches('/') {
        "" => None,
        key => Some(path(key).map_err(io::Error::other)?),
    };
    let store = Store::of(folder, false).map_err(io::Error::other)?;
    let mut names: Vec<String> = store.run(Task::List, &Stops::default(), |clients| {
        let listed = clients.objects.list(prefix.as_ref());
        listed.map_ok(|meta| meta.location.to_string()).try_collect()
    })?;
    names.sort();
    Ok(names)
}
