//! From options to a connection that has let us in: in time, encrypted as asked for, and with a reason in plain words when it does not.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use disk::failpoint;
use face::option::{
    CONNECT_TIMEOUT, GET_SERVER_PUBLIC_KEY, PASSWORD, SERVER_PUBLIC_KEY_PATH, SSL, SSL_CA, SSL_MODE,
};
use mysql::{Conn, DriverError, OptsBuilder};
use secrecy::ExposeSecret;

use crate::error::{Error, Result};
use crate::options::ConnectOptions;
use crate::tls::{self, Tls, Trust};

use super::pin::Pin;
use super::proof::prove;
use super::proven::Unproven;
use super::withheld::{self, Withheld};

/// Name of the thread that connects: what it dies of becomes an error, so nobody need print it.
pub const THREAD: &str = "connect";

/// Pause between two looks at whether somebody wants the end.
const PAUSE: Duration = Duration::from_millis(100);

/// Certificates that a server proves one after the other, before that is no use.
const PROOFS_MAX: usize = 3;

/// Authentication plugins that can be spoken, for messages.
const SPOKEN: &str = "mysql_native_password, ed25519, parsec, caching_sha2_password or unix_socket";

/// Connects and logs in.
///
/// The driver's own time limit ends with the TCP connection. A server that is stopped, or a tunnel
/// to nowhere, takes connections and says nothing: so the limit is kept here, for all of it. A
/// thread that is given up on ends with its connection, at the latest when the system drops that.
pub(crate) fn connect(options: &ConnectOptions) -> Result<Conn> {
    let attempt = Attempt::new(options)?;
    let (give, take) = channel();
    let limit = options.connect_time_max();
    let running = attempt.clone();
    std::thread::Builder::new()
        .name(THREAD.to_owned())
        .spawn(move || {
            failpoint::hit("thread.connect");
            // Nobody may be waiting any more: then the connection is dropped.
            let _ = give.send(running.run());
        })
        .map_err(|e| attempt.failed(format!("starting a thread: {e}"), None))?;
    let start = Instant::now();
    loop {
        let left = limit.saturating_sub(start.elapsed());
        match take.recv_timeout(left.min(PAUSE)) {
            Ok(Ok(conn)) => return Ok(conn),
            Ok(Err(fault)) => return Err(attempt.explain(&fault)),
            Err(RecvTimeoutError::Timeout) if left.is_zero() && attempt.has_withheld() => {
                return Err(attempt.failed(attempt.withheld_words(), None));
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                let seconds = limit.as_secs();
                let message =
                    format!("no answer within {seconds} s ({CONNECT_TIMEOUT} sets how long)");
                return Err(attempt.failed(message, None));
            }
            Err(RecvTimeoutError::Timeout) => options.interrupt.check()?,
            // The driver panics on some answers that make no sense, and on an account of the plugin parsec if it is given no password.
            Err(RecvTimeoutError::Disconnected) => {
                let message = match options.has_password() {
                    true => "the server's answers are invalid".to_owned(),
                    false => {
                        format!(
                            "the server ended the log-in: the account may need a password \
                             ({PASSWORD})"
                        )
                    }
                };
                return Err(attempt.failed(message, None));
            }
        }
    }
}

/// An attempt: first encrypted, then in clear if that is allowed.
#[derive(Clone)]
struct Attempt {
    options: ConnectOptions,
    builder: OptsBuilder,
    tls: Option<Tls>,
    /// Where the connection is encrypted to a stranger whom nobody verifies.
    withheld: Option<Arc<Withheld>>,
    /// True if the server asked for the withheld password.
    was_asked: Arc<AtomicBool>,
}

/// Why there is no connection.
enum Fault {
    /// An error of the driver.
    Driver(mysql::Error),
    /// Nobody signed the certificate, of which the driver says the first, and the server did not prove it.
    Unproven(mysql::Error, Unproven),
}

impl Attempt {
    fn new(options: &ConnectOptions) -> Result<Attempt> {
        let tls = options.tls.resolve(options.trust())?;
        // A unix socket is not encrypted: its bytes stay in the machine.
        let tls = if options.socket_path().is_some() { None } else { tls };
        // Whoever needs them and lacks them says so.
        let _ = tls.is_some() && withheld::is_installed();
        let builder = options.driver_options()?.server_key_path(public_key(options)?);
        let is_open = tls.as_ref().is_some_and(|tls| !tls.is_verified) && options.keeps_back();
        let password = options.password.as_ref().filter(|_| is_open);
        let was_asked = Arc::new(AtomicBool::new(false));
        let withheld = password
            .map(|password| Arc::new(Withheld::new(password.clone(), Arc::clone(&was_asked))));
        Ok(Attempt { options: options.clone(), builder, tls, withheld, was_asked })
    }

    fn run(self) -> std::result::Result<Conn, Fault> {
        let (known, target) = (&self.options.known, self.options.target_text());
        let tls = match &self.tls {
            Some(tls) if tls.is_required || !known.is_clear(&target) => tls,
            _ => return Conn::new(self.builder).map_err(Fault::Driver),
        };
        // A server that has proved its certificate is not to offer less the next time.
        if self.may_prove() && !known.proven(&self.account()).is_empty() {
            return self.connect_proven(tls, None);
        }
        let encrypted = self.builder.clone().ssl_opts(tls.options.clone());
        let connected = match &self.withheld {
            Some(withheld) => withheld.connect(encrypted),
            None => Conn::new(encrypted),
        };
        match connected {
            Err(mysql::Error::DriverError(DriverError::TlsNotSupported)) if !tls.is_required => {
                known.note_clear(target);
                Conn::new(self.builder).map_err(Fault::Driver)
            }
            Err(unsigned) if self.may_prove() && tls::is_unsigned(&unsigned) => {
                self.connect_proven(tls, Some(unsigned))
            }
            other => other.map_err(Fault::Driver),
        }
    }

    /// True if the server may prove by the password that a certificate is its own.
    fn may_prove(&self) -> bool {
        self.options.tls.takes_a_proof(self.options.trust())
    }

    /// The server and account of a proof.
    fn account(&self) -> String {
        format!("{}@{}", self.options.user_name(), self.options.target_text())
    }

    /// Connects to a server by a certificate that it has proved; `refused` says why it has to prove one now.
    ///
    /// One that shows another than before has to prove that one too: a server that makes itself a
    /// certificate makes another at its next start.
    fn connect_proven(
        &self,
        tls: &Tls,
        mut refused: Option<mysql::Error>,
    ) -> std::result::Result<Conn, Fault> {
        let (known, account) = (&self.options.known, self.account());
        let mut proofs = 0;
        loop {
            if let Some(error) = refused.take() {
                let proven = match proofs < PROOFS_MAX {
                    true => prove(&self.options),
                    false => Err(Unproven::Because(
                        "it shows a different certificate at each connection".to_owned(),
                    )),
                };
                let proven = proven.map_err(|why| Fault::Unproven(error, why))?;
                known.note_proven(account.clone(), proven);
                proofs += 1;
            }
            let password = self.options.password.clone().unwrap_or_default();
            let pin = Pin::new(known.proven(&account));
            let withheld = Arc::new(Withheld::pinned(password, pin, Arc::clone(&self.was_asked)));
            let options = tls.options.clone().with_danger_accept_invalid_certs(true);
            match withheld.connect(self.builder.clone().ssl_opts(options)) {
                Err(error) if withheld.is_other() => refused = Some(error),
                connected => return connected.map_err(Fault::Driver),
            }
        }
    }

    fn failed(&self, message: String, errno: Option<u16>) -> Error {
        Error::Connect {
            target: self.options.target_text(),
            user: self.options.user_name(),
            errno,
            message,
        }
    }

    /// The driver's error, for people.
    fn explain(&self, fault: &Fault) -> Error {
        if self.has_withheld() {
            return self.failed(self.withheld_words(), None);
        }
        let (error, unproven) = match fault {
            Fault::Driver(error) => (error, None),
            Fault::Unproven(error, why) => (error, Some(why)),
        };
        if let Some(Unproven::Denied { errno, message }) = unproven {
            return self.failed(message.clone(), Some(*errno));
        }
        if let mysql::Error::MySqlError(e) = error {
            return self.failed(e.message.clone(), Some(e.code));
        }
        let host = self.options.host_name();
        let words = self.tls.as_ref().and_then(|_| self.options.tls.failure(error, host));
        let words = words.unwrap_or_else(|| self.words(error));
        let unproven = unproven.map(Unproven::to_string);
        let trust = self.options.trust();
        self.failed(self.options.tls.with_advice(words, unproven.as_deref(), trust), None)
    }

    /// True if the server asked for the password itself, and did not get it.
    fn has_withheld(&self) -> bool {
        self.was_asked.load(Ordering::Acquire)
    }

    fn withheld_words(&self) -> String {
        format!(
            "the server asks for the password itself (caching_sha2_password), but its certificate \
             is not verified: name its authority ({}; for MySQL's own certificates with {}), or \
             send the password to any server that answers ({GET_SERVER_PUBLIC_KEY})",
            SSL_CA.with("FILE"),
            SSL_MODE.with("VERIFY_CA")
        )
    }

    fn words(&self, error: &mysql::Error) -> String {
        match error {
            // The key that is not there: see `public_key`.
            mysql::Error::IoError(e)
                if e.kind() == std::io::ErrorKind::NotFound && self.options.keeps_keys_away() =>
            {
                format!(
                    "this server needs the password itself (caching_sha2_password), but the \
                     connection is not encrypted: use TLS ({SSL}, {}), or name the server's key \
                     ({}), or accept any server's key ({GET_SERVER_PUBLIC_KEY})",
                    SSL_CA.with("FILE"),
                    SERVER_PUBLIC_KEY_PATH.with("FILE")
                )
            }
            mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name)) => unspoken(name),
            mysql::Error::DriverError(DriverError::CleartextPluginDisabled) => {
                unspoken("mysql_clear_password")
            }
            mysql::Error::DriverError(DriverError::OldMysqlPasswordDisabled) => {
                unspoken("mysql_old_password")
            }
            mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, text, _)))) => {
                text.clone()
            }
            mysql::Error::DriverError(DriverError::ConnectTimeout | DriverError::Timeout) => {
                format!("no answer in time ({CONNECT_TIMEOUT} sets how long)")
            }
            other => crate::error::driver_text(other),
        }
    }
}

impl ConnectOptions {
    /// True if there is a password that a server could take from us.
    pub(crate) fn has_password(&self) -> bool {
        self.password.as_ref().is_some_and(|password| !password.expose_secret().is_empty())
    }

    /// The trust in the server: it could be somebody else who takes the password.
    fn trust(&self) -> Trust {
        let is_here = self.socket_path().is_some() || is_this_host(self.host_name());
        if is_here || !self.has_password() { Trust::Known } else { Trust::Stranger }
    }

    /// True if the password itself is kept from a server that could be anybody.
    fn keeps_back(&self) -> bool {
        self.trust() == Trust::Stranger && self.get_server_public_key != Some(true)
    }

    /// True if a password must not be encrypted by a key that anybody could have sent.
    fn keeps_keys_away(&self) -> bool {
        self.socket_path().is_none()
            && self.server_public_key.is_none()
            && self.get_server_public_key != Some(true)
    }
}

/// The key by which a password is encrypted where the connection is not.
///
/// The driver would ask whoever answers for a key, if it is told none: then somebody in between
/// gives his own and reads the password. A path that cannot be read keeps it from that.
fn public_key(options: &ConnectOptions) -> Result<Option<PathBuf>> {
    let Some(path) = &options.server_public_key else {
        return Ok(options.keeps_keys_away().then(PathBuf::new));
    };
    let named = |what: String| {
        Error::Option(format!("{SERVER_PUBLIC_KEY_PATH} names {}{what}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|e| named(format!(": {e}")))?;
    if !text.contains("-----BEGIN PUBLIC KEY-----")
        && !text.contains("-----BEGIN RSA PUBLIC KEY-----")
    {
        return Err(named(", which contains no public key".to_owned()));
    }
    Ok(Some(path.clone()))
}

/// True if a host is this one by its name alone, without a name server.
fn is_this_host(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
    host.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(is_loopback)
}

/// Advice about a plugin that Inrush does not support.
fn unspoken(plugin: &str) -> String {
    let whose = match plugin {
        "auth_gssapi_client" => " (Kerberos)",
        "dialog" | "mysql_clear_password" => " (PAM, LDAP or similar)",
        "auth_named_pipe" => " (Windows)",
        "sha256_password" => " (deprecated by MySQL)",
        "mysql_old_password" => " (from before MySQL 4.1)",
        _ => "",
    };
    format!(
        "the account uses the authentication plugin {plugin}{whose}, which Inrush does not \
         support: use an account with {SPOKEN}"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::options::Protocol;

    use super::*;

    #[test]
    fn a_public_key_is_never_asked_for_unless_allowed() {
        let host = Some("db1".to_owned());
        let mut options = ConnectOptions { host, ..ConnectOptions::default() };
        assert_eq!(public_key(&options).unwrap(), Some(PathBuf::new()));
        options.get_server_public_key = Some(true);
        assert_eq!(public_key(&options).unwrap(), None);
        let file = tempfile::NamedTempFile::new().unwrap();
        options.server_public_key = Some(file.path().to_owned());
        assert!(public_key(&options).unwrap_err().to_string().contains("no public key"));
        std::fs::write(file.path(), "-----BEGIN PUBLIC KEY-----\n").unwrap();
        assert_eq!(public_key(&options).unwrap().as_deref(), Some(file.path()));
    }

    #[test]
    fn a_password_makes_another_host_a_stranger() {
        let trust = |host: &str, password: Option<&str>| {
            let options = ConnectOptions {
                host: Some(host.to_owned()),
                protocol: Some(Protocol::Tcp),
                password: password.map(Into::into),
                ..ConnectOptions::default()
            };
            options.trust()
        };
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.8.0.1", "::1", "[::1]", ""] {
            assert_eq!(trust(host, Some("x")), Trust::Known, "{host}");
        }
        for host in ["db1", "10.0.0.1", "0.0.0.0", "127.0.0.1.example", "localhost.example"] {
            assert_eq!(trust(host, Some("x")), Trust::Stranger, "{host}");
            assert_eq!(trust(host, None), Trust::Known, "{host}");
            assert_eq!(trust(host, Some("")), Trust::Known, "{host}");
        }
        assert_eq!(ConnectOptions::for_socket("/s").trust(), Trust::Known);
    }

    #[test]
    fn a_plugin_that_is_not_spoken_is_named() {
        let text = unspoken("auth_gssapi_client");
        assert!(text.contains("Kerberos") && text.contains("ed25519"), "{text}");
    }
}
