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

use std::path::PathBuf;
use std::sync::Arc;

use locks::Mutex;
use object::Object;
use sources::{at_once, remote};
use url::Url;

/// Objects that are opened at a time.
const OPENED_AT_ONCE: usize = 16;

/// The URLs that were opened, and their names.
static OPENED: Mutex<Vec<(Url, PathBuf)>> = Mutex::new(Vec::new());

/// Opens the objects at some URLs, several at a time, and makes them inputs. Gives the inputs' names, which have no
/// secrets.
///
/// Errors: what is wrong with a URL or its server, without secrets.
pub fn open_all(texts: &[&str]) -> Result<Vec<PathBuf>, String> {
    let mut opened = OPENED.lock();
    let (mut names, mut new) = (Vec::new(), Vec::<(Url, PathBuf)>::new());
    for text in texts {
        // The text is not repeated: nobody knows which part of it is a password.
        let url = Url::parse(text).ok_or(
            "a URL cannot be read: it needs a host, and / ? # @ in a user or a password are written as \
             %2F %3F %23 %40",
        )?;
        let mut known = opened.iter().chain(&new);
        let name = known.clone().find(|(known, _)| *known == url).map(|(_, name)| name.clone());
        let name = name.unwrap_or_else(|| {
            let shown = url.shown();
            let others = known.by_ref().filter(|(known, _)| known.shown() == shown).count();
            PathBuf::from(numbered(&shown, others))
        });
        if !names.contains(&name) && opened.iter().all(|(_, known)| *known != name) {
            new.push((url, name.clone()));
        }
        names.push(name);
    }
    let open = |(url, _): &(Url, PathBuf)| {
        let object = Object::open(url.clone());
        object.map_err(|error| format!("opening {}: {error}", url.shown()))
    };
    let objects = at_once(OPENED_AT_ONCE, &new, open, thread_failed)?;
    for ((url, name), object) in new.into_iter().zip(objects) {
        remote::register(&name, Arc::new(object));
        opened.push((url, name));
    }
    Ok(names)
}

fn thread_failed() -> String {
    "opening objects: a thread has failed".to_owned()
}

/// The name of a URL of which others differ in secrets only: with a number, and the same ending.
fn numbered(shown: &str, others: usize) -> String {
    let path = shown.find("://").and_then(|at| Some(at + 3 + shown[at + 3..].find('/')?));
    match path.filter(|_| others > 0) {
        Some(at) => format!("{}/#{}{}", &shown[..at], others + 1, &shown[at..]),
        None => shown.to_owned(),
    }
}
