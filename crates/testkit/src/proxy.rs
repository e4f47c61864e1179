//! A socket in front of a server's, which answers chosen requests otherwise than the server does.
//!
//! ```text
//! client --request--> judge: its fate --request, or none--> server
//!        <--answer, another one, or none------------------
//! ```
//!
//! It knows of the protocol what it takes to tell requests from what belongs to one, and an answer
//! that is over with its first packet from one that is not.

mod damage;

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use locks::Mutex;

pub use damage::Damage;

use crate::wire::{
    COM_QUERY, COM_STMT_PREPARE, ENDING, LOCAL_INFILE, OK, UNANSWERED, error, framed, next_packet,
};

/// Server error of a deadlock, which takes all of the transaction back.
const ER_LOCK_DEADLOCK: u16 = 1213;
/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The protocol's number of what is to be done.
    pub command: u8,
    /// Its body: the text of a statement, mostly.
    pub text: Vec<u8>,
}

impl Request {
    /// True if it is a statement that begins with these words, behind a comment that names the work.
    pub fn begins(&self, words: &str) -> bool {
        let text = match self.text.strip_prefix(b"/* inrush ") {
            Some(rest) => {
                let end = rest.windows(3).position(|three| three == b"*/ ");
                end.map_or(rest, |end| &rest[end + 3..])
            }
            None => &self.text[..],
        };
        let start = text.get(..words.len());
        self.command == COM_QUERY
            && start.is_some_and(|start| start.eq_ignore_ascii_case(words.as_bytes()))
    }
}

/// The fate of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The server does it, and says so.
    Done,
    /// The connection breaks before the server has it.
    LostBefore,
    /// The server does it, and the connection breaks before anybody hears so.
    LostAfter,
    /// The server does it, and the connection breaks in the midst of the answer.
    LostWithin,
    /// The server does nothing, and this error is the answer.
    Refused(u16),
    /// The server does it, and this error is the answer: somebody has killed what was through. Where
    /// the server refuses it by itself, or has rows to answer, that is the answer.
    DoneThenRefused(u16),
    /// The server does it, and the answer is a packet of no bytes.
    Nonsense,
    /// The server does it, and of its answer the packet of this number, from 0, is damaged.
    Damaged(usize, Damage),
}

/// How long a connection stays after a damaged packet.
const DAMAGED_WAIT: Duration = Duration::from_millis(300);

/// How a connection ends at a packet of the client's, whether that begins a request or belongs to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The packet does not arrive.
    Before,
    /// The packet arrives, its answer does not.
    After,
    /// The same, and the server does not learn that the client has gone.
    Unseen,
}

/// Time that a server has for what it was asked last before it learns that the client has gone.
const LAST_PACKET_TIME: Duration = Duration::from_millis(30);

type Judge = Box<dyn FnMut(&Request) -> Fate + Send>;

/// A proxy at work, as long as it is not dropped; connections that it has stay.
pub struct Proxy {
    socket: PathBuf,
    state: Arc<State>,
}

/// State shared by its connections.
#[derive(Default)]
struct State {
    judge: Mutex<Option<Judge>>,
    /// Packets of clients up to the cut, that one included.
    cut: Mutex<Option<(usize, Cut)>>,
    at_cut: Mutex<Option<Box<dyn FnMut() + Send>>>,
    /// Kept open for [`Cut::Unseen`].
    unseen: Mutex<Vec<UnixStream>>,
}

impl Proxy {
    /// Listens at `socket` for the server at `server`, and has every request done.
    pub fn start(socket: PathBuf, server: &Path) -> Proxy {
        let listener = UnixListener::bind(&socket).unwrap();
        let state: Arc<State> = Arc::default();
        let (shared, server) = (Arc::clone(&state), server.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (state, server) = (Arc::clone(&shared), server.clone());
                std::thread::spawn(move || state.pass(client, &server));
            }
        });
        Proxy { socket, state }
    }

    /// Where clients connect to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Has `judge` say what becomes of each request from now on.
    pub fn judge(&self, judge: impl FnMut(&Request) -> Fate + Send + 'static) {
        *self.state.judge.lock() = Some(Box::new(judge));
    }

    /// Has every request of `run` done, and counts them.
    pub fn requests_of(&self, run: impl FnOnce()) -> usize {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        self.judge(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Fate::Done
        });
        run();
        self.let_pass();
        count.load(Ordering::SeqCst)
    }

    /// Cuts the connection whose packet is the `nth` of all, from 1, from now on.
    pub fn cut_at(&self, nth: usize, cut: Cut) {
        *self.state.cut.lock() = Some((nth, cut));
    }

    /// Sets the action at each cut, before the client hears of it.
    pub fn at_cut(&self, action: impl FnMut() + Send + 'static) {
        *self.state.at_cut.lock() = Some(Box::new(action));
    }

    /// Has every request done from now on; whether a cut was still to come.
    pub fn let_pass(&self) -> bool {
        *self.state.judge.lock() = None;
        for server in self.state.unseen.lock().drain(..) {
            let _ = server.shutdown(Shutdown::Both);
        }
        self.state.cut.lock().take().is_some()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// The fate of the next answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    AsItIs,
    Cut,
    /// As far as the middle of its first packet.
    Torn,
    Error(u16),
    Nothing,
    /// As it is, but for the packet behind so many.
    Damaged(usize, Damage),
    /// Nobody is there, which the server is not to learn.
    Unheard,
}

impl State {
    /// One connection, until either side ends it.
    fn pass(&self, mut client: UnixStream, server: &Path) {
        // The server may be starting, or have gone.
        let Ok(mut server) = UnixStream::connect(server) else { return };
        let next = Arc::new(Mutex::new(Answer::AsItIs));
        let (answers, out) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let told = Arc::clone(&next);
        let back = std::thread::spawn(move || pass_back(answers, out, &told));
        while let Some(packet) = next_packet(&mut client) {
            if let Some(cut) = self.cut_here() {
                if cut == Cut::Unseen {
                    *next.lock() = Answer::Unheard;
                    self.unseen.lock().push(server.try_clone().unwrap());
                }
                self.cut(cut, &client, &mut server, &packet);
                if cut == Cut::Unseen {
                    let _ = client.shutdown(Shutdown::Both);
                    return;
                }
                break;
            }
            if !self.hand_on(&packet, &mut client, &mut server, &next) {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
        let _ = client.shutdown(Shutdown::Both);
        let _ = back.join();
    }

    /// Does with a packet what its fate is; false where that ends the connection.
    fn hand_on(
        &self,
        packet: &[u8],
        client: &mut UnixStream,
        server: &mut UnixStream,
        next: &Mutex<Answer>,
    ) -> bool {
        let judged =
            |request| self.judge.lock().as_mut().map_or(Fate::Done, |judge| judge(&request));
        let fate = request(packet).map_or(Fate::Done, judged);
        let is_prepare = packet.get(4) == Some(&COM_STMT_PREPARE);
        let rollback = framed(0, &[&[COM_QUERY], &b"ROLLBACK"[..]].concat());
        let mut sent = packet;
        let answer = match fate {
            Fate::Done => Answer::AsItIs,
            Fate::LostBefore => return false,
            Fate::LostAfter => Answer::Cut,
            Fate::LostWithin => Answer::Torn,
            Fate::DoneThenRefused(_) | Fate::Nonsense if is_prepare => Answer::AsItIs,
            Fate::DoneThenRefused(errno) => Answer::Error(errno),
            Fate::Nonsense => Answer::Nothing,
            Fate::Damaged(packet, damage) => Answer::Damaged(packet, damage),
            Fate::Refused(ER_LOCK_DEADLOCK) => {
                sent = &rollback;
                Answer::Error(ER_LOCK_DEADLOCK)
            }
            Fate::Refused(errno) => {
                let is_told = client.write_all(&framed(1, &error(errno))).is_ok();
                return is_told && !ENDING.contains(&errno);
            }
        };
        if fate != Fate::Done {
            *next.lock() = answer;
        }
        server.write_all(sent).is_ok()
    }

    /// Counts a packet; how the connection is to be cut at it, if it is.
    fn cut_here(&self) -> Option<Cut> {
        let mut next = self.cut.lock();
        let (packets, cut) = next.as_mut()?;
        *packets -= 1;
        let (is_here, cut) = (*packets == 0, *cut);
        if is_here {
            *next = None;
        }
        is_here.then_some(cut)
    }

    fn cut(&self, cut: Cut, client: &UnixStream, server: &mut UnixStream, packet: &[u8]) {
        if cut != Cut::Before {
            // No answer gets through any more.
            let _ = client.shutdown(Shutdown::Write);
            let _ = server.write_all(packet);
            std::thread::sleep(LAST_PACKET_TIME);
        }
        if let Some(action) = self.at_cut.lock().as_mut() {
            action();
        }
    }
}

/// Answers, until one side has gone.
fn pass_back(mut server: UnixStream, mut client: UnixStream, next: &Mutex<Answer>) {
    while let Some(packet) = next_packet(&mut server) {
        let first = packet.get(4).copied();
        let mut next = next.lock();
        let answer = match (*next, first) {
            (Answer::Unheard, _) => return,
            // The rows of a file come first, then what is to be changed.
            (_, Some(LOCAL_INFILE)) => Answer::AsItIs,
            (answer, _) => {
                *next = match answer {
                    Answer::Damaged(before @ 1.., damage) => Answer::Damaged(before - 1, damage),
                    _ => Answer::AsItIs,
                };
                answer
            }
        };
        drop(next);
        let (sent, is_last) = match answer {
            Answer::Cut => break,
            Answer::Torn => (packet[..packet.len() / 2].to_vec(), true),
            Answer::Error(errno) if first == Some(OK) => {
                (framed(packet[3], &error(errno)), ENDING.contains(&errno))
            }
            Answer::Nothing if first == Some(OK) => (framed(packet[3], &[]), false),
            Answer::Damaged(0, damage) => {
                break_later(&server, &client);
                (damage.of(packet), false)
            }
            _ => (packet, false),
        };
        if client.write_all(&sent).is_err() || is_last {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
}

/// The request in a packet; None if it belongs to an earlier one, or has no answer.
pub(crate) fn request(packet: &[u8]) -> Option<Request> {
    let (&command, text) = packet.get(4..)?.split_first()?;
    let is_first = packet[3] == 0;
    (is_first && !UNANSWERED.contains(&command)).then(|| Request { command, text: text.to_vec() })
}

/// Ends a connection on which the client may wait for what does not come.
fn break_later(server: &UnixStream, client: &UnixStream) {
    let ends = [server.try_clone().unwrap(), client.try_clone().unwrap()];
    std::thread::spawn(move || {
        std::thread::sleep(DAMAGED_WAIT);
        ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
    });
}
