//! The server that options name, as the mariadb client is told.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use secrecy::SecretString;
use server::options::ConfiguredOptions;
use server::{ConnectOptions, OptionFiles};

use crate::failure::Failure;
use crate::plain;
use crate::say;
use crate::secure::SecureArgs;

/// Which server, as the mariadb client is told.
#[derive(Clone, Debug, Default, Args)]
#[command(
    next_help_heading = "Server (default: option files, MYSQL_* variables, then the sandbox)"
)]
pub struct ConnectArgs {
    /// Host of the server.
    #[arg(short = 'h', long)]
    pub host: Option<String>,
    /// TCP port.
    #[arg(short = 'P', long)]
    pub port: Option<u16>,
    /// Unix socket.
    #[arg(short = 'S', long)]
    pub socket: Option<PathBuf>,
    /// User.
    #[arg(short = 'u', long)]
    pub user: Option<String>,
    /// Ask for the password.
    ///
    /// Passwords come from the prompt, an option file or the variable MYSQL_PWD. The command line is no place
    /// for them: others can read it.
    #[arg(short = 'p', long)]
    pub password: bool,
    /// The password, asked for on another machine (`--via`).
    #[arg(skip)]
    pub sent_password: Option<SecretString>,
    /// Option file to read instead of the usual ones.
    #[arg(long, value_name = "FILE")]
    pub defaults_file: Option<PathBuf>,
    /// Option file to read after the usual ones.
    #[arg(long, value_name = "FILE")]
    pub defaults_extra_file: Option<PathBuf>,
    /// Its way, its encryption, its patience.
    #[command(flatten)]
    pub secure: SecureArgs,
    /// Data directory of the server as this machine sees it [default: as the server names it].
    ///
    /// A server in a container has its data directory in a volume or a bind mount of this machine.
    #[arg(long, value_name = "PATH")]
    pub datadir: Option<PathBuf>,
    /// Folder of a sandbox to use [default: in the user's data folder].
    #[arg(long, value_name = "DIR")]
    pub sandbox: Option<PathBuf>,
}

impl ConnectArgs {
    /// True if anything names a server; else the sandbox is meant.
    pub fn names_a_server(&self) -> bool {
        self.host.is_some()
            || self.port.is_some()
            || self.socket.is_some()
            || self.user.is_some()
            || self.password
            || self.defaults_file.is_some()
            || self.defaults_extra_file.is_some()
            || self.secure.names_a_server()
    }

    /// The client's option files.
    pub fn option_files(&self) -> OptionFiles {
        OptionFiles {
            only: self.defaults_file.clone(),
            extra: self.defaults_extra_file.clone(),
            ..OptionFiles::default()
        }
    }

    /// Settings from the client's option files and the environment.
    pub fn found(&self) -> Result<ConfiguredOptions, Failure> {
        let mut warnings = Vec::new();
        let found = ConnectOptions::find(&self.option_files(), &mut warnings)
            .map_err(|error| Failure::usage(error.to_string()))?;
        for warning in warnings {
            say(format_args!("inrush: warning: {warning}"));
        }
        Ok(found)
    }

    /// The server that was typed, the rest of it as was found.
    pub fn given(&self, found: ConfiguredOptions) -> Result<NamedServer, Failure> {
        let typed = ConnectOptions {
            host: self.host.clone(),
            port: self.port,
            socket: self.socket.clone(),
            user: self.user.clone(),
            datadir: self.datadir.clone(),
            password: self.sent_password.clone(),
            ..self.secure.options()?
        };
        let options = found.options.overridden_by(typed);
        options.check_host().map_err(|error| Failure::usage(error.to_string()))?;
        let asks_password = self.password && self.sent_password.is_none();
        Ok(NamedServer { options, asks_password })
    }

    /// The same arguments for another program of ours, less the password.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        let mut add = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                arguments.push(name.into());
                arguments.push(value);
            }
        };
        add("--host", self.host.clone().map(Into::into));
        add("--port", self.port.map(|port| port.to_string().into()));
        add("--socket", self.socket.clone().map(Into::into));
        add("--user", self.user.clone().map(Into::into));
        add("--defaults-file", self.defaults_file.clone().map(Into::into));
        add("--defaults-extra-file", self.defaults_extra_file.clone().map(Into::into));
        add("--datadir", self.datadir.clone().map(Into::into));
        arguments.extend(self.secure.arguments());
        arguments
    }
}

/// A server that is named; the password may still have to be asked for.
pub struct NamedServer {
    options: ConnectOptions,
    asks_password: bool,
}

impl NamedServer {
    /// How to connect, the password included.
    pub fn connect(self) -> Result<ConnectOptions, Failure> {
        if !self.asks_password {
            return Ok(self.options);
        }
        Ok(ConnectOptions { password: Some(ask_password()?), ..self.options })
    }
}

/// Asks for the password of the server's account.
pub fn ask_password() -> Result<SecretString, Failure> {
    let text = rpassword::prompt_password("Enter password: ")
        .map_err(|error| Failure::usage(format!("reading the password: {error}")))?;
    Ok(SecretString::from(text))
}

/// Keeps off the terminal what the driver dies of when a server answers without sense, and readers of damaged
/// files: there is an error for it.
pub fn hush_driver() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let connects = std::thread::current().name() == Some(server::CONNECT_THREAD);
        if connects || server::is_in_driver() || columnar::is_guarded() {
            return;
        }
        // A message may hold bytes of the input, which no terminal obeys.
        let text = panic.to_string();
        match plain::text(&text) == text {
            true => usual(panic),
            false => say(text),
        }
    }));
}
