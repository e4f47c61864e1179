//! What Inrush asks of a MariaDB server.
//!
//! ```text
//! connect -> facts, catalog: what is there and may it be loaded      learn: collations
//!         -> target: locked, filled, swapped in                      pressure: meanwhile
//! mariadbd: the installed server   sandbox: a private one
//! ```
//!
//! In reading order: [`connect`] is how to reach a server and talk to it, [`facts`] and [`catalog`]
//! describe it and a table of it, [`learn`] its collations, [`target`] judges of the table and has the
//! server's steps of a load, [`pressure`] is what it and its replicas suffer meanwhile, [`sandbox`]
//! runs a server of our own.

#![forbid(unsafe_code)]

pub mod catalog;
pub mod connect;
pub mod direct;
pub mod error;
pub mod facts;
pub mod filename;
mod grant;
pub mod identifier;
pub mod learn;
pub mod mariadbd;
pub mod pressure;
pub mod sandbox;
pub mod target;
mod unsupported;
pub mod version;

pub use connect::{
    CONNECT_THREAD, Mark, interrupt, is_in_driver, option_file, options, session, tls,
};
pub use error::{Error, Result};
pub use facts::habits::habits;
pub use facts::{ServerFacts, capacity, privileges};
pub use interrupt::Interrupt;
pub use option_file::OptionFiles;
pub use options::ConnectOptions;
pub use pressure::replicas;
pub use sandbox::{Sandbox, SandboxOptions};
pub use session::{Row, Session};
pub use target::keeper::Keeper;
pub use target::lock::{Lock, LockOptions, RECONNECT_WAIT};
pub use target::names::Names;
pub use target::resting::{Connections, Resting};
pub use target::shadow::Direct;
pub use target::take::refuse_put_aside;
pub use target::transaction::Transaction;
pub use target::twin::Twin;
pub use target::{foreign_keys, identity, import, names, publish, secondary, shadow, swap};
pub use target::{transaction, waiting};
pub use tls::{Encryption, TlsOptions, Verify};
pub use unsupported::Unsupported;
pub use version::Version;
