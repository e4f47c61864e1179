//! A server of HTTP that does what a test wants, also what no server should.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request.
pub(crate) struct Request {
    /// Path and query.
    pub(crate) target: String,
    /// All of its lines.
    pub(crate) head: String,
    /// The first and the last byte that are wanted.
    pub(crate) range: Option<(usize, usize)>,
    /// How many came before it.
    pub(crate) number: usize,
}

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: &'static str,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
    /// Bytes of the body behind which the connection breaks.
    pub(crate) cut: Option<usize>,
    /// The time before the first byte.
    pub(crate) wait: Duration,
}

/// A server, which runs until the process ends.
pub(crate) struct Web {
    scheme: &'static str,
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Web {
    pub(crate) fn new(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Web {
        Web::start(None, answer)
    }

    fn start(
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Web {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let (answer, log) = (Arc::new(answer), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, log, tls) = (Arc::clone(&answer), Arc::clone(&log), tls.clone());
                std::thread::spawn(move || match tls {
                    None => serve(stream, &*answer, &log),
                    Some(tls) => {
                        let connection = ServerConnection::new(tls).unwrap();
                        serve(StreamOwned::new(connection, stream), &*answer, &log);
                    }
                });
            }
        });
        Web { scheme, address, seen }
    }

    /// One file over TLS, and the certificate of the authority that the server has its own from.
    pub(crate) fn secure(body: impl Into<Vec<u8>>) -> (Web, String) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let cert = cert.signed_by(&key, &issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![cert.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            );
        let (tls, body) = (Arc::new(config.unwrap()), body.into());
        let web = Web::start(Some(tls), move |request| Reply::ranged(request, &body, "\"a\""));
        (web, issuer.pem())
    }

    /// One file, by ranges.
    pub(crate) fn of(body: impl Into<Vec<u8>>) -> Web {
        let body = body.into();
        Web::new(move |request| Reply::ranged(request, &body, "\"a\""))
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("{}://{}/{target}", self.scheme, self.address)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The heads of all requests until now.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// Answers the requests of a connection, until one breaks it.
fn serve(stream: impl Read + Write, answer: &dyn Fn(&Request) -> Reply, log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length = value(&head, "content-length").map_or(0, |length| length.parse().unwrap());
        if std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).is_err() {
            return;
        }
        let number = {
            let mut log = log.lock().unwrap();
            log.push(head.clone());
            log.len() - 1
        };
        let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let range = value(&head, "range").and_then(|value| {
            let (start, last) = value.strip_prefix("bytes=")?.split_once('-')?;
            Some((start.parse().ok()?, last.parse().ok()?))
        });
        let reply = answer(&Request { target, head, range, number });
        std::thread::sleep(reply.wait);
        let mut text = format!("HTTP/1.1 {}\r\n", reply.status);
        reply.headers.iter().for_each(|header| text.push_str(&format!("{header}\r\n")));
        text.push_str("\r\n");
        let size = reply.cut.unwrap_or(reply.body.len()).min(reply.body.len());
        let writer = reader.get_mut();
        let sent = writer.write_all(text.as_bytes());
        let sent =
            sent.and_then(|()| writer.write_all(&reply.body[..size])).and_then(|()| writer.flush());
        if sent.is_err() || reply.cut.is_some() {
            return;
        }
    }
}

/// A proxy that connects whoever asks, and the heads of all requests.
pub(crate) fn connecting_proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&seen);
    let connect = |mut client: TcpStream, log: &Mutex<Vec<String>>| -> std::io::Result<()> {
        let mut head = String::new();
        let mut reader = BufReader::new(client.try_clone()?);
        while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
        log.lock().unwrap().push(head.clone());
        let mut server = TcpStream::connect(head.split(' ').nth(1).unwrap_or_default())?;
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        let mut back = (server.try_clone()?, client.try_clone()?);
        std::thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
        std::io::copy(&mut reader, &mut server).map(drop)
    };
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let log = Arc::clone(&log);
            std::thread::spawn(move || connect(client, &log));
        }
    });
    (format!("http://{address}"), seen)
}

/// The value of a header.
pub(crate) fn value<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

impl Reply {
    pub(crate) fn status(status: &'static str) -> Reply {
        let headers = vec!["Content-Length: 0".to_owned()];
        Reply { status, headers, body: Vec::new(), cut: None, wait: Duration::ZERO }
    }

    /// All of a file, whatever was asked for.
    pub(crate) fn whole(body: &[u8]) -> Reply {
        let headers = vec![format!("Content-Length: {}", body.len())];
        Reply { status: "200 OK", headers, body: body.to_vec(), cut: None, wait: Duration::ZERO }
    }

    /// The range that is asked for, if the state is the one that is meant.
    pub(crate) fn ranged(request: &Request, body: &[u8], tag: &str) -> Reply {
        if value(&request.head, "if-match").is_some_and(|wanted| wanted != tag) {
            return Reply::status("412 Precondition Failed");
        }
        let Some((start, last)) = request.range else {
            return Reply::whole(body).with(&format!("ETag: {tag}"));
        };
        if start >= body.len() {
            let size = format!("Content-Range: bytes */{}", body.len());
            return Reply::status("416 Range Not Satisfiable").with(&size);
        }
        let last = last.min(body.len() - 1);
        let range = format!("Content-Range: bytes {start}-{last}/{}", body.len());
        let reply = Reply::whole(&body[start..=last]).with(&format!("ETag: {tag}")).with(&range);
        Reply { status: "206 Partial Content", ..reply }
    }

    pub(crate) fn with(mut self, header: &str) -> Reply {
        self.headers.push(header.to_owned());
        self
    }

    pub(crate) fn redirect(to: &str) -> Reply {
        Reply::status("302 Found").with(&format!("Location: {to}"))
    }
}
