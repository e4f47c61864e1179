//! The server that options name, as the mariadb client is told.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use secrecy::SecretString;
use server::options::{ConfiguredOptions, Protocol};
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
    ///
    /// A typed port is reached by TCP, and a typed socket counts for more than a port, whatever files name. The
    /// client of MariaDB does so (client/client_priv.h, `warn_protocol_override`); that of MySQL takes the socket
    /// of a file, which may be another server's.
    pub fn given(&self, found: ConfiguredOptions) -> Result<NamedServer, Failure> {
        let mut typed = ConnectOptions {
            host: self.host.clone(),
            port: self.port,
            socket: self.socket.clone(),
            user: self.user.clone(),
            datadir: self.datadir.clone(),
            password: self.sent_password.clone(),
            ..self.secure.options()?
        };
        let of_address = match (&self.socket, self.port) {
            (Some(_), _) => Some(Protocol::Socket),
            (None, port) => port.map(|_| Protocol::Tcp),
        };
        typed.protocol = typed.protocol.or(of_address);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;
    use server::option_file::Setting;

    use super::*;

    #[derive(Parser)]
    #[command(disable_help_flag = true)]
    struct Program {
        #[command(flatten)]
        connect: ConnectArgs,
    }

    /// The address that is meant by settings of a file and typed words.
    fn target(of_file: &[(&str, &str)], typed: &str) -> String {
        let setting = |(name, value): &(&str, &str)| Setting {
            name: (*name).to_owned(),
            value: Some((*value).to_owned()),
            group: "client".to_owned(),
            file: PathBuf::from("my.cnf"),
            line: 1,
            is_global: false,
        };
        let settings: Vec<Setting> = of_file.iter().map(setting).collect();
        let options = ConnectOptions::from_settings(&settings).unwrap();
        let args = Program::parse_from(["inrush"].into_iter().chain(typed.split_whitespace()));
        let named = args.connect.given(ConfiguredOptions { options, named_by: None });
        named.ok().unwrap().options.target_text()
    }

    /// Files of distributions name a socket, which may be that of another server.
    #[test]
    fn a_typed_port_or_socket_counts_for_more_than_those_of_a_file() {
        let socket = ("socket", "/a");
        for of_file in [&[socket][..], &[socket, ("protocol", "socket")], &[socket, ("port", "3")]]
        {
            for (typed, expected) in [
                ("", "/a"),
                ("-h localhost", "/a"),
                ("-P 2", "localhost:2"),
                ("-h localhost -P 2", "localhost:2"),
                ("-h db1 -P 2", "db1:2"),
                ("-P 2 -S /b", "/b"),
                ("-P 2 --protocol socket", "/a"),
            ] {
                assert_eq!(target(of_file, typed), expected, "{of_file:?} {typed}");
            }
        }
        let tcp = [("protocol", "tcp"), ("port", "3")];
        assert_eq!(target(&tcp, "-S /b"), "/b");
        assert_eq!(target(&tcp, "-S /b --protocol tcp"), "localhost:3");
        // As both clients, which take a socket for this machine alone.
        assert_eq!(target(&[("host", "db1"), ("port", "3")], "-S /b"), "db1:3");
        assert_eq!(target(&[socket, ("protocol", "socket")], "-h db1"), "db1:3306");
    }
}
