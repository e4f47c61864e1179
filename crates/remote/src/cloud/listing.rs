//! Objects by a pattern: `s3://bucket/folder/*.parquet`.

use std::collections::{HashMap, HashSet};
use std::future::ready;
use std::io;

use futures_util::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use object_store::{ListResult, ObjectMeta};

use super::address::Address;
use super::refusal::Task;
use super::store::{Store, path};
use crate::patience::{Patience, Stops};

/// As patterns of files: `*` does not go over `/` or find hidden names.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

const WILDCARDS: [char; 3] = ['*', '?', '['];

/// An object of a listing.
struct Listed {
    name: String,
    bytes: u64,
}

/// True of a name that may be a pattern.
pub(crate) fn is_pattern(key: &str) -> bool {
    key.contains(WILDCARDS)
}

/// The addresses that a name stands for: its own, or those of the objects that match it as a pattern, in the order
/// of their names' bytes. The object that has the very name is meant, though it is a pattern, too.
///
/// Errors: the store's; a pattern that matches nothing, or is none.
pub(crate) fn expand(address: Address) -> io::Result<Vec<Address>> {
    let Some(at) = address.key.find(WILDCARDS) else { return Ok(vec![address]) };
    let folder = folder_of(&address.key[..at]);
    let pattern = Pattern::new(&address.key);
    let is_meant = |object: &Listed| {
        let matches = |pattern: &Pattern| pattern.matches_with(&object.name, OPTIONS);
        object.name == address.key || pattern.as_ref().is_ok_and(matches)
    };
    let parts = address.key[folder.len()..].trim_start_matches('/');
    let folder = address.with_key(folder);
    let mut listed = match parts.contains('/') || parts.contains("**") {
        true => match objects_below(&folder, &is_meant) {
            Err(error) if is_unlistable(&error) && !parts.contains("**") => {
                objects_by_folder(&folder, parts, &is_meant)?
            }
            listed => listed.map_err(explained)?,
        },
        false => direct_objects(&folder, &is_meant)?,
    };
    if listed.iter().any(|object| object.name == address.key) {
        return Ok(vec![address]);
    }
    pattern.map_err(|error| io::Error::other(error.to_string()))?;
    leave_out_markers(&address, &mut listed)?;
    let found: Vec<Address> = listed.iter().map(|object| address.with_key(&object.name)).collect();
    match found.is_empty() {
        true => Err(io::Error::other("no object has this name or matches it as a pattern")),
        false => Ok(found),
    }
}

/// Leaves out the markers that consoles of stores make of new folders: empty objects whose names end with a slash,
/// which the client drops. A listing of their folder alone gives them as folders.
fn leave_out_markers(bucket: &Address, listed: &mut Vec<Listed>) -> io::Result<()> {
    let mut names: HashMap<String, HashSet<String>> = HashMap::new();
    for object in listed.iter().filter(|object| object.bytes == 0) {
        let folder = folder_of(&object.name);
        if !names.contains_key(folder) {
            let direct = direct_objects(&bucket.with_key(folder), &|it| it.bytes == 0)?;
            names.insert(folder.to_owned(), direct.into_iter().map(|it| it.name).collect());
        }
    }
    listed.retain(|object| {
        let is_direct = |names: &HashSet<String>| names.contains(&object.name);
        object.bytes > 0 || names.get(folder_of(&object.name)).is_some_and(is_direct)
    });
    listed.dedup_by(|a, b| a.name == b.name);
    Ok(())
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The objects directly in a folder that are meant, in the order of the bytes of their names. Those below its folders
/// are not listed.
fn direct_objects(folder: &Address, is_meant: &dyn Fn(&Listed) -> bool) -> io::Result<Vec<Listed>> {
    let listed = list(folder)?;
    Ok(sorted(listed.objects.iter().map(Listed::of).filter(is_meant).collect()))
}

/// The objects that are meant in the folders that match the parts of a pattern between slashes, each folder listed
/// alone: names elsewhere that the client cannot list do not matter then.
fn objects_by_folder(
    folder: &Address,
    parts: &str,
    is_meant: &dyn Fn(&Listed) -> bool,
) -> io::Result<Vec<Listed>> {
    let Some((part, rest)) = parts.split_once('/') else { return direct_objects(folder, is_meant) };
    let pattern = Pattern::new(part).map_err(|error| io::Error::other(error.to_string()))?;
    let mut objects = Vec::new();
    for below in list(folder)?.common_prefixes {
        if below.filename().is_some_and(|name| pattern.matches_with(name, OPTIONS)) {
            let below = folder.with_key(below.as_ref());
            objects.append(&mut objects_by_folder(&below, rest, is_meant)?);
        }
    }
    Ok(sorted(objects))
}

/// Objects and folders directly in a folder.
fn list(folder: &Address) -> io::Result<ListResult> {
    let prefix = prefix(folder)?;
    let store = Store::of(folder, false).map_err(io::Error::other)?;
    let listed = store.run(Task::List, Patience::short(&Stops::default()), |clients| {
        let prefix = prefix.clone();
        async move { clients.objects.list_with_delimiter(prefix.as_ref()).await }
    });
    listed.map_err(explained)
}

/// True if a store has a name that its client cannot list.
fn is_unlistable(error: &io::Error) -> bool {
    error.to_string().contains("empty path segment")
}

/// The error of a listing, with the way on if the store has a name that its client cannot list.
pub(crate) fn explained(error: io::Error) -> io::Error {
    match is_unlistable(&error) {
        true => io::Error::other(format!(
            "{error}: the folder has an object with // in its name, beside which no other one can be listed; name the \
             objects one by one"
        )),
        false => error,
    }
}

fn sorted(mut objects: Vec<Listed>) -> Vec<Listed> {
    objects.sort_by(|a, b| a.name.cmp(&b.name));
    objects
}

fn prefix(folder: &Address) -> io::Result<Option<Path>> {
    match folder.key.trim_end_matches('/') {
        "" => Ok(None),
        key => path(key).map(Some).map_err(io::Error::other),
    }
}

impl Listed {
    fn of(meta: &ObjectMeta) -> Listed {
        Listed { name: meta.location.to_string(), bytes: meta.size }
    }
}

/// The objects anywhere below a folder that are meant, in the order of the bytes of their names. The others are
/// forgotten as they come.
fn objects_below(folder: &Address, is_meant: &dyn Fn(&Listed) -> bool) -> io::Result<Vec<Listed>> {
    let prefix = prefix(folder)?;
    let store = Store::of(folder, false).map_err(io::Error::other)?;
    let objects = store.run(Task::List, Patience::short(&Stops::default()), |clients| {
        let listed = clients.objects.list(prefix.as_ref());
        let meant = listed.try_filter_map(|meta| {
            let object = Listed::of(&meta);
            ready(Ok(is_meant(&object).then_some(object)))
        });
        meant.try_collect()
    })?;
    Ok(sorted(objects))
}
