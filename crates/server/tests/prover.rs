//! A server that proves its certificate by the account's password, or fails to, in whatever way.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use testkit::TestServer;

use crate::certificates::Identity;
use crate::impostor::{packet, versioned_greeting};

const NEWER: &str = "11.8.6-MariaDB-0+deb13u1 from Debian";
/// Longest wait for what was met.
const PATIENCE: Duration = Duration::from_secs(20);
/// The random bytes of the greeting's helper.
const SCRAMBLE: &[u8; 20] = b"saltsaltsaltsaltsalt";
const CLIENT_SSL: u32 = 0x800;

/// The packet after the account has logged in.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    None,
    /// For this certificate, whichever was shown.
    Of(PathBuf),
    /// For the one shown, by another password.
    ByPassword(String),
    Other(Vec<u8>),
    /// Nothing yet: another plugin is asked for.
    Switch(&'static str),
}

/// How one connection is answered.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) version: &'static str,
    pub(crate) shown: Identity,
    pub(crate) proof: Proof,
    pub(crate) offers_tls: bool,
    pub(crate) is_tls12: bool,
    /// Asks for the password itself, by caching_sha2_password.
    pub(crate) wants_password: bool,
}

/// A server on TCP, and what its connections have come to.
pub(crate) struct Prover {
    port: u16,
    met: Receiver<(usize, &'static str)>,
    open: Arc<Mutex<usize>>,
}

impl Part {
    pub(crate) fn new(shown: &Identity, proof: Proof) -> Part {
        let shown = shown.clone();
        let (offers_tls, is_tls12, wants_password) = (true, false, false);
        Part { version: NEWER, shown, proof, offers_tls, is_tls12, wants_password }
    }
}

impl Prover {
    /// Answers one connection by each part, and all further ones by the last. Log-ins with
    /// `password` talk to `behind`.
    pub(crate) fn new(password: &str, parts: Vec<Part>, behind: &TestServer) -> Prover {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (give, met) = channel();
        let open = Arc::new(Mutex::new(0));
        let (password, behind) = (password.to_owned(), behind.socket().to_owned());
        let counted = Arc::clone(&open);
        std::thread::spawn(move || {
            for (index, stream) in listener.incoming().enumerate() {
                let part = parts[index.min(parts.len() - 1)].clone();
                *counted.lock().unwrap() += 1;
                let one = One { password: password.clone(), part, behind: behind.clone() };
                let met = Met { connection: index, give: give.clone() };
                std::thread::spawn(move || one.answer(stream.unwrap(), &met));
            }
        });
        Prover { port, met, open }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The outcomes of the connections since the last call, in the order of the connections.
    pub(crate) fn met(&self) -> Vec<&'static str> {
        let count = std::mem::take(&mut *self.open.lock().unwrap());
        let mut met: Vec<_> =
            (0..count).map(|_| self.met.recv_timeout(PATIENCE).unwrap()).collect();
        met.sort_unstable();
        met.into_iter().map(|(_, what)| what).collect()
    }
}

/// Says what a connection has come to. The end of one is seen when the next one may have begun.
struct Met {
    connection: usize,
    give: Sender<(usize, &'static str)>,
}

impl Met {
    fn say(&self, what: &'static str) {
        self.give.send((self.connection, what)).unwrap();
    }
}

struct One {
    password: String,
    part: Part,
    behind: PathBuf,
}

impl One {
    fn answer(&self, mut stream: TcpStream, met: &Met) {
        let part = &self.part;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&versioned_greeting(part.version, part.offers_tls)).unwrap();
        if stream.read_exact(&mut [0; 36]).is_err() || !part.offers_tls {
            return met.say("greeted");
        }
        let mut talk = StreamOwned::new(ServerConnection::new(self.config()).unwrap(), stream);
        let Some(login) = next_packet(&mut talk) else { return met.say("refused") };
        if login.len() < 32 {
            // What is sent in place of an account.
            let _ = talk.write_all(&packet(3, b"\xff\x13\x04#08S01Bad handshake"));
            return met.say("no account");
        }
        if part.wants_password {
            return met.say(ask(&mut talk));
        }
        met.say("account");
        if let Proof::Switch(plugin) = part.proof {
            let body = [b"\xfe", plugin.as_bytes(), b"\0saltsaltsaltsaltsalt\0"].concat();
            talk.write_all(&packet(3, &body)).unwrap();
            let more = next_packet(&mut talk);
            assert!(more.is_none(), "{more:?} is not for {plugin}");
            return;
        }
        let hash = twice(&self.password);
        if !login.windows(20).any(|bytes| bytes == token(&self.password)) {
            let _ =
                talk.write_all(&packet(3, b"\xff\x15\x04#28000Access denied for user 'a-user'"));
            return;
        }
        let proof = match &part.proof {
            Proof::None | Proof::Switch(_) => Vec::new(),
            Proof::Of(cert) => proof(&hash, cert),
            Proof::ByPassword(other) => proof(&twice(other), &part.shown.cert),
            Proof::Other(bytes) => bytes.clone(),
        };
        let size = [u8::try_from(proof.len()).unwrap()];
        let ok = [&[0, 0, 0, 2, 0, 0, 0], &size[..], &proof].concat();
        if talk.write_all(&packet(3, &ok)).is_ok() {
            self.pass_on(talk, &login);
        }
    }

    /// Shows the certificate, whether or not the key is its own.
    fn config(&self) -> Arc<ServerConfig> {
        let ciphers = Arc::new(rustls::crypto::ring::default_provider());
        let version =
            if self.part.is_tls12 { &rustls::version::TLS12 } else { &rustls::version::TLS13 };
        let chain = vec![CertificateDer::from_pem_file(&self.part.shown.cert).unwrap()];
        let key = PrivateKeyDer::from_pem_file(&self.part.shown.key).unwrap();
        let key = ciphers.key_provider.load_private_key(key).unwrap();
        let shown = Shown(Arc::new(CertifiedKey::new(chain, key)));
        let config = ServerConfig::builder_with_provider(ciphers)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(shown));
        Arc::new(config)
    }

    /// Has the server behind answer what is asked from now on.
    fn pass_on(&self, mut talk: StreamOwned<ServerConnection, TcpStream>, login: &[u8]) {
        const PAUSE: Duration = Duration::from_millis(2);
        let mut behind = UnixStream::connect(&self.behind).unwrap();
        next_packet(&mut behind).unwrap();
        let abilities = u32::from_le_bytes(login[..4].try_into().unwrap()) & !CLIENT_SSL;
        let mut body = [&abilities.to_le_bytes(), &login[4..32]].concat();
        body.extend(b"root\0\0mysql_native_password\0");
        behind.write_all(&packet(1, &body)).unwrap();
        assert_eq!(next_packet(&mut behind).unwrap()[0], 0);
        talk.sock.set_read_timeout(Some(PAUSE)).unwrap();
        behind.set_read_timeout(Some(PAUSE)).unwrap();
        while copied(&mut talk, &mut behind) && copied(&mut behind, &mut talk) {}
    }
}

#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// Passes on what has come; false at the end.
fn copied(from: &mut impl Read, to: &mut impl Write) -> bool {
    let mut bytes = [0; 65_536];
    match from.read(&mut bytes) {
        Ok(0) => false,
        Ok(size) => to.write_all(&bytes[..size]).and_then(|()| to.flush()).is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}

/// Wants the password itself; what came of it.
fn ask(talk: &mut (impl Read + Write)) -> &'static str {
    let switch = b"\xfecaching_sha2_password\0saltsaltsaltsaltsalt\0";
    talk.write_all(&packet(3, switch)).unwrap();
    let _ = next_packet(talk);
    talk.write_all(&packet(5, b"\x01\x04")).unwrap();
    // What stops the password leaves an empty record behind; then there is nothing but the end.
    let _ = talk.write_all(&packet(7, b"\xff\x15\x04#28000Access denied"));
    match next_packet(talk) {
        None => "account and no more",
        Some(_) => "account and password",
    }
}

fn next_packet(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let size = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    let mut body = vec![0; size];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

fn sha1(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().to_vec()
}

fn twice(password: &str) -> Vec<u8> {
    sha1(&sha1(password.as_bytes()))
}

fn token(password: &str) -> Vec<u8> {
    let mask = sha1(&[SCRAMBLE, &twice(password)[..]].concat());
    sha1(password.as_bytes()).iter().zip(mask).map(|(own, mask)| own ^ mask).collect()
}

fn proof(hash: &[u8], cert: &PathBuf) -> Vec<u8> {
    let shown = CertificateDer::from_pem_file(cert).unwrap();
    let shown = digest(&SHA256, &shown);
    let proof = digest(&SHA256, &[hash, SCRAMBLE, shown.as_ref()].concat());
    let digits: String = proof.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    [&[1], digits.as_bytes()].concat()
}
