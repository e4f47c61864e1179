//! All of an object, front to back, of a server that sends no ranges.

use std::io::{self, Read};
use std::sync::Arc;

use ureq::BodyReader;

use crate::answer::{State, content_length, has_end};
use crate::client::{Client, broken, endless, replaced};
use crate::patience::{Fault, Patience};

/// Bytes at once on the way to where a transfer broke.
const SKIP_BYTES: usize = 64 << 10;

/// An object that comes in one answer. A broken one is asked for again, up to where it broke.
pub(crate) struct Stream {
    client: Arc<Client>,
    state: State,
    body: Option<BodyReader<'static>>,
    given: u64,
    bytes: Option<u64>,
}

impl Stream {
    pub(crate) fn new(client: Arc<Client>, state: State) -> Stream {
        Stream { client, bytes: state.bytes, state, body: None, given: 0 }
    }

    fn open(&mut self) -> Result<BodyReader<'static>, Fault> {
        if self.given > 0 && !self.state.can_be_told() {
            return Err(Fault::Final(format!(
                "the connection broke after {} bytes, and the server sends no part of the file \
                 again; copy the file, and load the copy",
                self.given
            )));
        }
        let answer = self.client.get(None, Some(&self.state))?;
        let bytes = content_length(answer.headers());
        if let Some(what) = self.state.difference(&State::of(answer.headers(), bytes)) {
            return Err(replaced(&what));
        }
        if answer.status().as_u16() != 200 {
            return Err(Fault::Final("the server sends a part of the file only".to_owned()));
        }
        if !has_end(answer.headers()) {
            return Err(endless());
        }
        self.bytes = bytes.or(self.bytes);
        let mut body = answer.into_body().into_reader();
        let (mut left, mut scratch) = (self.given, vec![0; SKIP_BYTES]);
        while left > 0 {
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(SKIP_BYTES);
            left -= crate::client::read(&mut body, &mut scratch[..size])? as u64;
        }
        Ok(body)
    }

    fn try_read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let mut body = match self.body.take() {
            Some(body) => body,
            None => self.open()?,
        };
        let size = body.read(out).map_err(|error| broken(&error))?;
        let is_short = self.bytes.is_some_and(|bytes| self.given < bytes);
        if size == 0 && is_short {
            return Err(Fault::Again("the connection ended within the file".to_owned(), None));
        }
        self.given += size as u64;
        self.body = Some(body);
        Ok(size)
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let client = Arc::clone(&self.client);
        let mut patience = Patience::new(&client.stops);
        loop {
            match self.try_read(out) {
                Ok(size) => return Ok(size),
                Err(fault) => patience.wait(fault, false)?,
            }
        }
    }
}
