//! One request: redirects, statuses, and what went wrong, in words without secrets.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use locks::Mutex;
use ureq::http::Response;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, BodyReader, Error, Timeout};

use crate::answer::{ContentRange, State, retry_after, text};
use crate::patience::{Fault, Patience, Stops};
use crate::url::Url;

/// Redirects of one request.
const REDIRECTS_MAX: usize = 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time without a byte.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// Connections that are kept for the next request.
const IDLE_MAX: usize = 8;
/// Names a file of certificates that are trusted, instead of the usual ones.
const CERTIFICATES: &str = "SSL_CERT_FILE";

/// All requests for one object.
pub(crate) struct Client {
    agent: Agent,
    url: Url,
    /// Where redirects led to.
    found: Mutex<Option<Url>>,
    pub(crate) stops: Stops,
}

impl Client {
    /// Errors: the file of certificates.
    pub(crate) fn new(url: Url) -> Result<Client, String> {
        Ok(Client { agent: agent()?, url, found: Mutex::default(), stops: Stops::default() })
    }

    /// Asks for all of the object, or for a range with its last byte, of the state that is known. The answer has the
    /// status 200, 206 or 416.
    pub(crate) fn get(
        &self,
        range: Option<(u64, u64)>,
        state: Option<&State>,
    ) -> Result<Response<Body>, Fault> {
        let found = self.found.lock().clone();
        let is_found = found.is_some();
        let mut url = found.unwrap_or_else(|| self.url.clone());
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.send(&url, range, state)?;
            let status = answer.status().as_u16();
            match status {
                200 | 206 | 416 => {
                    if url != self.url {
                        self.set_found(Some(url));
                    }
                    return Ok(answer);
                }
                301 | 302 | 303 | 307 | 308 => {
                    let location = text(answer.headers(), "location").ok_or_else(|| {
                        Fault::Final(format!("the server redirects to nowhere (status {status})"))
                    })?;
                    url = url.redirected(&location).map_err(Fault::Final)?;
                }
                // The place that a redirect named is good for some time only.
                400..=499 if is_found && status != 412 && status != 429 => {
                    self.set_found(None);
                    return Err(Fault::Again(refusal(status), None));
                }
                _ => return Err(fault_of(status, &answer)),
            }
        }
        Err(Fault::Final(format!("the server redirects more than {REDIRECTS_MAX} times")))
    }

    /// Reads a range of an object in this state.
    ///
    /// Errors: the server's and the network's, after more tries; another state; the end was asked for.
    pub(crate) fn read_range(&self, state: &State, start: u64, out: &mut [u8]) -> io::Result<()> {
        let mut patience = Patience::new(&self.stops);
        let mut got = 0;
        while got < out.len() {
            self.stops.check()?;
            let before = got;
            if let Err(fault) = self.try_range(state, start, out, &mut got) {
                patience.wait(fault, got > before)?;
            }
        }
        Ok(())
    }

    fn try_range(
        &self,
        state: &State,
        start: u64,
        out: &mut [u8],
        got: &mut usize,
    ) -> Result<(), Fault> {
        let from = start + *got as u64;
        let last = start + out.len() as u64 - 1;
        let answer = self.get(Some((from, last)), Some(state))?;
        let range = ContentRange::of(answer.headers());
        let total = range.and_then(|range| range.total);
        if let Some(what) = state.difference(&State::of(answer.headers(), total)) {
            return Err(replaced(&what));
        }
        let end = match (answer.status().as_u16(), range) {
            (206, Some(ContentRange { start: Some(first), end, .. }))
                if first == from && end <= last =>
            {
                end
            }
            (416, _) => return Err(replaced("is shorter now")),
            (206, _) => {
                let why = "the server sends another range than was asked for";
                return Err(Fault::Final(why.to_owned()));
            }
            _ => return Err(Fault::Again("the server does not send the range".to_owned(), None)),
        };
        let mut body = answer.into_body().into_reader();
        let size = (end + 1 - start) as usize;
        while *got < size {
            *got += read(&mut body, &mut out[*got..size])?;
        }
        Ok(())
    }

    fn send(
        &self,
        url: &Url,
        range: Option<(u64, u64)>,
        state: Option<&State>,
    ) -> Result<Response<Body>, Fault> {
        let mut request = self.agent.get(url.request());
        if let Some(login) = &url.login {
            request = request.header("Authorization", login);
        }
        if let Some((start, last)) = range {
            request = request.header("Range", format!("bytes={start}-{last}"));
        }
        if let Some((name, value)) = state.and_then(State::condition) {
            request = request.header(name, value);
        }
        request.call().map_err(|error| fault(&error))
    }

    fn set_found(&self, url: Option<Url>) {
        *self.found.lock() = url;
    }
}

/// Some bytes of an answer that has not ended.
pub(crate) fn read(body: &mut BodyReader<'_>, out: &mut [u8]) -> Result<usize, Fault> {
    match body.read(out) {
        Ok(0) => Err(Fault::Again("the connection ended within the file".to_owned(), None)),
        Ok(size) => Ok(size),
        Err(error) => Err(broken(&error)),
    }
}

/// The fault of a body that cannot be read on.
pub(crate) fn broken(error: &io::Error) -> Fault {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match (inner, error.kind()) {
        (Some(error), _) => match fault(error) {
            Fault::Again(why, _) | Fault::Final(why) => Fault::Again(why, None),
        },
        (None, io::ErrorKind::UnexpectedEof) => {
            Fault::Again("the connection ended within the file".to_owned(), None)
        }
        (None, _) => Fault::Again(format!("the connection broke: {error}"), None),
    }
}

pub(crate) fn replaced(what: &str) -> Fault {
    Fault::Final(format!(
        "the file on the server {what}: it was replaced while it was read; load it again when it stays as it is"
    ))
}

/// The fault of an answer that has no end of its own.
pub(crate) fn endless() -> Fault {
    let why = "the server does not say how long the file is, so a broken transfer would look like its end; copy the \
               file, and load the copy";
    Fault::Final(why.to_owned())
}

/// How requests are sent, and which certificates are trusted: the same for all objects.
pub(crate) fn agent() -> Result<Agent, String> {
    static AGENT: OnceLock<Agent> = OnceLock::new();
    if let Some(agent) = AGENT.get() {
        return Ok(agent.clone());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    let tls = match std::env::var_os(CERTIFICATES).filter(|path| !path.is_empty()) {
        Some(path) => tls.root_certs(certificates(Path::new(&path))?),
        None => tls.root_certs(RootCerts::WebPki),
    };
    let config = Agent::config_builder()
        .tls_config(tls.build())
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .accept_encoding("identity")
        .user_agent(concat!("inrush/", env!("CARGO_PKG_VERSION")))
        .max_idle_connections_per_host(IDLE_MAX)
        .timeout_resolve(Some(CONNECT_TIMEOUT))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_per_read(Some(READ_TIMEOUT))
        .timeout_per_write(Some(READ_TIMEOUT))
        .build();
    Ok(AGENT.get_or_init(|| config.new_agent()).clone())
}

/// The certificates of a file.
fn certificates(path: &Path) -> Result<RootCerts, String> {
    let failed = |why: String| format!("{CERTIFICATES}={}: {why}", path.display());
    let text = fs::read(path).map_err(|error| failed(error.to_string()))?;
    let mut found = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(_) => return Err(failed("the file is no PEM file".to_owned())),
        }
    }
    match found.is_empty() {
        true => Err(failed("the file has no certificates".to_owned())),
        false => Ok(found.into()),
    }
}

fn fault_of(status: u16, answer: &Response<Body>) -> Fault {
    match status {
        412 => replaced("is another one now"),
        408 | 429 | 500..=599 => Fault::Again(refusal(status), retry_after(answer.headers())),
        _ => Fault::Final(refusal(status)),
    }
}

fn refusal(status: u16) -> String {
    let why = match status {
        401 => "the server asks for a user and a password",
        403 => "the server denies access; a signed URL may have expired",
        404 | 410 => "the server has no such file",
        408 => "the server waited too long for the request",
        429 => "the server has too many requests",
        500..=599 => "the server has an error",
        _ => "the server gives no file",
    };
    format!("{why} (HTTP status {status})")
}

/// The fault of a request, without texts that may have the URL in them.
pub(crate) fn fault(error: &Error) -> Fault {
    let why = match error {
        Error::Io(error) => match error.get_ref().and_then(|it| it.downcast_ref()) {
            Some(error) => return refused_by_tls(error),
            None => format!("the connection failed: {error}"),
        },
        Error::Timeout(Timeout::Connect) => {
            format!("no connection within {} seconds", CONNECT_TIMEOUT.as_secs())
        }
        Error::Timeout(Timeout::Resolve) => "the name of the host is not resolved".to_owned(),
        Error::Timeout(_) => format!("no byte came for {} seconds", READ_TIMEOUT.as_secs()),
        Error::HostNotFound => "the host is not found".to_owned(),
        Error::Rustls(error) => return refused_by_tls(error),
        Error::Tls(what) => return Fault::Final(format!("TLS: {what}")),
        Error::InvalidProxyUrl | Error::ConnectProxyFailed(_) => {
            return Fault::Final(
                "the proxy that the environment names gives no connection".to_owned(),
            );
        }
        Error::ConnectionFailed => "there is no connection to the server".to_owned(),
        Error::BadUri(_) | Error::Http(_) => {
            return Fault::Final("no request can be made of the URL".to_owned());
        }
        _ => "the server does not answer as HTTP has it".to_owned(),
    };
    Fault::Again(why, None)
}

/// A certificate that is not trusted is not trusted the next time, either.
fn refused_by_tls(error: &rustls::Error) -> Fault {
    let remedy = match error {
        rustls::Error::InvalidCertificate(_) => {
            format!("; {CERTIFICATES}=FILE names the certificates that are trusted, as PEM")
        }
        _ => String::new(),
    };
    Fault::Final(format!("TLS: {error}{remedy}"))
}
