//! A load on another machine: the same program there, with its input and secrets from here, by the user's `ssh`.
//!
//! ```text
//! here                                            there
//! Client: ssh HOST inrush load --via -   ----->   host::answer: greets with its version (stderr)
//!   arguments, Run                       ----->     becomes `inrush load ARGUMENTS`
//!   name, password, schema, files, Start ----->   host::receive: an input by the user's name of the file
//!   Data .. Data, End                    ----->     read by the load; then a thread waits for the hang-up
//!   lines of stderr, made harmless       <-----   messages, progress
//!   files, by parts between the lines    <-----   metrics; at the end rejected rows, report page
//!   a Receipt for each file, behind End  ----->     rejected rows are kept there until they are on the disk here
//!   stdout, exit status                  <-----   report
//! ```
//!
//! No argument is on a command line that a shell reads, and nothing secret is on any. Nothing is sent before the
//! program there has greeted as ours and of this version.
//!
//! **The end of the input is a frame**, with the number of bytes. A connection that ends before it is an error of
//! reading, and no load publishes then. A connection that ends behind it, while the load still works, asks that
//! load to stop as SIGTERM does: the pipe stays open until the program there has ended.
//!
//! In reading order: `address`, `frame`, [`Upload`] the stream as it is written, [`Client`], [`host`] its reader,
//! [`returned`] the files.
#![forbid(unsafe_code)]

mod address;
mod client;
mod frame;
pub mod host;
pub mod returned;
mod upload;

pub use address::Address;
pub use client::Client;
pub use returned::WrittenFile;
pub use upload::Upload;

/// The words around the version by which the program on the other machine greets.
const GREETING: (&str, &str) = ("inrush ", " awaits a load");
