//! A connection to whoever answers, who has to show a certificate and that he has its key.
//!
//! [`Stranger`] speaks packets, in clear or by TLS 1.3; every wait ends at one moment.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use locks::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

use crate::options::ConnectOptions;

use super::proven::{Fingerprint, Unproven, because};

/// Longest packet of a log-in.
const PACKET_BYTES_MAX: usize = 64 << 10;

/// Packets over a connection, encrypted or not.
pub(super) struct Stranger<S> {
    stream: S,
}

impl Stranger<Timed> {
    /// Connects; all waits of the connection end `time_max` from now.
    pub(super) fn reach(options: &ConnectOptions, time_max: Duration) -> Result<Self, Unproven> {
        let deadline = Instant::now() + time_max;
        let mut last: io::Error = io::ErrorKind::NotFound.into();
        let addresses = (bare_host(options), options.tcp_port()).to_socket_addrs();
        for address in addresses.map_err(|e| broken(&e))? {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(broken(&io::ErrorKind::TimedOut.into()));
            }
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    stream.set_nodelay(true).map_err(|e| broken(&e))?;
                    return Ok(Stranger { stream: Timed { stream, deadline } });
                }
                Err(error) => last = error,
            }
        }
        Err(broken(&last))
    }

    /// Encrypts by TLS 1.3; with the certificate that was shown, and whose key the other side has.
    pub(super) fn encrypt(
        self,
        options: &ConnectOptions,
    ) -> Result<(Stranger<StreamOwned<ClientConnection, Timed>>, Fingerprint), Unproven> {
        let shown = Shown::default();
        let config = config(options, &shown)?;
        let name = ServerName::try_from(bare_host(options).to_owned()).map_err(unfit)?;
        let connection = ClientConnection::new(Arc::new(config), name).map_err(unfit)?;
        let mut stream = StreamOwned::new(connection, self.stream);
        let no_encryption =
            |e: io::Error| because(format!("the connection with TLS 1.3 failed: {e}"));
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(no_encryption)?;
        }
        let shown = *shown.lock();
        let shown = shown.ok_or_else(|| because("it showed no certificate"))?;
        Ok((Stranger { stream }, shown))
    }
}

impl<S: Read + Write> Stranger<S> {
    /// A packet's number and its bytes.
    pub(super) fn read_packet(&mut self) -> Result<(u8, Vec<u8>), Unproven> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).map_err(|e| broken(&e))?;
        let [low, middle, high, number] = header;
        let size = u32::from_le_bytes([low, middle, high, 0]) as usize;
        if size > PACKET_BYTES_MAX {
            return Err(because(format!("a packet of its log-in is too long ({size} bytes)")));
        }
        let mut bytes = vec![0; size];
        self.stream.read_exact(&mut bytes).map_err(|e| broken(&e))?;
        Ok((number, bytes))
    }

    /// Sends a packet, which is short.
    pub(super) fn send_packet(&mut self, number: u8, bytes: &[u8]) -> Result<(), Unproven> {
        let [low, middle, high, _] = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
        let packet = [&[low, middle, high, number], bytes].concat();
        let sent = self.stream.write_all(&packet).and_then(|()| self.stream.flush());
        sent.map_err(|e| broken(&e))
    }
}

/// A connection whose every wait ends at one moment.
pub(super) struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

type Shown = Arc<Mutex<Option<Fingerprint>>>;

/// TLS 1.3 to whoever answers, with our own certificate if there is one.
fn config(options: &ConnectOptions, shown: &Shown) -> Result<ClientConfig, Unproven> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let keeper = Keeper { provider: Arc::clone(&provider), shown: Arc::clone(shown) };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unfit)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(keeper));
    let (Some(cert), Some(key)) = (&options.tls.cert, &options.tls.key) else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect).map_err(unfit)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(unfit)?;
    builder.with_client_auth_cert(chain, key).map_err(unfit)
}

/// Takes any certificate whose key the other side has, and keeps which it was.
#[derive(Debug)]
struct Keeper {
    provider: Arc<CryptoProvider>,
    shown: Shown,
}

impl ServerCertVerifier for Keeper {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let kept = Fingerprint::of(end_entity);
        *self.shown.lock() = Some(kept);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 was not offered".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The host as the system looks it up: an address of IPv6 without its brackets.
fn bare_host(options: &ConnectOptions) -> &str {
    options.host_name().trim_start_matches('[').trim_end_matches(']')
}

fn unfit(error: impl std::fmt::Display) -> Unproven {
    because(format!("TLS 1.3 is unavailable: {error}"))
}

fn broken(error: &io::Error) -> Unproven {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            because("the log-in for the proof timed out")
        }
        _ => because(format!("the log-in for the proof ended: {error}")),
    }
}
