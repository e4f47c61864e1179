//! How to reach a server, and talking to it.
//!
//! ```text
//! option_file -> options -> handshake (tls, withheld) -> driver -> session (variables)
//!                           proof (stranger, greeting) -> pin
//! ```
//!
//! `proof` is a log-in of our own, by which a server proves that a certificate is its own, `pin` what holds the driver's connections to
//! that certificate. [`reach`] waits for a server that is restarting; `mark` tells a connection of ours from others; [`interrupt`] is the
//! wish to stop that a session heeds, `watcher` ends the statements that do not.

mod driver;
mod greeting;
mod handshake;
pub mod interrupt;
pub(crate) mod mark;
pub mod option_file;
pub mod options;
mod pin;
mod proof;
mod proven;
pub mod reach;
pub mod session;
mod stranger;
pub mod tls;
mod variables;
mod watcher;
mod withheld;
mod work_label;

pub use driver::is_in_driver;
pub use handshake::THREAD as CONNECT_THREAD;
pub use mark::Mark;
pub use work_label::WorkLabel;
