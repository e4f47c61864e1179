//! How to reach a server: the client's usual options, from the command line, option files and the environment.

use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use face::OptionName;
use face::option::{DEFAULTS_FILE, HOST, PASSWORD, SSL_CA, USER};
use locks::Mutex;
use mysql::{Compression, OptsBuilder};
use secrecy::{ExposeSecret, SecretString};

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::option_file::{OptionFiles, Setting};
use crate::tls::{Encryption, TlsOptions, Verify};

use super::WorkLabel;
use super::proven::Fingerprint;

/// Where distributions put the server's socket, most common first.
const SOCKETS: [&str; 5] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/run/mysql/mysql.sock",
    "/tmp/mysql.sock",
];
const PORT: u16 = 3306;
/// Environment variables about a server.
const VARIABLES: [&str; 4] = ["MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD"];
/// Longest row that is taken: the protocol's limit. A server sends rows of any length, whatever its
/// own `max_allowed_packet` is, and the rows read after an import may hold long values.
const PACKET_BYTES_MAX: usize = 1 << 30;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_UNLIMITED: Duration = Duration::from_secs(86_400);
/// A connection that idles through a long build is kept alive, and one that was cut is noticed
/// two minutes later: first probe, time between probes, probes without answer.
const KEEPALIVE_MS: u32 = 60_000;
const KEEPALIVE_INTERVAL_SECONDS: u32 = 10;
const KEEPALIVE_PROBES: u32 = 6;

/// The value of `--protocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, also to localhost.
    Tcp,
    /// The unix socket.
    Socket,
}

/// Options of one connection. A field left None has the client's default.
///
/// Debug does not show the password.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// `-S`, `--socket`: path of the unix socket.
    pub socket: Option<PathBuf>,
    /// `-h`, `--host`. `localhost` and none mean the socket, as in the client.
    pub host: Option<String>,
    /// `-P`, `--port`.
    pub port: Option<u16>,
    /// `-u`, `--user`; default the user of the system.
    pub user: Option<String>,
    /// `-p`, `--password`.
    pub password: Option<SecretString>,
    /// Database to start in.
    pub database: Option<String>,
    /// `--protocol`.
    pub protocol: Option<Protocol>,
    /// `--connect-timeout`; default 10 s.
    pub connect_timeout: Option<Duration>,
    /// `-C`, `--compress`: zlib on the connection; default off.
    pub compress: Option<bool>,
    /// The `--ssl-*` options.
    pub tls: TlsOptions,
    /// `--server-public-key-path`: key by which caching_sha2_password encrypts the password where the connection is not encrypted.
    pub server_public_key: Option<PathBuf>,
    /// `--get-server-public-key`: take that key from whoever answers, unverified, and send the
    /// password over encrypted connections that are not verified; default off.
    pub get_server_public_key: Option<bool>,
    /// `time_zone` of the session; default the server's.
    pub time_zone: Option<String>,
    /// More variables of the session, with their values as SELECT gives them. Default: none.
    pub settings: Vec<(String, String)>,
    /// True if the session's statements stay out of the server's binary log. Default: no.
    pub unlogged: bool,
    /// True if the statements that publish an [`unlogged`](Self::unlogged) load are in the log all
    /// the same: replicas have the rest by other ways. Default: no.
    pub logs_publishing: bool,
    /// True if the server replicates from the one that is loaded into: then it may be `read_only`. Default: no.
    pub is_replica: bool,
    /// True if the server checks no foreign keys for the session's statements. Default: no.
    pub unchecked_keys: bool,
    /// Ends the statements of the connection early. Default: nothing does.
    pub interrupt: Interrupt,
    /// The longest wait for an answer, which ends the connection. Default: none, since statements may take hours.
    pub answer_wait: Option<Duration>,
    /// Gets a sentence about each question to the server that takes seconds.
    pub notices: Option<Sender<String>>,
    /// A name of the server that tells more than its address. Default: none.
    pub name: Option<String>,
    /// The server's data directory as this machine sees it; default as the server names it. Nothing is built
    /// there before the server has proven that the folder is its own.
    pub datadir: Option<PathBuf>,
    /// The work that statements with rows name in a comment. Default: none.
    pub label: Option<WorkLabel>,
    /// Treatment of servers whose build is not on the tested list. Default: no built files.
    pub untested: UntestedBuilds,
    /// How a server without `innodb_log_checkpoint_now` is had to write out its changed pages. Default: it is
    /// not, and gets no built files.
    pub flushing: Option<Flushing>,
    /// Facts found by connections with these options, or with a clone of them. Default: none.
    pub known: Known,
}

/// Treatment of servers whose build is not on the tested list. Default: no built files.
#[derive(Clone, Debug, Default)]
pub struct UntestedBuilds {
    /// The folder that has results of proofs; none counts none.
    pub state_dir: Option<PathBuf>,
    /// True if they get built files without a proof.
    pub are_allowed: bool,
    /// Why a proof was not possible, as a sentence.
    pub obstacle: Option<String>,
}

/// Variables by which a server writes out its changed pages at once, set for as long as a value lives.
#[derive(Clone, Debug)]
pub struct Flushing {
    /// Sets the variables; a drop of the value puts them back.
    pub begin: fn(&ConnectOptions, &Path) -> Result<Box<dyn Send>>,
    /// The folder in which the values of before are written down.
    pub state_dir: PathBuf,
}

/// Settings from option files and the environment.
#[derive(Clone, Debug)]
pub struct ConfiguredOptions {
    /// The options.
    pub options: ConnectOptions,
    /// The first place that names a server, or an account of one: `the variable MYSQL_HOST`.
    pub named_by: Option<String>,
}

/// Facts about servers, from earlier connections.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Servers that offer no encryption: no use in asking again each time, which their error logs would tell.
    clear: Arc<Mutex<BTreeSet<String>>>,
    /// Accounts of servers, and certificates that were proven by their passwords.
    proven: Arc<Mutex<BTreeSet<(String, Fingerprint)>>>,
    /// A session that nobody uses any more.
    pub(super) spare: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
}

impl Known {
    /// True if the server at `target` offers no encryption.
    pub(crate) fn is_clear(&self, target: &str) -> bool {
        self.clear.lock().contains(target)
    }

    pub(crate) fn note_clear(&self, target: String) {
        self.clear.lock().insert(target);
    }

    /// The certificates that a server has proved to `account`.
    pub(super) fn proven(&self, account: &str) -> Vec<Fingerprint> {
        let proven = self.proven.lock();
        proven.iter().filter(|(of, _)| of == account).map(|(_, proven)| *proven).collect()
    }

    pub(super) fn note_proven(&self, account: String, proven: Fingerprint) {
        let mut known = self.proven.lock();
        known.insert((account, proven));
    }
}

impl ConnectOptions {
    /// Options for a unix socket, as the system's user.
    pub fn for_socket(path: impl Into<PathBuf>) -> ConnectOptions {
        ConnectOptions { socket: Some(path.into()), ..ConnectOptions::default() }
    }

    /// Reads environment (MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT, MYSQL_PWD) and option
    /// files, later ones over earlier ones. Warnings (an ignored file) are appended to `warnings`.
    ///
    /// Errors: a file given by name that cannot be read, a line that is no option, a port that is no number.
    pub fn from_files(files: &OptionFiles, warnings: &mut Vec<String>) -> Result<ConnectOptions> {
        Ok(ConnectOptions::find(files, warnings)?.options)
    }

    /// As [`ConnectOptions::from_files`], and whether anything there names a server.
    pub fn find(files: &OptionFiles, warnings: &mut Vec<String>) -> Result<ConfiguredOptions> {
        let get = |name: &str| std::env::var(name).ok();
        let mut options = ConnectOptions::from_environment(get)?;
        let is_set = |name: &&&str| get(name).is_some_and(|value| !value.is_empty());
        let mut named_by = VARIABLES.iter().find(is_set).map(|name| format!("the variable {name}"));
        for setting in files.read(warnings)? {
            options.apply(&setting)?;
            if named_by.is_none() && names_a_server(&setting) {
                named_by = Some(setting.place());
            }
        }
        Ok(ConfiguredOptions { options, named_by })
    }

    /// Options by their names in option files, later ones over earlier ones. Neither files nor the
    /// environment are read. Options of other programs are passed over.
    ///
    /// Errors: a port that is no number, and the like.
    pub fn from_settings(settings: &[Setting]) -> Result<ConnectOptions> {
        let mut options = ConnectOptions::default();
        settings.iter().try_for_each(|setting| options.apply(setting))?;
        Ok(options)
    }

    /// Options of the environment alone.
    fn from_environment(get: impl Fn(&str) -> Option<String>) -> Result<ConnectOptions> {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        Ok(ConnectOptions {
            host: set("MYSQL_HOST"),
            port: set("MYSQL_TCP_PORT").map(|p| port(&p, "MYSQL_TCP_PORT")).transpose()?,
            socket: set("MYSQL_UNIX_PORT").map(PathBuf::from),
            password: set("MYSQL_PWD").map(SecretString::from),
            ..ConnectOptions::default()
        })
    }

    /// These options with every one that `over` sets replaced: the command line over the files.
    pub fn overridden_by(self, over: ConnectOptions) -> ConnectOptions {
        ConnectOptions {
            socket: over.socket.or(self.socket),
            host: over.host.or(self.host),
            port: over.port.or(self.port),
            user: over.user.or(self.user),
            password: over.password.or(self.password),
            database: over.database.or(self.database),
            protocol: over.protocol.or(self.protocol),
            connect_timeout: over.connect_timeout.or(self.connect_timeout),
            compress: over.compress.or(self.compress),
            time_zone: over.time_zone.or(self.time_zone),
            settings: [self.settings, over.settings].concat(),
            unlogged: self.unlogged || over.unlogged,
            logs_publishing: self.logs_publishing || over.logs_publishing,
            is_replica: self.is_replica || over.is_replica,
            unchecked_keys: self.unchecked_keys || over.unchecked_keys,
            interrupt: self.interrupt,
            answer_wait: over.answer_wait.or(self.answer_wait),
            notices: over.notices.or(self.notices),
            name: over.name.or(self.name),
            datadir: over.datadir.or(self.datadir),
            label: over.label.or(self.label),
            untested: self.untested,
            flushing: over.flushing.or(self.flushing),
            known: Known::default(),
            tls: self.tls.overridden_by(over.tls),
            server_public_key: over.server_public_key.or(self.server_public_key),
            get_server_public_key: over.get_server_public_key.or(self.get_server_public_key),
        }
    }

    /// Takes one setting of a file; options of other programs are passed over.
    fn apply(&mut self, setting: &Setting) -> Result<()> {
        let value = setting.value.clone().unwrap_or_default();
        let path = || Some(PathBuf::from(&value));
        match setting.name.as_str() {
            "socket" => self.socket = path(),
            "host" => self.host = Some(value),
            "port" => self.port = Some(port(&value, &setting.place())?),
            "user" => self.user = Some(value),
            "password" => self.password = setting.value.clone().map(SecretString::from),
            "database" => self.database = Some(value),
            "protocol" => self.protocol = protocol(&value, &setting.place())?,
            "connect-timeout" => {
                let seconds = value.parse().map_err(|_| not_a_number(setting))?;
                self.connect_timeout = Some(Duration::from_secs(seconds));
            }
            "compress" => self.compress = Some(setting.is_on()),
            "skip-compress" | "disable-compress" => self.compress = Some(false),
            "server-public-key-path" => self.server_public_key = path(),
            // In other groups it is a variable of a server.
            "datadir" if setting.group == "inrush" => {
                self.datadir = path().filter(|path| !path.as_os_str().is_empty());
            }
            "get-server-public-key" => self.get_server_public_key = Some(setting.is_on()),
            name if name.contains("ssl") => return self.apply_tls(setting),
            _ => {}
        }
        Ok(())
    }

    /// Takes a setting about encryption.
    ///
    /// Errors: those that would make a connection safer and that Inrush cannot heed.
    fn apply_tls(&mut self, setting: &Setting) -> Result<()> {
        let tls = &mut self.tls;
        let value = setting.value.clone().unwrap_or_default();
        let path = || Some(PathBuf::from(&value));
        let verify = |is_on: bool| Some(if is_on { Verify::HostName } else { Verify::Nothing });
        match setting.name.as_str() {
            name @ ("ssl" | "enable-ssl" | "skip-ssl" | "disable-ssl") => {
                // `skip-ssl=0` is `ssl`.
                let is_negated = matches!(name, "skip-ssl" | "disable-ssl");
                let is_on = setting.is_on() != is_negated;
                tls.encryption = Some(if is_on { Encryption::Required } else { Encryption::Off });
            }
            "ssl-ca" => tls.ca = path(),
            "ssl-cert" => tls.cert = path(),
            "ssl-key" => tls.key = path(),
            "ssl-verify-server-cert" => tls.verify = verify(setting.is_on()),
            "skip-ssl-verify-server-cert" | "disable-ssl-verify-server-cert" => {
                tls.verify = verify(false);
            }
            "ssl-mode" => tls
                .set_mode(&value)
                .map_err(|e| Error::Option(format!("{}: {e}", setting.place())))?,
            name @ ("ssl-capath" | "ssl-crl" | "ssl-crlpath" | "ssl-fp" | "ssl-fplist") => {
                return Err(Error::Option(format!(
                    "{}: Inrush does not support {name}; it verifies certificates with {SSL_CA}: \
                     remove the option, or select another file with {DEFAULTS_FILE}",
                    setting.place()
                )));
            }
            _ => {}
        }
        Ok(())
    }

    /// As [`check_host`], of the host of these options.
    pub fn check_host(&self) -> Result<()> {
        check_host(HOST, self.host.as_deref().unwrap_or_default())
    }

    /// The path, if the connection is a unix socket.
    pub fn socket_path(&self) -> Option<PathBuf> {
        let local = self.host.as_deref().is_none_or(|h| h == "localhost" || h.is_empty());
        match self.protocol {
            Some(Protocol::Tcp) => return None,
            // A socket is never another host's, whatever the protocol of a file.
            _ if !local => return None,
            // -h localhost -P 3307: the client of MariaDB 10.6 and later takes TCP then.
            None if self.host.is_some() && self.port.is_some() && self.socket.is_none() => {
                return None;
            }
            _ => {}
        }
        Some(self.socket.clone().unwrap_or_else(default_socket))
    }

    /// Host name for TCP.
    pub(crate) fn host_name(&self) -> &str {
        self.host.as_deref().filter(|h| !h.is_empty()).unwrap_or("localhost")
    }

    /// Port for TCP.
    pub(super) fn tcp_port(&self) -> u16 {
        self.port.unwrap_or(PORT)
    }

    /// The account to log in with.
    pub fn user_name(&self) -> String {
        self.user.clone().unwrap_or_else(system_user)
    }

    /// For messages: the socket's path, or host and port.
    pub fn target_text(&self) -> String {
        match self.socket_path() {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host_name(), self.tcp_port()),
        }
    }

    /// The server as a report has it: its name, or its address.
    pub fn server_text(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.target_text())
    }

    /// How long may pass until the server has let us in. The client takes 0 for no limit.
    pub(crate) fn connect_time_max(&self) -> Duration {
        match self.connect_timeout {
            Some(Duration::ZERO) => CONNECT_UNLIMITED,
            limit => limit.unwrap_or(CONNECT_TIMEOUT),
        }
    }

    /// For the driver, without anything about encryption.
    pub(crate) fn driver_options(&self) -> Result<OptsBuilder> {
        let builder = OptsBuilder::new()
            .user(Some(self.user_name()))
            .pass(self.password.as_ref().map(|p| p.expose_secret().to_owned()))
            .db_name(self.database.clone())
            .prefer_socket(false)
            .max_allowed_packet(Some(PACKET_BYTES_MAX))
            .read_timeout(self.answer_wait)
            .write_timeout(self.answer_wait)
            .compress(self.compress.unwrap_or(false).then(Compression::default))
            .tcp_connect_timeout(Some(self.connect_time_max()));
        Ok(match self.socket_path() {
            Some(path) => builder.socket(Some(path_text(&path)?)),
            None => builder
                .ip_or_hostname(Some(self.host_name()))
                .tcp_port(self.tcp_port())
                .tcp_keepalive_time_ms(Some(KEEPALIVE_MS))
                .tcp_keepalive_probe_interval_secs(Some(KEEPALIVE_INTERVAL_SECONDS))
                .tcp_keepalive_probe_count(Some(KEEPALIVE_PROBES)),
        })
    }
}

/// Refuses a host with an account, or a URL. It may hold a password, so the message does not repeat it.
pub fn check_host(option: OptionName, host: &str) -> Result<()> {
    if host.starts_with('/') || !(host.contains('@') || host.contains("://")) {
        return Ok(());
    }
    Err(Error::Option(format!(
        "{option} takes a host without an account and without a password, which others could see: \
         name the account with {USER}, and give the password at the prompt ({PASSWORD}), in an \
         option file or by the variable MYSQL_PWD"
    )))
}

fn port(text: &str, place: &str) -> Result<u16> {
    text.parse().map_err(|_| Error::Option(format!("{place}: {text:?} is not a port number")))
}

fn protocol(text: &str, place: &str) -> Result<Option<Protocol>> {
    match text.to_ascii_lowercase().as_str() {
        "tcp" => Ok(Some(Protocol::Tcp)),
        "socket" => Ok(Some(Protocol::Socket)),
        "default" | "" => Ok(None),
        other => Err(Error::Option(format!("{place}: protocol {other:?} is not tcp or socket"))),
    }
}

/// True if a setting names a server, or an account of it.
///
/// The usual socket and port in the machine's own files do not: distributions put them there whether or not anybody has a server.
fn names_a_server(setting: &Setting) -> bool {
    let Some(value) = setting.value.as_deref().filter(|value| !value.is_empty()) else {
        return false;
    };
    match setting.name.as_str() {
        "socket" => !(setting.is_global && SOCKETS.contains(&value)),
        "port" => !(setting.is_global && value.parse() == Ok(PORT)),
        "host" | "user" | "password" => true,
        _ => false,
    }
}

/// The socket of a server at one of the usual places, if there is one.
pub(crate) fn usual_socket() -> Option<PathBuf> {
    SOCKETS.iter().map(Path::new).find(|path| path.exists()).map(Path::to_owned)
}

fn not_a_number(setting: &Setting) -> Error {
    Error::Option(format!("{}: the value of {} is not a number", setting.place(), setting.name))
}

fn path_text(path: &Path) -> Result<String> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| Error::Option(format!("the socket path {} is not UTF-8", path.display())))
}

fn default_socket() -> PathBuf {
    usual_socket().unwrap_or_else(|| PathBuf::from(SOCKETS[0]))
}

/// Name of the user this process runs as: /etc/passwd, else the environment, else `root`.
pub(crate) fn system_user() -> String {
    passwd_user().or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "root".to_owned())
}

/// The name /etc/passwd has for our effective user id.
pub fn passwd_user() -> Option<String> {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let text = std::fs::read_to_string("/etc/passwd").ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_the_socket_and_a_host_is_tcp() {
        let with = |host: Option<&str>, port, socket: Option<&str>, protocol| ConnectOptions {
            host: host.map(str::to_owned),
            port,
            socket: socket.map(PathBuf::from),
            protocol,
            ..ConnectOptions::default()
        };
        assert!(with(None, None, None, None).socket_path().is_some());
        assert_eq!(with(None, None, Some("/s"), None).socket_path(), Some("/s".into()));
        assert!(with(Some("localhost"), None, None, None).socket_path().is_some());
        assert!(with(Some("db1"), None, Some("/s"), None).socket_path().is_none());
        assert!(with(Some("localhost"), Some(3307), None, None).socket_path().is_none());
        assert!(with(None, None, None, Some(Protocol::Tcp)).socket_path().is_none());
        assert!(with(Some("db1"), None, None, Some(Protocol::Socket)).socket_path().is_none());
        assert_eq!(with(Some("db1"), Some(33), None, None).target_text(), "db1:33");
    }

    #[test]
    fn debug_hides_the_password() {
        let options = ConnectOptions {
            password: Some(SecretString::from("hunter2")),
            ..ConnectOptions::default()
        };
        assert!(!format!("{options:?}").contains("hunter2"));
    }

    #[test]
    fn the_environment_is_the_lowest_layer() {
        let environment = ConnectOptions::from_environment(|name| match name {
            "MYSQL_HOST" => Some("env".to_owned()),
            "MYSQL_TCP_PORT" => Some("3310".to_owned()),
            _ => None,
        });
        let line = ConnectOptions { host: Some("cli".to_owned()), ..ConnectOptions::default() };
        let merged = environment.unwrap().overridden_by(line);
        assert_eq!((merged.host.as_deref(), merged.port), (Some("cli"), Some(3310)));
        let bad = |_: &str| Some("x".to_owned());
        assert!(ConnectOptions::from_environment(bad).is_err());
    }
}
