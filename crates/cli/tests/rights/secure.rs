//! Options of the connection, from the command line and from files.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use testkit::{TestServer, TestServerOptions};

use crate::support::{Home, Outcome, PATIENCE, run};

const PASSWORD: &str = "sw0rdfish-5502";

/// A server that encrypts, an account that demands it, and the authorities of two.
struct Scene {
    home: Home,
    server: TestServer,
    port: u16,
    ca: PathBuf,
    other: PathBuf,
}

impl Scene {
    fn new() -> Option<Scene> {
        let home = Home::new();
        let issuer = || {
            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
        };
        let (ours, other) = (issuer(), issuer());
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let cert = cert.signed_by(&key, &ours).unwrap();
        let ca = home.file("ca.pem", ours.pem());
        let other = home.file("other.pem", other.pem());
        let cert = home.file("server.crt", cert.pem());
        let key = home.file("server.key", key.serialize_pem());
        let port = testkit::free_port().unwrap();
        let extra = vec![
            "--skip-networking=0".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--port={port}"),
            format!("--ssl-cert={}", cert.display()),
            format!("--ssl-key={}", key.display()),
        ];
        let options = TestServerOptions { extra, ..TestServerOptions::default() };
        let server = TestServer::start_with(&options)?;
        let mut session = server.connect().unwrap();
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY)",
            &format!("CREATE USER u@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL"),
            "GRANT ALL ON *.* TO u@'%'",
        ] {
            session.exec(sql).unwrap();
        }
        Some(Scene { home, server, port, ca, other })
    }

    /// `inrush load` of a row over TCP, with more arguments.
    fn load(&self, arguments: &[&str]) -> Command {
        let rows = self.home.file("rows.txt", "1\n");
        let mut command = self.home.inrush(["load", "--into", "d.t", "--mode", "replace"]);
        command.args(["-h", "127.0.0.1", "-u", "u", "-P", &self.port.to_string()]);
        command.arg(rows).args(arguments).env("MYSQL_PWD", PASSWORD);
        command
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        run(&mut self.load(arguments))
    }
}

#[test]
fn the_certificate_decides_who_is_loaded_into() {
    let Some(scene) = Scene::new() else { return };
    let (ca, other) = (scene.ca.to_str().unwrap(), scene.other.to_str().unwrap());
    scene.run(&["--ssl-ca", ca, "--compress"]).done();
    scene.run(&["--ssl-mode", "verify_identity", "--ssl-ca", ca]).done();
    // Each of several connections is encrypted: the account would not be let in else.
    for path in ["stream", "insert"] {
        scene.run(&["--ssl-ca", ca, "--path", path, "--connections", "3"]).done();
        let other = scene.run(&["--ssl-ca", other, "--path", path]);
        other.refused(1, &["not signed by the authority in"]);
    }
    scene.run(&["--ssl-ca", other, "--skip-ssl-verify-server-cert"]).done();
    scene.run(&[]).done();
    let not_signed = ["connecting to 127.0.0.1:", "not signed by the authority in"];
    scene.run(&["--ssl-ca", other]).refused(1, &not_signed);
    scene.run(&["--ssl-verify-server-cert"]).refused(1, &["not signed by a public authority"]);
    let localhost = ["--ssl-ca", ca, "-h", "localhost", "--protocol", "tcp"];
    scene.run(&localhost).refused(1, &["is for 127.0.0.1, not for localhost"]);
    scene.run(&["--skip-ssl"]).refused(1, &["Access denied", "(server error 1045)"]);
    scene.run(&["--ssl=0"]).refused(1, &["(server error 1045)"]);
    // The last one went into the table, and nothing of the refused ones stays.
    let mut session = scene.server.connect().unwrap();
    let tables = session.query("SHOW TABLES FROM d").unwrap();
    assert_eq!(tables.len(), 1);
}

#[test]
fn option_files_say_the_same_and_the_command_line_prevails() {
    let Some(scene) = Scene::new() else { return };
    let file = scene.home.file("my.cnf", "");
    let file_text = file.to_str().unwrap().to_owned();
    let with = |text: &str, arguments: &[&str]| {
        fs::write(&file, format!("[client]\n{text}")).unwrap();
        scene.run(&[&["--defaults-file", &file_text], arguments].concat())
    };
    let (ca, other) = (scene.ca.display(), scene.other.display());
    with(&format!("ssl-ca={ca}\nssl-verify-server-cert\n"), &[]).done();
    with(&format!("ssl-ca={other}\n"), &["--ssl-ca", scene.ca.to_str().unwrap()]).done();
    with(&format!("ssl_ca={other}\n"), &[]).refused(1, &["not signed by the authority in"]);
    with(&format!("ssl-ca={other}\n"), &["--ssl-mode=REQUIRED"]).done();
    with("skip-ssl\n", &["--ssl"]).done();
    with("skip-ssl\n", &[]).refused(1, &["(server error 1045)"]);
    with("ssl-mode=sometimes\n", &[]).refused(2, &["my.cnf, line 2", "VERIFY_IDENTITY"]);
    with("ssl-fp=00:11\n", &[]).refused(2, &["my.cnf, line 2", "ssl-fp", "--ssl-ca"]);
    with("ssl-ca=/nowhere/ca.pem\n", &[]).refused(2, &["--ssl-ca names /nowhere/ca.pem"]);
}

#[test]
fn options_without_sense_are_refused() {
    let home = Home::new();
    let refused = |arguments: &[&str], parts: &[&str]| {
        let file = home.file("rows.txt", "1\n");
        let mut command = home.inrush(["load", "--into", "d.t", "-h", "127.0.0.1"]);
        run(command.arg(file).args(arguments)).refused(2, parts);
    };
    refused(
        &["--skip-ssl", "--ssl-verify-server-cert"],
        &["--skip-ssl", "remove one of these options"],
    );
    refused(&["--ssl", "--skip-ssl"], &["cannot be used with"]);
    refused(&["--ssl-mode=on"], &["ssl-mode", "PREFERRED"]);
    refused(&["--ssl-cert", "x"], &["must be used together"]);
    refused(&["--protocol=pipe"], &["pipe"]);
    let empty = home.file("empty.pem", "");
    refused(&["--ssl-ca", empty.to_str().unwrap()], &["empty.pem, which contains no certificate"]);
    refused(
        &["--server-public-key-path", empty.to_str().unwrap()],
        &["--server-public-key-path", "which contains no public key"],
    );
}

/// Waits until the terminal of what this process runs does not show any more what is typed.
fn wait_hidden(pid: u32) {
    let begun = Instant::now();
    loop {
        let runs = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        let terminal = format!("/proc/{}/fd/0", runs.split(' ').next().unwrap());
        let state = Command::new("stty").args(["-a", "-F", &terminal]).output().unwrap();
        if String::from_utf8_lossy(&state.stdout).contains(" -echo ") {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{state:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_password_is_asked_for_at_the_terminal() {
    let Some(scene) = Scene::new() else { return };
    let rows = scene.home.file("rows.txt", "7\n");
    let line = format!(
        "{} load {} --into d.t --mode replace -h 127.0.0.1 -u u -P {} -p",
        env!("CARGO_BIN_EXE_inrush"),
        rows.display(),
        scene.port
    );
    // util-linux: runs a command on a terminal of its own, and types what it reads.
    let mut script = Command::new("script");
    testkit::program::settle(&mut script, scene.home.path());
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = script.spawn().unwrap();
    let mut shown = Vec::new();
    let mut screen = script.stdout.take().unwrap();
    while !shown.ends_with(b"Enter password: ") {
        let mut byte = [0];
        screen.read_exact(&mut byte).unwrap();
        shown.push(byte[0]);
    }
    wait_hidden(script.id());
    let mut keyboard = script.stdin.take().unwrap();
    keyboard.write_all(format!("{PASSWORD}\n").as_bytes()).unwrap();
    screen.read_to_end(&mut shown).unwrap();
    let shown = String::from_utf8_lossy(&shown);
    assert!(script.wait().unwrap().success(), "{shown}");
    assert!(!shown.contains(PASSWORD), "{shown}");
    let mut session = scene.server.connect().unwrap();
    assert_eq!(session.query_text("SELECT a FROM d.t").unwrap().as_deref(), Some("7"));
}

#[test]
fn a_server_that_answers_without_sense_is_an_error_in_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let answers = std::thread::spawn(move || {
        // The first connection looks for what killed loads have left.
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut greeting = b"\x0a10.11.19-MariaDB\0\x07\0\0\0saltsalt\0".to_vec();
            // PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH; no encryption.
            greeting.extend(b"\x01\xa2\x2d\x02\0\x08\0\x15\0\0\0\0\0\0\0\0\0\0");
            greeting.extend(b"saltsaltsalt\0mysql_native_password\0");
            let size = u8::try_from(greeting.len()).unwrap();
            stream.write_all(&[size, 0, 0, 0]).unwrap();
            stream.write_all(&greeting).unwrap();
            let mut heard = [0; 4096];
            let _ = stream.read(&mut heard).unwrap();
            // An empty packet, where there has to be a verdict.
            stream.write_all(&[0, 0, 0, 2]).unwrap();
        }
    });
    let home = Home::new();
    let rows = home.file("rows.txt", "1\n");
    let mut command = home.inrush(["load", "--into", "d.t", "-h", "127.0.0.1", "--skip-ssl"]);
    command.args(["-P", &port, "-u", "u"]).arg(rows).env("MYSQL_PWD", PASSWORD);
    let outcome = run(&mut command);
    outcome.refused(1, &["the server's answers are invalid"]);
    assert!(!outcome.err.contains("panicked"), "{outcome:?}");
    answers.join().unwrap();
}
