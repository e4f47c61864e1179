//! Somebody who answers in a server's place, and notes what he is told.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream, SupportedProtocolVersion};
use server::ConnectOptions;
use server::options::Protocol;

use crate::certificates::Identity;

const CLIENT_SSL: u32 = 0x800;
/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, TRANSACTIONS, LONG_PASSWORD.
const CAPABILITIES: u32 = 0x200 | 0x8000 | 0x8_0000 | 0x2000 | 1;

/// Answers one connection.
pub(crate) struct Impostor {
    port: u16,
    heard: Receiver<Vec<u8>>,
}

impl Impostor {
    /// Offers encryption by `identity`'s certificate; None offers none.
    pub(crate) fn new(identity: Option<Identity>) -> Impostor {
        Impostor::answering(move |stream| hear(stream, identity.as_ref()))
    }

    /// Takes the connection and says nothing.
    pub(crate) fn silent() -> Impostor {
        Impostor::answering(|mut stream| {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            bytes
        })
    }

    /// Offers encryption, and then wants the password itself, by caching_sha2_password.
    pub(crate) fn asking(
        identity: Identity,
        version: &'static SupportedProtocolVersion,
    ) -> Impostor {
        Impostor::answering(move |stream| ask(stream, &identity, version))
    }

    pub(crate) fn answering(
        answer: impl FnOnce(TcpStream) -> Vec<u8> + Send + 'static,
    ) -> Impostor {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (give, heard) = channel();
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            give.send(answer(stream)).unwrap();
        });
        Impostor { port, heard }
    }

    /// How to reach him.
    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions {
            host: Some("127.0.0.1".to_owned()),
            port: Some(self.port),
            protocol: Some(Protocol::Tcp),
            user: Some("a-user".to_owned()),
            password: Some("a-password".into()),
            ..ConnectOptions::default()
        }
    }

    /// The bytes that he could read, encrypted or not.
    pub(crate) fn heard(self) -> Vec<u8> {
        self.heard.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

/// A packet of the protocol.
pub(crate) fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&size[..3], &[number], body].concat()
}

/// The server's first packet.
pub(crate) fn greeting(offers_tls: bool) -> Vec<u8> {
    versioned_greeting("10.11.19-MariaDB", offers_tls)
}

/// The same of another server.
pub(crate) fn versioned_greeting(version: &str, offers_tls: bool) -> Vec<u8> {
    let capabilities = CAPABILITIES | if offers_tls { CLIENT_SSL } else { 0 };
    let [low0, low1, high0, high1] = capabilities.to_le_bytes();
    let mut body = vec![10];
    body.extend(version.bytes());
    body.extend(b"\0\x07\0\0\0saltsalt\0");
    body.extend([low0, low1, 45, 2, 0, high0, high1, 21]);
    body.extend([0; 10]);
    body.extend(b"saltsaltsalt\0mysql_native_password\0");
    packet(0, &body)
}

fn hear(mut stream: TcpStream, identity: Option<&Identity>) -> Vec<u8> {
    stream.write_all(&greeting(identity.is_some())).unwrap();
    let mut heard = vec![0; 4096];
    let Some(identity) = identity else {
        let size = stream.read(&mut heard).unwrap_or(0);
        heard.truncate(size);
        return heard;
    };
    let mut connection = encrypted(&mut stream, identity, rustls::ALL_VERSIONS);
    let size = Stream::new(&mut connection, &mut stream).read(&mut heard).unwrap_or(0);
    heard.truncate(size);
    heard
}

fn ask(
    mut stream: TcpStream,
    identity: &Identity,
    version: &'static SupportedProtocolVersion,
) -> Vec<u8> {
    stream.write_all(&greeting(true)).unwrap();
    let mut connection = encrypted(&mut stream, identity, &[version]);
    let mut talk = Stream::new(&mut connection, &mut stream);
    let mut told = vec![0; 4096];
    let _ = talk.read(&mut told).unwrap();
    let switch = b"\xfecaching_sha2_password\0saltsaltsaltsaltsalt\0";
    talk.write_all(&packet(3, switch)).unwrap();
    // A proof that somebody knows the password, which is no use to anybody else.
    let _ = talk.read(&mut told).unwrap();
    talk.write_all(&packet(5, b"\x01\x04")).unwrap();
    talk.sock.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let size = talk.read(&mut told).unwrap_or(0);
    told.truncate(size);
    // Whatever that was, it will do.
    let _ = talk.write_all(&packet(7, b"\0\0\0\x02\0\0\0"));
    if told.is_empty() {
        let _ = talk.read_to_end(&mut told);
    }
    told
}

/// Begins encryption, as the client has wished for after the greeting.
fn encrypted(
    stream: &mut TcpStream,
    identity: &Identity,
    versions: &[&'static SupportedProtocolVersion],
) -> ServerConnection {
    // 32 bytes that tell nothing of the account.
    stream.read_exact(&mut [0; 36]).unwrap();
    let chain = vec![CertificateDer::from_pem_file(&identity.cert).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&identity.key).unwrap();
    // Not those of the process, which are the client's to choose.
    let ciphers = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ciphers)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}
