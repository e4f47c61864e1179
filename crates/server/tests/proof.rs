//! A certificate that nobody signed, and the server's proof by the account's password that it is its own:
//! which proofs are taken, and what somebody in between can have.
//!
//! The installed server may be older than MariaDB 11.4, so the log-in is answered by a stand-in, which
//! then passes on what is asked to the real one.

use server::{ConnectOptions, Error, Session, TlsOptions, Verify};
use testkit::TestServer;

use crate::certificates::{Authority, Identity, self_signed, self_signed_authority};
use crate::prover::{Part, Proof, Prover};

const PASSWORD: &str = "sw0rdfish-7341";

struct Scene {
    dir: tempfile::TempDir,
    own: Identity,
}

impl Scene {
    fn new() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let own = self_signed(dir.path(), "own", &["a-server"]);
        Scene { dir, own }
    }

    fn other(&self) -> Identity {
        self_signed(self.dir.path(), "other", &["a-server"])
    }

    /// A server that shows its own certificate and proves it.
    fn right(&self) -> Part {
        Part::new(&self.own, Proof::Of(self.own.cert.clone()))
    }
}

/// Another host, as far as the client can know.
fn options(prover: &Prover) -> ConnectOptions {
    ConnectOptions {
        host: Some("0.0.0.0".to_owned()),
        port: Some(prover.port()),
        user: Some("a-user".to_owned()),
        password: Some(PASSWORD.into()),
        ..ConnectOptions::default()
    }
}

#[track_caller]
fn refuses(options: &ConnectOptions, parts: &[&str]) -> Error {
    let error = Session::connect(options).unwrap_err();
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} are not all in: {text}");
    assert!(!text.contains(PASSWORD), "{text}");
    error
}

#[test]
fn a_server_that_proves_its_certificate_is_talked_to() {
    let Some(server) = TestServer::shared() else { return };
    let scene = Scene::new();
    let authority = self_signed_authority(scene.dir.path(), "authority");
    for own in [scene.own.clone(), authority] {
        let part = Part::new(&own, Proof::Of(own.cert.clone()));
        let prover = Prover::new(PASSWORD, vec![part], server);
        let mut session = Session::connect(&options(&prover)).unwrap();
        assert_eq!(session.query_text("SELECT 6*7").unwrap().as_deref(), Some("42"));
        // One refused the certificate, one had it proven, one is the session's.
        assert_eq!(prover.met(), ["refused", "account", "account"]);
        let mut another = session.another().unwrap();
        assert_eq!(another.query_text("SELECT 6*7").unwrap().as_deref(), Some("42"));
        assert_eq!(prover.met(), ["account"], "what is proven is proven");
    }
}

#[test]
fn a_proof_that_is_none_or_that_of_somebody_else_is_refused() {
    let Some(server) = TestServer::shared() else { return };
    let scene = Scene::new();
    let other = scene.other();
    let part = |proof| Part::new(&scene.own, proof);
    let cases = [
        (part(Proof::None), "its answer to the log-in contains no proof"),
        // Somebody in between, who shows a certificate of his own and passes on the server's answer.
        (
            part(Proof::Of(other.cert.clone())),
            "its proof belongs to a different certificate or password, so",
        ),
        (
            part(Proof::ByPassword("password".to_owned())),
            "its proof belongs to a different certificate or password, so",
        ),
        (part(Proof::Other(vec![1])), "its answer to the log-in contains no proof"),
        (
            part(Proof::Other([&[1][..], &[b'0'; 64]].concat())),
            "its proof belongs to a different certificate or password, so",
        ),
        (
            part(Proof::Other([&[1][..], &[b'0'; 63]].concat())),
            "its answer to the log-in contains no proof",
        ),
        (part(Proof::Switch("caching_sha2_password")), "plugin is caching_sha2_password"),
        (part(Proof::Switch("mysql_clear_password")), "plugin is mysql_clear_password"),
    ];
    for (part, why) in cases {
        let what = format!("{:?}", part.proof);
        let prover = Prover::new(PASSWORD, vec![part], server);
        let parts = ["not signed by a public authority", "did not prove", why, "--ssl-ca FILE"];
        refuses(&options(&prover), &parts);
        // The driver never gets as far as to log in.
        assert_eq!(prover.met(), ["refused", "account"], "{what}");
    }
}

#[test]
fn nothing_of_the_account_is_sent_where_no_proof_can_come() {
    let Some(server) = TestServer::shared() else { return };
    let scene = Scene::new();
    let authority = Authority::new(scene.dir.path(), "somebody");
    for version in ["10.11.19-MariaDB", "11.3.2-MariaDB", "9.7.1"] {
        let part = Part { version, ..scene.right() };
        let prover = Prover::new(PASSWORD, vec![part], server);
        refuses(
            &options(&prover),
            &["not signed by a public", "only MariaDB 11.4 and newer can", version],
        );
        assert_eq!(prover.met(), ["refused", "greeted"], "{version}");
    }
    let named = TlsOptions { ca: Some(authority.ca), ..TlsOptions::default() };
    let public = TlsOptions { verify: Some(Verify::HostName), ..TlsOptions::default() };
    for tls in [named, public] {
        let prover = Prover::new(PASSWORD, vec![scene.right()], server);
        let options = ConnectOptions { tls, ..options(&prover) };
        refuses(&options, &["not signed by"]);
        assert_eq!(prover.met(), ["refused"], "who asks for an authority gets no less");
    }
}

#[test]
fn a_proven_certificate_is_not_another_the_next_time() {
    let Some(server) = TestServer::shared() else { return };
    let scene = Scene::new();
    let other = scene.other();
    let first = || [scene.right(), scene.right(), scene.right()];
    let anew = |part: Part| first().into_iter().chain([part.clone(), part]).collect::<Vec<_>>();
    // The certificate is no secret, its key is.
    let stolen = Identity { cert: scene.own.cert.clone(), key: other.key.clone() };
    let of = |identity: &Identity| Part::new(identity, Proof::None);
    let old = Part { is_tls12: true, ..scene.right() };
    let cases = [
        (of(&other), "a different certificate", &["no account", "account"][..]),
        (of(&stolen), "a different certificate", &["no account", "refused"]),
        (old, "TLS 1.3", &["no account", "refused"]),
        (Part { offers_tls: false, ..scene.right() }, "offers no encryption", &["greeted"]),
    ];
    for (part, why, met) in cases {
        let prover = Prover::new(PASSWORD, anew(part), server);
        let options = options(&prover);
        drop(Session::connect(&options).unwrap());
        assert_eq!(prover.met().len(), 3);
        refuses(&options, &[why]);
        assert_eq!(prover.met(), met, "{why}");
    }
    // A server that was started again has made itself another one, and proves it.
    let again = Part::new(&other, Proof::Of(other.cert.clone()));
    let prover = Prover::new(PASSWORD, [anew(again.clone()), vec![again]].concat(), server);
    let options = options(&prover);
    drop(Session::connect(&options).unwrap());
    let mut session = Session::connect(&options).unwrap();
    assert_eq!(session.query_text("SELECT 6*7").unwrap().as_deref(), Some("42"));
    assert_eq!(prover.met()[3..], ["no account", "account", "account"]);
}

#[test]
fn a_proven_server_gets_no_password_either() {
    let Some(server) = TestServer::shared() else { return };
    let scene = Scene::new();
    let asking = Part { wants_password: true, ..scene.right() };
    let prover = Prover::new(PASSWORD, vec![scene.right(), scene.right(), asking], server);
    refuses(&options(&prover), &["the server asks for the password itself"]);
    assert_eq!(prover.met(), ["refused", "account", "account and no more"]);
}

#[test]
fn a_wrong_password_is_what_the_server_says_of_it() {
    let Some(server) = TestServer::shared() else { return };
    let scene = Scene::new();
    let prover = Prover::new(
        "its proof belongs to a different certificate or password, so",
        vec![scene.right()],
        server,
    );
    let error = refuses(&options(&prover), &["Access denied"]);
    assert!(matches!(error, Error::Connect { errno: Some(1045), .. }), "{error:?}");
}

/// A real server, of MariaDB 11.4 or newer, with the certificate that it makes itself.
#[test]
fn a_real_server_proves_its_own_certificate() {
    let port = testkit::free_port().unwrap();
    let extra = ["--skip-networking=0", "--bind-address=127.0.0.1"].map(str::to_owned);
    let extra = extra.into_iter().chain([format!("--port={port}")]).collect();
    let options = testkit::TestServerOptions { extra, ..Default::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let mut root = server.connect().unwrap();
    if root.version().number < (11, 4, 0) {
        println!("skipped: {} proves no certificates", root.version().text);
        return;
    }
    root.exec(&format!("CREATE USER u@'%' IDENTIFIED BY '{PASSWORD}'")).unwrap();
    let with = |password: &str| ConnectOptions {
        host: Some("0.0.0.0".to_owned()),
        port: Some(port),
        user: Some("u".to_owned()),
        password: Some(password.into()),
        ..ConnectOptions::default()
    };
    let options = with(PASSWORD);
    let mut session = Session::connect(&options).unwrap();
    assert!(session.is_encrypted().unwrap());
    assert!(session.another().unwrap().is_encrypted().unwrap());
    // It makes another one when it starts again.
    server.restart().unwrap();
    assert!(Session::connect(&options).unwrap().is_encrypted().unwrap());
    refuses(&with("wrong"), &["Access denied"]);
}
