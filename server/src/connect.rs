//! How to reach a server, and talking to it.
//!
//! ```text
//! option_file -> options -> handshake (tls, withheld) -> driver -> setup -> session
//! ```
//!
//! `mark` tells a connection of ours from others; [`interrupt`] is the wish to stop that a session
//! heeds, `watcher` ends the statements that do not.

mod driver;
mod handshake;
pub mod interrupt;
pub(crate) mod mark;
pub mod option_file;
pub mod options;
pub mod session;
pub(crate) mod setup;
pub mod tls;
mod watcher;
mod withheld;

pub use driver::is_in_driver;
pub use handshake::THREAD as CONNECT_THREAD;
pub use mark::Mark;
