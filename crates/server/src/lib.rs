//! The connection to a server: sessions, and what the server is.
//!
//! In reading order: [`connect`] is how to reach a server and talk to it, [`facts`] describe it, [`replication`] is
//! who replicates from whom, and how far replicas are behind. Its tables are described by crate `catalog`.

#![forbid(unsafe_code)]

mod base_table;
pub mod connect;
pub mod engine;
pub mod error;
pub mod facts;
pub mod filename;
mod grant;
pub mod identifier;
pub mod replication;
pub mod tested_build;
mod unsupported;
pub mod version;

pub use connect::{
    CONNECT_THREAD, Mark, WorkLabel, interrupt, is_in_driver, option_file, options, reach, session,
    tls,
};
pub use error::{Error, Result};
pub use facts::habits::habits;
pub use facts::{ServerFacts, privileges};
pub use interrupt::Interrupt;
pub use option_file::OptionFiles;
pub use options::{ConnectOptions, Flushing, UntestedBuilds};
pub use replication::replicas;
pub use session::{Row, Session};
pub use tested_build::ServerBuild;
pub use tls::{Encryption, TlsOptions, Verify};
pub use unsupported::Unsupported;
pub use version::Version;
