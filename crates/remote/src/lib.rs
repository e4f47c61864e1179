//! Inputs over HTTP, as [`sources`] reads them.
//!
//! ```text
//! URL --open--> Object --register--> an input by its name without secrets
//!                 Blocks: ranges, read ahead by threads --Client--> server
//!                 Stream: one answer, for servers without ranges
//! ```
//!
//! The first request asks for the first 64 KiB. What it says of the object's state, its ETag or the time of its
//! last change, and its size, is asked of every later one and compared: an object that was replaced meanwhile is an
//! error and never a mixture. A broken transfer goes on where it broke.
//!
//! In reading order: `url`, `answer` what servers say, `patience` with which they are asked again, `client` one
//! request, `blocks` of an object, `stream` of one without ranges, `object`; [`cloud`]: object stores, also to write to.
#![forbid(unsafe_code)]

mod answer;
mod blocks;
mod client;
#[cfg(feature = "cloud")]
pub mod cloud;
mod object;
mod patience;
mod stream;
mod url;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use object::Object;
use sources::remote;
use url::Url;

/// The URLs that were opened, and their names.
static OPENED: Mutex<Vec<(Url, PathBuf)>> = Mutex::new(Vec::new());

/// Opens the object at a URL, and makes it an input. Gives the input's name, which has no secrets.
///
/// Errors: what is wrong with the URL or the server, without secrets.
pub fn open(text: &str) -> Result<PathBuf, String> {
    // The text is not repeated: nobody knows which part of it is a password.
    let url = Url::parse(text).ok_or(
        "a URL cannot be read: it needs a host, and / ? # @ in a user or a password are written as \
         %2F %3F %23 %40",
    )?;
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, name)) = opened.iter().find(|(known, _)| *known == url) {
        return Ok(name.clone());
    }
    let shown = url.shown();
    let others = opened.iter().filter(|(known, _)| known.shown() == shown).count();
    let name = PathBuf::from(numbered(&shown, others));
    let object = Object::open(url.clone()).map_err(|error| format!("opening {shown}: {error}"))?;
    remote::register(Path::new(&name), Arc::new(object));
    opened.push((url, name.clone()));
    Ok(name)
}

/// The name of a URL of which others differ in secrets only: with a number, and the same ending.
fn numbered(shown: &str, others: usize) -> String {
    let path = shown.find("://").and_then(|at| Some(at + 3 + shown[at + 3..].find('/')?));
    match path.filter(|_| others > 0) {
        Some(at) => format!("{}/#{}{}", &shown[..at], others + 1, &shown[at..]),
        None => shown.to_owned(),
    }
}
