//! The server that the options of a database name, for a connection and for the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use adbc_core::error::{Result, Status};
use adbc_core::options::{OptionDatabase, OptionValue};
use secrecy::{ExposeSecret, SecretString};
use server::option_file::Setting;
use server::{ConnectOptions, OptionFiles};

use crate::errors::{error, of_server};
use crate::uri;

/// Prefix of the options that only this driver has.
const PREFIX: &str = "inrush.";
/// Names of options with a value, as in option files.
const VALUES: [&str; 13] = [
    "host",
    "port",
    "socket",
    "user",
    "protocol",
    "connect-timeout",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "server-public-key-path",
    "datadir",
    DEFAULTS_FILE,
];
/// Names of options that are on or off.
const SWITCHES: [&str; 6] = [
    "compress",
    "get-server-public-key",
    "skip-ssl",
    "skip-ssl-verify-server-cert",
    "ssl",
    "ssl-verify-server-cert",
];
/// Switches that also have a form for off.
const TWO_WAY: [&str; 2] = ["ssl", "ssl-verify-server-cert"];
const DEFAULTS_FILE: &str = "defaults-file";
/// Variables that name a server, or an account of one.
const VARIABLES: [&str; 4] = ["MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD"];
/// Time zone of the connection, so that values of TIMESTAMP are moments of one zone.
pub(crate) const TIME_ZONE: &str = "+00:00";

/// A server and an account.
///
/// Debug does not show the password.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerOptions {
    /// Options by their names in option files; a switch that is on has no value.
    settings: Vec<(String, Option<String>)>,
    password: Option<SecretString>,
    database: Option<String>,
    /// Path of the program `inrush`.
    pub(crate) program: Option<PathBuf>,
}

impl ServerOptions {
    /// Reads the options of a database; single ones take the place of those of the URI.
    ///
    /// Errors: an unknown name, a value of the wrong form.
    pub(crate) fn of(
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<ServerOptions> {
        let mut server = ServerOptions::default();
        let mut single = Vec::new();
        for (key, value) in options {
            let value = text(&key, value)?;
            match key {
                OptionDatabase::Uri => {
                    let parts = uri::options(&value)?;
                    parts.iter().try_for_each(|(name, value)| server.set(name, value))?;
                }
                OptionDatabase::Username => single.push(("user".to_owned(), value)),
                OptionDatabase::Password => single.push(("password".to_owned(), value)),
                other => single.push((own_name(other.as_ref())?, value)),
            }
        }
        single.iter().try_for_each(|(name, value)| server.set(name, value))?;
        Ok(server)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "password" => self.password = Some(SecretString::from(value)),
            "database" => self.database = Some(value.to_owned()),
            "program" => self.program = Some(PathBuf::from(value)),
            name if VALUES.contains(&name) => self.put(name, Some(value)),
            name if SWITCHES.contains(&name) => match is_on(name, value)? {
                true => self.put(name, None),
                false if TWO_WAY.contains(&name) => self.put(name, Some("0")),
                false => self.settings.retain(|(other, _)| other != name),
            },
            // As clients name the socket.
            "unix-socket" => self.put("socket", Some(value)),
            _ => {
                return Err(error(
                    Status::InvalidArguments,
                    format!("the connection has the unknown option {name}"),
                ));
            }
        }
        Ok(())
    }

    fn put(&mut self, name: &str, value: Option<&str>) {
        self.settings.retain(|(other, _)| other != name);
        self.settings.push((name.to_owned(), value.map(str::to_owned)));
    }

    /// True if the options name no server, so that option files and the environment do.
    fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.password.is_none()
    }

    fn defaults_file(&self) -> Option<&Path> {
        let file = self.settings.iter().find(|(name, _)| name == DEFAULTS_FILE)?;
        file.1.as_deref().map(Path::new)
    }

    /// Options of a connection.
    ///
    /// Errors: no server is named anywhere; an option file that cannot be read, or has a bad line.
    pub(crate) fn connect_options(&self) -> Result<ConnectOptions> {
        let options = if self.is_empty() {
            let found = ConnectOptions::find(&OptionFiles::default(), &mut Vec::new());
            let found = found.map_err(|cause| of_server(&cause))?;
            if found.named_by.is_none() {
                return Err(error(
                    Status::InvalidArguments,
                    "no server is named: the option uri names one, such as \
                     mysql://loader:secret@db1/shop, or an option file does",
                ));
            }
            found.options
        } else {
            self.named_options()?
        };
        let (password, database) = (self.password.clone(), self.database.clone());
        Ok(ConnectOptions {
            password: password.or(options.password.clone()),
            database: database.or(options.database.clone()),
            time_zone: Some(TIME_ZONE.to_owned()),
            ..options
        })
    }

    fn named_options(&self) -> Result<ConnectOptions> {
        let mut settings = match self.defaults_file() {
            Some(file) => {
                let files = OptionFiles { only: Some(file.to_owned()), ..OptionFiles::default() };
                files.read(&mut Vec::new()).map_err(|cause| of_server(&cause))?
            }
            None => Vec::new(),
        };
        settings.extend(self.settings.iter().map(|(name, value)| Setting {
            name: name.clone(),
            value: value.clone(),
            group: "inrush".to_owned(),
            file: PathBuf::from(format!("option {name}")),
            line: 0,
            is_global: false,
        }));
        ConnectOptions::from_settings(&settings).map_err(|cause| of_server(&cause))
    }

    /// Has a run of the program reach the same server. The password is in its environment, which other
    /// users cannot read.
    pub(crate) fn apply_to(&self, command: &mut Command) {
        if self.is_empty() {
            return;
        }
        if self.defaults_file().is_none() {
            // Passwords of option files would take the place of this one.
            command.arg("--defaults-file=/dev/null");
        }
        for (name, value) in &self.settings {
            command.arg(match value {
                Some(value) => format!("--{name}={value}"),
                None => format!("--{name}"),
            });
        }
        for name in VARIABLES {
            command.env_remove(name);
        }
        if let Some(password) = &self.password {
            command.env("MYSQL_PWD", password.expose_secret());
        }
    }
}

/// The name of an option of this driver, as option files have it.
fn own_name(key: &str) -> Result<String> {
    let name = key.strip_prefix(PREFIX).ok_or_else(|| {
        error(Status::NotImplemented, format!("the driver has no option {key} of a database"))
    })?;
    Ok(name.replace('_', "-"))
}

/// The text of a value.
pub(crate) fn text(key: impl AsRef<str>, value: OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text),
        OptionValue::Int(number) => Ok(number.to_string()),
        OptionValue::Double(number) => Ok(number.to_string()),
        _ => Err(error(
            Status::InvalidArguments,
            format!("the value of option {} is not text", key.as_ref()),
        )),
    }
}

fn is_on(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "" | "true" | "1" | "on" | "yes" => Ok(true),
        "false" | "0" | "off" | "no" => Ok(false),
        _ => Err(error(
            Status::InvalidArguments,
            format!("option {name} is {value:?}; true or false is expected"),
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<ServerOptions> {
        let pairs = pairs
            .iter()
            .map(|(key, value)| (OptionDatabase::from(*key), OptionValue::from(*value)));
        ServerOptions::of(pairs)
    }

    fn arguments(options: &ServerOptions) -> Vec<String> {
        let mut command = Command::new("inrush");
        options.apply_to(&mut command);
        command.get_args().map(|one| one.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_connection_and_the_program_reach_the_same_server() {
        let pairs = [
            ("uri", "mysql://root:secret@db1:3307/shop?ssl_ca=ca.pem&compress=1"),
            ("inrush.host", "db2"),
            ("inrush.ssl", "false"),
        ];
        let server = options(&pairs).unwrap();
        let connect = server.connect_options().unwrap();
        assert_eq!((connect.host.as_deref(), connect.port), (Some("db2"), Some(3307)));
        assert_eq!(
            (connect.user.as_deref(), connect.database.as_deref()),
            (Some("root"), Some("shop"))
        );
        assert_eq!((connect.compress, connect.tls.ca), (Some(true), Some("ca.pem".into())));
        assert_eq!(connect.password.unwrap().expose_secret(), "secret");
        let mut typed = arguments(&server);
        typed.sort();
        assert_eq!(
            typed,
            [
                "--compress",
                "--defaults-file=/dev/null",
                "--host=db2",
                "--port=3307",
                "--ssl-ca=ca.pem",
                "--ssl=0",
                "--user=root"
            ]
        );
        assert!(!format!("{server:?}").contains("secret"));
    }

    #[test]
    fn wrong_options_are_errors() {
        for (pairs, expected) in [
            (("inrush.port", "x"), "option port"),
            (("inrush.speed", "1"), "unknown option speed"),
            (("inrush.compress", "perhaps"), "true or false is expected"),
            (("postgresql.x", "1"), "no option postgresql.x"),
        ] {
            let message = match options(&[pairs]) {
                Ok(server) => server.connect_options().unwrap_err().message,
                Err(error) => error.message,
            };
            assert!(message.contains(expected), "{message}");
        }
    }
}
