//! A socket in front of a server's, which cuts one connection at a given packet of the client's.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The packet does not arrive.
    Before,
    /// The packet arrives, its answer does not.
    After,
    /// The same, and the server does not learn that the client has gone.
    Unseen,
}

/// What the proxy is to do.
pub(super) struct Proxy {
    pub(super) socket: PathBuf,
    state: Arc<State>,
}

struct State {
    server: PathBuf,
    /// Packets of clients until the cut; negative when there is none.
    packets: AtomicI64,
    cut: Mutex<Cut>,
    /// Run at the cut.
    at_cut: Mutex<Option<Box<dyn FnMut() + Send>>>,
    /// Kept open for [`Cut::Unseen`].
    unseen: Mutex<Vec<UnixStream>>,
}

impl Proxy {
    /// Listens at `socket` for the server at `server`. Lasts as long as the process.
    pub(super) fn start(socket: PathBuf, server: &Path) -> Proxy {
        let listener = UnixListener::bind(&socket).unwrap();
        let state = Arc::new(State {
            server: server.to_owned(),
            packets: AtomicI64::new(-1),
            cut: Mutex::new(Cut::Before),
            at_cut: Mutex::new(None),
            unseen: Mutex::new(Vec::new()),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || state.pass(client));
            }
        });
        Proxy { socket, state }
    }

    /// Cuts the connection whose packet is the `nth`, from 1, from now on.
    pub(super) fn cut_at(&self, nth: i64, cut: Cut) {
        *self.state.cut.lock().unwrap() = cut;
        self.state.packets.store(nth, Ordering::SeqCst);
    }

    /// Lets everything pass; whether the cut was still to come.
    pub(super) fn let_pass(&self) -> bool {
        self.state.unseen.lock().unwrap().clear();
        self.state.packets.swap(-1, Ordering::SeqCst) > 0
    }

    /// What is done at the cut, before the client hears of it.
    pub(super) fn at_cut(&self, action: impl FnMut() + Send + 'static) {
        *self.state.at_cut.lock().unwrap() = Some(Box::new(action));
    }
}

impl State {
    fn pass(&self, mut client: UnixStream) {
        // The server may be starting.
        let Ok(mut server) = UnixStream::connect(&self.server) else { return };
        let (mut answers, mut out) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let back = std::thread::spawn(move || {
            let mut buffer = [0; 1 << 14];
            while let Ok(count) = answers.read(&mut buffer)
                && count > 0
                && out.write_all(&buffer[..count]).is_ok()
            {}
            let _ = out.shutdown(Shutdown::Both);
        });
        while let Some(packet) = next_packet(&mut client) {
            if self.packets.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.end(&client, &mut server, &packet);
                break;
            }
            if server.write_all(&packet).is_err() {
                break;
            }
        }
        if self.unseen.lock().unwrap().is_empty() {
            let _ = server.shutdown(Shutdown::Both);
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = back.join();
    }

    fn end(&self, client: &UnixStream, server: &mut UnixStream, packet: &[u8]) {
        let cut = *self.cut.lock().unwrap();
        // No answer gets through any more.
        if cut != Cut::Before {
            let _ = client.shutdown(Shutdown::Write);
            let _ = server.write_all(packet);
            // Time to do it.
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        if cut == Cut::Unseen {
            self.unseen.lock().unwrap().push(server.try_clone().unwrap());
        }
        if let Some(action) = self.at_cut.lock().unwrap().as_mut() {
            action();
        }
    }
}

/// One packet with its header; None at the end of the connection.
fn next_packet(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut packet = vec![0; 4];
    stream.read_exact(&mut packet).ok()?;
    let length =
        usize::from(packet[0]) + (usize::from(packet[1]) << 8) + (usize::from(packet[2]) << 16);
    packet.resize(4 + length, 0);
    stream.read_exact(&mut packet[4..]).ok()?;
    Some(packet)
}
