//! An object on a server: what the first answer tells of it, and how its bytes are had.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sources::remote::Remote;
use ureq::Body;
use ureq::http::Response;

use crate::answer::{ContentRange, State, content_length, has_end};
use crate::blocks::{Blocks, Ranges};
use crate::client::{Client, broken, endless, read};
use crate::patience::{Fault, Patience, Stops};
use crate::stream::Stream;
use crate::url::Url;

/// Bytes that the first request asks for.
const HEAD_BYTES: usize = 64 << 10;

/// An object that can be read.
pub(crate) struct Object {
    client: Arc<Client>,
    state: State,
    identity: String,
    head: Vec<u8>,
    kind: Kind,
}

enum Kind {
    /// The head is all of it.
    Whole,
    Ranges(Arc<Blocks>),
    /// It can only be read from its beginning.
    Once,
}

/// The ranges of an object in one state.
struct StateRanges {
    client: Arc<Client>,
    state: State,
}

/// The facts of the first answer.
struct FirstAnswer {
    state: State,
    head: Vec<u8>,
    has_ranges: bool,
    is_whole: bool,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Object {
    /// Asks for the first bytes.
    ///
    /// Errors: the server's and the network's, after more tries.
    pub(crate) fn open(url: Url) -> io::Result<Object> {
        let client = Arc::new(Client::new(url).map_err(io::Error::other)?);
        let mut patience = Patience::short(&client.stops);
        let found = loop {
            match FirstAnswer::ask(&client) {
                Ok(found) => break found,
                Err(fault) => patience.wait(fault, false)?,
            }
        };
        let FirstAnswer { state, head, has_ranges, is_whole } = found;
        let kind = match state.bytes {
            _ if is_whole => Kind::Whole,
            // Nothing would show that two ranges are of different files.
            Some(bytes) if has_ranges && state.can_be_told() => {
                let ranges = StateRanges { client: Arc::clone(&client), state: state.clone() };
                Kind::Ranges(Blocks::new(Arc::new(ranges), bytes, head.len()))
            }
            _ => Kind::Once,
        };
        Ok(Object { client, identity: state.text(), state, head, kind })
    }
}

impl Ranges for StateRanges {
    fn read_range(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        self.client.read_range(&self.state, start, out)
    }

    fn stops(&self) -> &Stops {
        &self.client.stops
    }
}

impl FirstAnswer {
    fn ask(client: &Client) -> Result<FirstAnswer, Fault> {
        let answer = client.get(Some((0, HEAD_BYTES as u64 - 1)), None)?;
        let range = ContentRange::of(answer.headers());
        match (answer.status().as_u16(), range) {
            (200, _) => FirstAnswer::of_all(answer),
            (206, Some(ContentRange { start: Some(0), end, total })) => {
                let state = State::of(answer.headers(), total);
                let mut head = vec![0; HEAD_BYTES.min(end as usize + 1)];
                let mut body = answer.into_body().into_reader();
                let mut size = 0;
                while size < head.len() {
                    size += read(&mut body, &mut head[size..])?;
                }
                let is_whole = total == Some(head.len() as u64);
                Ok(FirstAnswer { state, head, has_ranges: total.is_some(), is_whole })
            }
            // No first byte can be sent of an empty file.
            (416, Some(ContentRange { total: Some(0), .. })) => {
                let state = State::of(answer.headers(), Some(0));
                Ok(FirstAnswer { state, head: Vec::new(), has_ranges: true, is_whole: true })
            }
            (status, _) => {
                let why =
                    format!("the server does not send the start of the file (status {status})");
                Err(Fault::Final(why))
            }
        }
    }

    /// The answer of a server that sends no ranges.
    fn of_all(answer: Response<Body>) -> Result<FirstAnswer, Fault> {
        if !has_end(answer.headers()) {
            return Err(endless());
        }
        let bytes = content_length(answer.headers());
        let mut state = State::of(answer.headers(), bytes);
        let mut body = answer.into_body().into_reader();
        let (mut head, mut size) = (vec![0; HEAD_BYTES], 0);
        let is_whole = loop {
            match body.read(&mut head[size..]).map_err(|error| broken(&error))? {
                0 => break size < head.len(),
                read => size += read,
            }
        };
        head.truncate(size);
        if is_whole && bytes.is_some_and(|bytes| bytes != size as u64) {
            return Err(Fault::Again("the connection ended within the file".to_owned(), None));
        }
        if is_whole {
            state.bytes = Some(size as u64);
        }
        Ok(FirstAnswer { state, head, has_ranges: false, is_whole })
    }
}

impl Remote for Object {
    fn bytes(&self) -> Option<u64> {
        match self.kind {
            Kind::Whole => Some(self.head.len() as u64),
            Kind::Ranges(_) => self.state.bytes,
            Kind::Once => None,
        }
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn head(&self) -> &[u8] {
        &self.head
    }

    fn read_at(&self, position: u64, out: &mut [u8]) -> io::Result<usize> {
        let of_head = usize::try_from(position).ok().and_then(|at| self.head.get(at..));
        if let Some(bytes) = of_head.filter(|bytes| !bytes.is_empty()) {
            let size = bytes.len().min(out.len());
            out[..size].copy_from_slice(&bytes[..size]);
            return Ok(size);
        }
        match &self.kind {
            Kind::Whole => Ok(0),
            Kind::Ranges(blocks) => blocks.read_at(position, out),
            Kind::Once => Err(io::Error::other("the server sends no ranges of the file")),
        }
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Stream::new(Arc::clone(&self.client), self.state.clone())))
    }

    fn limit(&self, bytes: usize) {
        if let Kind::Ranges(blocks) = &self.kind {
            blocks.limit(bytes);
        }
    }

    fn forget(&self) {
        if let Kind::Ranges(blocks) = &self.kind {
            blocks.forget();
        }
    }

    fn watch(&self, stop: &Arc<AtomicBool>) {
        self.client.stops.watch(stop);
    }
}
