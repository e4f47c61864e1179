//! Options of the connection itself: its way, its encryption, its patience.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use server::options::Protocol;
use server::{ConnectOptions, Encryption, TlsOptions, Verify};

use crate::failure::Failure;

/// How to talk to the server, as the mariadb and mysql clients are told.
#[derive(Clone, Debug, Default, Args)]
pub struct SecureArgs {
    /// Protocol [default: the socket for localhost, else TCP].
    #[arg(long, value_enum, ignore_case = true)]
    protocol: Option<ProtocolArg>,
    /// Seconds until a connection must be established [default: 10].
    #[arg(long, value_name = "SECONDS")]
    connect_timeout: Option<u32>,
    /// Compress the connection, for slow networks.
    #[arg(short = 'C', long)]
    compress: bool,
    /// Encrypt the connection (TLS), or not.
    ///
    /// The default encrypts TCP connections if the server offers it. Sockets are not encrypted.
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "0|1")]
    #[arg(default_missing_value = "1", value_parser = BoolishValueParser::new())]
    ssl: Option<bool>,
    /// Do not encrypt.
    #[arg(long, conflicts_with = "ssl")]
    skip_ssl: bool,
    /// Certificate authority (PEM) that signed the server's certificate.
    ///
    /// Public authorities are accepted too. The certificate must name the host.
    #[arg(long, value_name = "FILE")]
    ssl_ca: Option<PathBuf>,
    /// Client certificate (PEM).
    #[arg(long, value_name = "FILE")]
    ssl_cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM).
    #[arg(long, value_name = "FILE")]
    ssl_key: Option<PathBuf>,
    /// Verify the server's certificate and its host name [default: if an authority is named].
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "0|1")]
    #[arg(default_missing_value = "1", value_parser = BoolishValueParser::new())]
    ssl_verify_server_cert: Option<bool>,
    /// Accept any certificate.
    #[arg(long, conflicts_with = "ssl_verify_server_cert")]
    skip_ssl_verify_server_cert: bool,
    /// DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY, as in the mysql client.
    #[arg(long, value_name = "MODE")]
    #[arg(conflicts_with_all = ["ssl", "skip_ssl", "ssl_verify_server_cert"])]
    #[arg(conflicts_with = "skip_ssl_verify_server_cert")]
    ssl_mode: Option<String>,
    /// RSA public key of the server (PEM).
    ///
    /// caching_sha2_password needs the key on connections that are not encrypted.
    #[arg(long, value_name = "FILE")]
    server_public_key_path: Option<PathBuf>,
    /// Ask the server for its RSA public key.
    ///
    /// The password may also go over TLS that is not verified. Anyone between client and server can read it.
    #[arg(long)]
    get_server_public_key: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolArg {
    /// TCP, also to localhost.
    Tcp,
    /// Unix socket.
    Socket,
}

impl SecureArgs {
    /// The longest time of a connection, if one was typed.
    pub fn connect_timeout(&self) -> Option<Duration> {
        self.connect_timeout.map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// True if any option was given that makes sense only with a named server.
    pub fn names_a_server(&self) -> bool {
        let general = SecureArgs { compress: false, connect_timeout: None, ..self.clone() };
        !general.arguments().is_empty()
    }

    /// Files of keys and certificates, with their options.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [
            ("--ssl-ca", &self.ssl_ca),
            ("--ssl-cert", &self.ssl_cert),
            ("--ssl-key", &self.ssl_key),
            ("--server-public-key-path", &self.server_public_key_path),
        ];
        files.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?)))
    }

    /// As options of a connection.
    pub fn options(&self) -> Result<ConnectOptions, Failure> {
        let on = |flag: bool| flag.then_some(true);
        let mut tls = TlsOptions {
            encryption: match (self.ssl, self.skip_ssl) {
                (Some(true), _) => Some(Encryption::Required),
                (Some(false), _) | (None, true) => Some(Encryption::Off),
                (None, false) => None,
            },
            ca: self.ssl_ca.clone(),
            cert: self.ssl_cert.clone(),
            key: self.ssl_key.clone(),
            verify: match (self.ssl_verify_server_cert, self.skip_ssl_verify_server_cert) {
                (Some(true), _) => Some(Verify::HostName),
                (Some(false), _) | (None, true) => Some(Verify::Nothing),
                (None, false) => None,
            },
        };
        if let Some(mode) = &self.ssl_mode {
            tls.set_mode(mode).map_err(|error| Failure::usage(format!("--{error}")))?;
        }
        Ok(ConnectOptions {
            protocol: self.protocol.map(|protocol| match protocol {
                ProtocolArg::Tcp => Protocol::Tcp,
                ProtocolArg::Socket => Protocol::Socket,
            }),
            connect_timeout: self.connect_timeout(),
            compress: on(self.compress),
            tls,
            server_public_key: self.server_public_key_path.clone(),
            get_server_public_key: on(self.get_server_public_key),
            ..ConnectOptions::default()
        })
    }

    /// The same for another run of this program.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let flags = [
            ("--compress", self.compress),
            ("--skip-ssl", self.skip_ssl),
            ("--skip-ssl-verify-server-cert", self.skip_ssl_verify_server_cert),
            ("--get-server-public-key", self.get_server_public_key),
        ];
        arguments.extend(flags.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).into()));
        let switch = |is_on: bool| OsString::from(if is_on { "1" } else { "0" });
        let protocol = self.protocol.and_then(|protocol| protocol.to_possible_value());
        let path = |path: &Option<PathBuf>| path.clone().map(OsString::from);
        let values = [
            ("--protocol", protocol.map(|value| value.get_name().into())),
            ("--connect-timeout", self.connect_timeout.map(|n| n.to_string().into())),
            ("--ssl", self.ssl.map(switch)),
            ("--ssl-ca", path(&self.ssl_ca)),
            ("--ssl-cert", path(&self.ssl_cert)),
            ("--ssl-key", path(&self.ssl_key)),
            ("--ssl-verify-server-cert", self.ssl_verify_server_cert.map(switch)),
            ("--ssl-mode", self.ssl_mode.clone().map(OsString::from)),
            ("--server-public-key-path", path(&self.server_public_key_path)),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                let mut argument = OsString::from(name);
                argument.push("=");
                argument.push(value);
                arguments.push(argument);
            }
        }
        arguments
    }
}
