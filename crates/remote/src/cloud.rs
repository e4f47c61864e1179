//! Object stores: S3, Google Cloud Storage and Azure, by `object_store`, as inputs and to write to.
//!
//! ```text
//! URL --open--> Object --register--> an input by its URL
//!                 Blocks: ranges, read ahead by threads --Store--> bucket
//! Folder --create--> Upload: parts, sent by threads --Store--> bucket, where it is visible at the end
//! ```
//!
//! In reading order: `address`, `refusal` what stores say, `service` requests, `profile` files with credentials,
//! `store` one bucket, `object` to read, `listing`, `upload`.

mod address;
mod listing;
mod object;
mod profile;
mod refusal;
mod service;
mod store;
mod upload;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use disk::failpoint;
use sources::remote;

use address::Address;
use object::Object;

pub use upload::{Folder, Upload};

/// Objects that are opened at a time.
const OPENED_AT_ONCE: usize = 16;

/// Opens the objects that a URL names, or matches as a pattern, and makes them inputs under their own URLs.
///
/// Errors: what is wrong with the URL, the environment or the store, without secrets.
pub fn open(text: &str) -> Result<Vec<PathBuf>, String> {
    let address = Address::parse(text)?;
    if address.key.is_empty() || address.key.ends_with('/') {
        return Err(format!(
            "{address} names no object; {address}* names all that are directly in it"
        ));
    }
    let found = listing::expand(address.clone());
    let found = found.map_err(|error| format!("listing {address}: {error}"))?;
    open_all(&found)
}

/// Opens objects, several at a time: each waits for an answer of the store.
fn open_all(addresses: &[Address]) -> Result<Vec<PathBuf>, String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut opened = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(address) = addresses.get(at) else { return opened };
            let outcome = open_one(address);
            if outcome.is_err() {
                next.store(addresses.len(), Ordering::Relaxed);
            }
            opened.push((at, outcome));
        }
    };
    let begin = || {
        failpoint::hit("thread.objects");
        work()
    };
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (1..OPENED_AT_ONCE.min(addresses.len())).map(|_| scope.spawn(begin)).collect();
        let mut outcomes = vec![Ok(work())];
        // Each is waited for: one that has failed fails the scope otherwise.
        outcomes.extend(threads.into_iter().map(|thread| thread.join()));
        outcomes.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let mut opened = outcomes.map_err(|_| "opening objects: a thread has failed")?.concat();
    opened.sort_by_key(|(at, _)| *at);
    opened.into_iter().map(|(_, outcome)| outcome).collect()
}

fn open_one(address: &Address) -> Result<PathBuf, String> {
    let name = PathBuf::from(address.to_string());
    if remote::identity(Path::new(&name)).is_none() {
        let object =
            Object::open(address).map_err(|error| format!("opening {address}: {error}"))?;
        remote::register(&name, Arc::new(object));
    }
    Ok(name)
}
