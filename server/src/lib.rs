//! What Inrush asks of a MariaDB server.
//!
//! ```text
//! options -> session -> version, catalog: what is there and may it be loaded directly
//!                    -> import: shadow, template, place, IMPORT   -> publish: the swap
//! mariadbd: the installed server   sandbox: a private one
//! ```
//!
//! In reading order: [`options`], [`tls`] and [`option_file`] say how to connect, [`session`] talks,
//! [`version`], [`facts`] and [`catalog`] describe the server and the target, [`direct`] and
//! [`identity`] judge of it, [`import`] and
//! [`publish`] are the server's steps of a direct load, [`sandbox`] runs a server of our own.

#![deny(unsafe_code)]

pub mod capacity;
pub mod catalog;
mod checkpoint;
pub mod direct;
pub mod error;
pub mod facts;
mod folder;
mod habits;
mod handshake;
pub mod identifier;
pub mod identity;
pub mod import;
pub mod interrupt;
pub mod learn;
pub mod mariadbd;
pub mod option_file;
pub mod options;
pub mod pressure;
pub mod privileges;
pub mod publish;
pub mod recover;
pub mod replicas;
pub mod sandbox;
pub mod secondary;
pub mod session;
mod setup;
pub mod tls;
mod twin;
mod unsupported;
pub mod version;
pub mod waiting;
pub mod whole;

pub use error::{Error, Result};
pub use facts::ServerFacts;
pub use habits::habits;
pub use handshake::THREAD as CONNECT_THREAD;
pub use import::{Target, TargetOptions};
pub use interrupt::Interrupt;
pub use option_file::OptionFiles;
pub use options::ConnectOptions;
pub use sandbox::{Sandbox, SandboxOptions};
pub use session::{Row, Session};
pub use tls::{Encryption, TlsOptions, Verify};
pub use unsupported::Unsupported;
pub use version::Version;
