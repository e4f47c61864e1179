//! Ports for servers of tests.

use std::collections::BTreeSet;
use std::net::TcpListener;

use locks::Mutex;
use server::error::{Error, Result};

/// A port of 127.0.0.1 that nobody uses, and that no other test of this process is given: a server takes
/// its port some time after it was chosen, and leaves it for a while where a test kills it.
pub fn free_port() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock();
    loop {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map_err(|e| Error::io("looking for a free port for", "a test server", e))?
            .port();
        if given.insert(port) {
            return Ok(port);
        }
    }
}
