//! Encrypted connections: who is let in, who is refused, and that nothing is told to the wrong one.

use std::fs;
use std::time::{Duration, Instant};

use server::options::Protocol;
use server::{ConnectOptions, Encryption, Error, Interrupt, Session, TlsOptions, Verify};
use tempfile::TempDir;
use testkit::{TestServer, TestServerOptions};

use crate::certificates::{Authority, Identity, self_signed};
use crate::impostor::{Impostor, greeting, packet};

const PASSWORD: &str = "sw0rdfish-7341";

/// A server on TCP with an account, and a folder of certificates.
struct Host {
    server: TestServer,
    port: u16,
    dir: TempDir,
}

impl Host {
    fn new(identity: impl FnOnce(&TempDir) -> Option<Identity>) -> Option<Host> {
        let dir = tempfile::tempdir().unwrap();
        let port = testkit::free_port().unwrap();
        let mut extra = vec![
            "--skip-networking=0".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--port={port}"),
        ];
        let identity = identity(&dir);
        if identity.is_none() {
            // MariaDB 11.4 and newer make a certificate of their own.
            extra.push("--skip-ssl".to_owned());
        }
        if let Some(identity) = identity {
            // Copies, so that a test can put others in their place.
            let (cert, key) = (dir.path().join("server.crt"), dir.path().join("server.key"));
            fs::copy(identity.cert, &cert).unwrap();
            fs::copy(identity.key, &key).unwrap();
            extra.push(format!("--ssl-cert={}", cert.display()));
            extra.push(format!("--ssl-key={}", key.display()));
            extra.push(format!("--ssl-ca={}", dir.path().join("clients.pem").display()));
            Authority::new(dir.path(), "clients");
        }
        let options = TestServerOptions { extra, ..TestServerOptions::default() };
        let server = TestServer::start_with(&options)?;
        let mut session = server.connect().unwrap();
        session.exec(&format!("CREATE USER u@'%' IDENTIFIED BY '{PASSWORD}'")).unwrap();
        Some(Host { server, port, dir })
    }

    /// Puts another certificate into use.
    fn take(&self, identity: &Identity) {
        fs::copy(&identity.cert, self.dir.path().join("server.crt")).unwrap();
        fs::copy(&identity.key, self.dir.path().join("server.key")).unwrap();
        self.server.connect().unwrap().exec("FLUSH SSL").unwrap();
    }

    fn options(&self, tls: TlsOptions) -> ConnectOptions {
        ConnectOptions {
            host: Some("127.0.0.1".to_owned()),
            port: Some(self.port),
            protocol: Some(Protocol::Tcp),
            user: Some("u".to_owned()),
            password: Some(PASSWORD.into()),
            tls,
            ..ConnectOptions::default()
        }
    }

    #[track_caller]
    fn cipher(&self, tls: TlsOptions) -> String {
        cipher(&self.options(tls))
    }

    #[track_caller]
    fn refuses(&self, tls: TlsOptions, parts: &[&str]) {
        refuses(&self.options(tls), parts);
    }
}

#[track_caller]
fn cipher(options: &ConnectOptions) -> String {
    let mut session = Session::connect(options).unwrap();
    session.query_row("SHOW STATUS LIKE 'Ssl_cipher'").unwrap().text(1).unwrap()
}

#[track_caller]
fn refuses(options: &ConnectOptions, parts: &[&str]) {
    let text = Session::connect(options).unwrap_err().to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} are not all in: {text}");
    assert!(!text.contains(PASSWORD) && !text.contains("Error"), "{text}");
}

fn required() -> TlsOptions {
    TlsOptions { encryption: Some(Encryption::Required), ..TlsOptions::default() }
}

fn by(authority: &Authority) -> TlsOptions {
    TlsOptions { ca: Some(authority.ca.clone()), ..TlsOptions::default() }
}

#[test]
fn a_verified_server_is_talked_to_and_any_other_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let other = Authority::new(dir.path(), "other");
    let good = ours.sign("good", &["127.0.0.1"]);
    let Some(host) = Host::new(|_| Some(good.clone())) else { return };

    assert!(!host.cipher(by(&ours)).is_empty());
    assert!(!host.cipher(required()).is_empty());
    // Offered, so taken.
    assert!(!host.cipher(TlsOptions::default()).is_empty());
    let off = TlsOptions { encryption: Some(Encryption::Off), ..TlsOptions::default() };
    assert_eq!(host.cipher(off), "");

    host.refuses(by(&other), &["certificate is not signed by the authority in", "other.pem"]);
    let public = TlsOptions { verify: Some(Verify::HostName), ..TlsOptions::default() };
    host.refuses(public, &["not signed by a public authority", "--ssl-ca FILE"]);
    let unverified = TlsOptions { verify: Some(Verify::Nothing), ..by(&other) };
    assert!(!host.cipher(unverified).is_empty());

    // The same server by another name.
    let by_name = |tls| ConnectOptions { host: Some("localhost".to_owned()), ..host.options(tls) };
    refuses(&by_name(by(&ours)), &["is for 127.0.0.1, not for localhost", "--ssl-mode=VERIFY_CA"]);
    let chain = TlsOptions { verify: Some(Verify::Chain), ..by(&ours) };
    assert!(!cipher(&by_name(chain)).is_empty());
    let wrong_chain = TlsOptions { verify: Some(Verify::Chain), ..by(&other) };
    refuses(&by_name(wrong_chain), &["not signed by"]);

    host.take(&ours.sign_expired("old", &["127.0.0.1"]));
    host.refuses(by(&ours), &["certificate has expired"]);
    assert!(!host.cipher(required()).is_empty());

    let alone = self_signed(dir.path(), "alone", &["127.0.0.1"]);
    host.take(&alone);
    host.refuses(by(&ours), &["not signed by the authority in"]);
    // Its own certificate vouches for it, if it is named.
    let pinned = TlsOptions { ca: Some(alone.cert), ..TlsOptions::default() };
    assert!(!host.cipher(pinned).is_empty());
}

#[test]
fn a_server_without_encryption_is_taken_only_if_none_was_asked_for() {
    let Some(host) = Host::new(|_| None) else { return };
    assert_eq!(host.cipher(TlsOptions::default()), "");
    // Asked once, not by each connection: the server's log tells of every refusal.
    let options = host.options(TlsOptions::default());
    for _ in 0..3 {
        assert_eq!(cipher(&options.clone()), "");
    }
    let log = host.server.error_log();
    assert!(log.matches("closed normally without authentication").count() <= 2, "{log}");
    host.refuses(required(), &["offers no encryption (TLS)", "--skip-ssl"]);
    let dir = tempfile::tempdir().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    host.refuses(by(&ours), &["offers no encryption (TLS)"]);
    let verified = TlsOptions { verify: Some(Verify::HostName), ..TlsOptions::default() };
    host.refuses(verified, &["offers no encryption (TLS)"]);
}

#[test]
fn an_account_can_demand_encryption_and_a_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let Some(host) = Host::new(|_| Some(ours.sign("good", &["127.0.0.1"]))) else { return };
    let mut session = host.server.connect().unwrap();
    session.exec("ALTER USER u@'%' REQUIRE X509").unwrap();
    host.refuses(by(&ours), &["Access denied", "(server error 1045)"]);
    // The server trusts what its --ssl-ca names, which is made anew here.
    let clients = Authority::new(host.dir.path(), "clients");
    session.exec("FLUSH SSL").unwrap();
    let client = clients.sign("client", &["somebody"]);
    let with = |cert, key| TlsOptions { cert: Some(cert), key: Some(key), ..by(&ours) };
    assert!(!host.cipher(with(client.cert.clone(), client.key.clone())).is_empty());
    let stranger = ours.sign("stranger", &["somebody"]);
    host.refuses(with(stranger.cert.clone(), stranger.key.clone()), &["connecting to"]);
    // A key of another certificate.
    host.refuses(with(client.cert, stranger.key), &["the encrypted connection (TLS) failed"]);
}

#[test]
fn an_unverified_server_hears_nothing_of_the_account() {
    let dir = tempfile::tempdir().unwrap();
    let ours = Authority::new(dir.path(), "ours");
    let hears = |identity: Option<Identity>, tls: TlsOptions| {
        let impostor = Impostor::new(identity);
        let failed = Session::connect(&ConnectOptions { tls, ..impostor.options() });
        assert!(failed.is_err());
        let heard = impostor.heard();
        // Of a connection in clear the driver takes its leave.
        let told = heard.strip_prefix(packet(0, b"\x01").as_slice()).unwrap_or(&heard);
        String::from_utf8_lossy(told).into_owned()
    };
    let fake = || Some(self_signed(dir.path(), "fake", &["127.0.0.1"]));
    // Proof that he could hear: verification was not asked for.
    assert!(hears(fake(), required()).contains("a-user"));
    let off = TlsOptions { encryption: Some(Encryption::Off), ..TlsOptions::default() };
    assert!(hears(None, off).contains("a-user"));

    assert_eq!(hears(fake(), by(&ours)), "");
    assert_eq!(hears(Some(ours.sign("b", &["another.host"])), by(&ours)), "");
    assert_eq!(hears(Some(ours.sign_expired("c", &["127.0.0.1"])), by(&ours)), "");
    let public = TlsOptions { verify: Some(Verify::HostName), ..TlsOptions::default() };
    assert_eq!(hears(fake(), public.clone()), "");
    // Nothing was asked for, and the host is another one than this: all addresses of this one are
    // no address to connect to for anybody else, so it counts as another.
    let elsewhere = |tls: TlsOptions, password: Option<&str>| {
        let impostor = Impostor::new(Some(self_signed(dir.path(), "other", &["0.0.0.0"])));
        let options = ConnectOptions {
            tls,
            host: Some("0.0.0.0".to_owned()),
            password: password.map(Into::into),
            ..impostor.options()
        };
        let error = Session::connect(&options).unwrap_err().to_string();
        (String::from_utf8_lossy(&impostor.heard()).into_owned(), error)
    };
    for tls in [TlsOptions::default(), required()] {
        let (heard, error) = elsewhere(tls, Some("a-password"));
        assert_eq!(heard, "");
        let parts = [
            "--ssl-ca FILE",
            "--skip-ssl-verify-server-cert",
            "a password is sent to another host only over a verified",
        ];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let unverified = TlsOptions { verify: Some(Verify::Nothing), ..TlsOptions::default() };
    assert!(elsewhere(unverified, Some("a-password")).0.contains("a-user"));
    assert!(elsewhere(TlsOptions::default(), None).0.contains("a-user"), "nothing to take");
    // Nor one that hides that it could encrypt.
    assert_eq!(hears(None, by(&ours)), "");
    assert_eq!(hears(None, public), "");
    assert_eq!(hears(None, required()), "");
}

/// An impostor asks for the password itself over a connection that need not be verified: what he
/// is then told, and what comes of it.
fn asks_for_the_password(host: &str, more: ConnectOptions) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut all = (String::new(), String::new());
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let impostor = Impostor::asking(self_signed(dir.path(), "fake", &[host]), version);
        let unverified = TlsOptions { verify: Some(Verify::Nothing), ..required() };
        let options = ConnectOptions {
            host: Some(host.to_owned()),
            tls: unverified,
            ..impostor.options().overridden_by(more.clone())
        };
        let error = Session::connect(&options).unwrap_err().to_string();
        all.0.push_str(&String::from_utf8_lossy(&impostor.heard()));
        all.1.push_str(&error);
    }
    all
}

#[test]
fn a_server_that_nobody_verified_is_not_sent_the_password_itself() {
    let (heard, error) = asks_for_the_password("0.0.0.0", ConnectOptions::default());
    assert_eq!(heard, "");
    let parts = ["the server asks for the password itself", "--ssl-ca", "--get-server-public-key"];
    assert!(parts.iter().all(|part| error.matches(part).count() == 2), "{error}");
    assert!(!error.contains("a-password"), "{error}");
    // Who says so has it sent to whoever answers; on this host nobody is in between.
    let allowed = ConnectOptions { get_server_public_key: Some(true), ..ConnectOptions::default() };
    let (heard, _) = asks_for_the_password("0.0.0.0", allowed);
    assert_eq!(heard.matches("a-password\0").count(), 2, "{heard}");
    let (heard, _) = asks_for_the_password("127.0.0.1", ConnectOptions::default());
    assert_eq!(heard.matches("a-password\0").count(), 2, "{heard}");
}

#[test]
fn a_server_that_says_nothing_is_given_up_on() {
    let silent = Impostor::silent();
    let limit = Some(Duration::from_secs(1));
    let start = Instant::now();
    let options = ConnectOptions { connect_timeout: limit, ..silent.options() };
    refuses(&options, &["127.0.0.1:", "no answer within 1 s", "--connect-timeout"]);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[test]
fn the_wish_to_stop_ends_the_wait_for_a_silent_server() {
    let silent = Impostor::silent();
    let interrupt = Interrupt::default();
    let options = ConnectOptions { interrupt: interrupt.clone(), ..silent.options() };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| Session::connect(&options));
        std::thread::sleep(Duration::from_millis(200));
        interrupt.request("SIGINT");
        assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
    });
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[test]
fn answers_without_sense_are_an_error() {
    use std::io::{Read, Write};
    let closes = || TlsOptions { encryption: Some(Encryption::Off), ..TlsOptions::default() };
    // An empty packet instead of a verdict; a greeting that ends in the middle; no greeting.
    let answers: [Vec<Vec<u8>>; 3] = [
        vec![greeting(false), packet(2, b"")],
        vec![packet(0, &greeting(false)[4..20])],
        vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()],
    ];
    for answer in answers {
        let impostor = Impostor::answering(move |mut stream| {
            for part in answer {
                stream.write_all(&part).unwrap();
                let mut heard = [0; 4096];
                let _ = stream.read(&mut heard);
            }
            Vec::new()
        });
        let options = ConnectOptions { tls: closes(), ..impostor.options() };
        refuses(&options, &["connecting to 127.0.0.1:"]);
    }
}

#[test]
fn a_compressed_connection_carries_rows() {
    let Some(server) = TestServer::shared() else { return };
    let options = ConnectOptions { compress: Some(true), ..server.options() };
    let mut session = Session::connect(&options).unwrap();
    let on = session.query_row("SHOW STATUS LIKE 'Compression'").unwrap().text(1).unwrap();
    assert_eq!(on, "ON");
    let long = "x".repeat(100_000);
    assert_eq!(session.query_text(&format!("SELECT '{long}'")).unwrap(), Some(long));
}
