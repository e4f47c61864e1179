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

use sources::{at_once, remote};

use crate::{OPENED_AT_ONCE, thread_failed};
use address::Address;
use object::Object;

pub use upload::{Folder, Upload};

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
    open_each(&found)
}

/// Opens the objects among these URLs that are no patterns, several at a time. [`open`] finds them open then.
///
/// Errors: as [`open`].
pub fn open_all(texts: &[&str]) -> Result<(), String> {
    let addresses = texts.iter().map(|text| Address::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let is_one = |address: &Address| {
        !address.key.is_empty() && !address.key.ends_with('/') && !listing::is_pattern(&address.key)
    };
    open_each(&addresses.into_iter().filter(is_one).collect::<Vec<_>>()).map(drop)
}

fn open_each(addresses: &[Address]) -> Result<Vec<PathBuf>, String> {
    at_once(OPENED_AT_ONCE, addresses, open_one, thread_failed)
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
