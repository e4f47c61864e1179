//! Requirements of the logical path on MySQL. Runs where INRUSH_TEST_MYSQLD names a `mysqld`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use catalog::learn::{self, CollationCache};
use schema::{DefaultValue, TableName};
use server::options::Protocol;
use server::replicas::{self, Replica};
use server::replication::lag::Following;
use server::{ConnectOptions, Encryption, Error, ServerFacts, Session, TlsOptions, Verify};
use testkit::TestServer;
use values::SqlType;

const PASSWORD: &str = "sw0rdfish-9310";

#[test]
fn facts_and_tables_are_read() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    let mut session = server.connect().unwrap();
    let facts = ServerFacts::read(&mut session).unwrap();
    assert!(facts.privileges.on_database("INSERT", "d") && !facts.log_bin);
    let direct: Vec<&str> = facts.unsupported("d").iter().map(|found| found.name()).collect();
    assert_eq!(direct, [""; 0], "MySQL 9.7.4 was tried");
    server::habits(&mut session, &[], true).unwrap();

    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.parent (id INT PRIMARY KEY)",
        "CREATE TABLE d.t (z INT NOT NULL, id BIGINT UNSIGNED AUTO_INCREMENT, \
         a INT NOT NULL DEFAULT 7, b VARCHAR(20) DEFAULT 'NULL', c TEXT, j JSON, p POINT, \
         f TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3), e ENUM('a','b') NOT NULL DEFAULT 'b', \
         g INT GENERATED ALWAYS AS (a + 1), s VARCHAR(40) DEFAULT (UUID()), h INT INVISIBLE, \
         k VARCHAR(5) CHARACTER SET gb18030, CHECK (a > 0), PRIMARY KEY (id), KEY a_z (a, z DESC), \
         FOREIGN KEY (z) REFERENCES d.parent (id))",
    ] {
        session.exec(sql).unwrap();
    }
    let table = catalog::read(&mut session, &TableName::new("d", "t")).unwrap();
    let invisible = table.columns.iter().filter(|column| column.is_invisible);
    assert_eq!(invisible.map(|column| column.name.as_str()).collect::<Vec<_>>(), ["h"]);
    let names: Vec<&str> = table.indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names[..2], ["PRIMARY", "a_z"]);
    let parts = &table.indexes[1].columns;
    assert_eq!((parts[0].name.as_str(), parts[1].descending), ("a", true));
    let features: Vec<&str> = table.features().iter().map(schema::Feature::name).collect();
    for feature in ["column type", "generated column", "CHECK constraint", "foreign key"] {
        assert!(features.contains(&feature), "{features:?}");
    }
    // An expression for a default is not a generated column.
    assert_eq!(features.iter().filter(|&&f| f == "generated column").count(), 1);
    let of = |name: &str| table.columns.iter().find(|column| column.name == name).unwrap();
    assert_eq!(of("id").sql_type, SqlType::Integer { bytes: 8, unsigned: true });
    assert!(of("id").auto_increment);
    assert_eq!(of("b").default, DefaultValue::Constant(b"NULL".to_vec()));
    assert_eq!(of("c").default, DefaultValue::Null);
    assert_eq!(of("z").default, DefaultValue::None);
    assert_eq!(of("f").default, DefaultValue::Expression("CURRENT_TIMESTAMP(3)".to_owned()));

    // Its information_schema keeps the counter for a day else.
    for counted in [2, 3] {
        session.exec("INSERT IGNORE INTO d.parent VALUES (1)").unwrap();
        session.exec("INSERT INTO d.t (z) VALUES (1)").unwrap();
        let table = catalog::read(&mut session, &TableName::new("d", "t")).unwrap();
        assert_eq!(table.auto_increment, Some(counted));
    }
    let parent = catalog::read(&mut session, &TableName::new("d", "parent")).unwrap();
    assert_eq!(parent.features()[0].name(), "foreign key");
}

#[test]
fn character_sets_are_learned() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    let mut session = server.connect().unwrap();
    let cache = CollationCache::none();
    for name in ["latin1", "utf8mb3", "cp1251", "greek", "sjis", "gbk"] {
        assert_eq!(learn::charset(&mut session, name, &cache).unwrap().name(), name);
    }
    let unknown = learn::charset(&mut session, "utf7", &cache).unwrap_err();
    assert!(matches!(unknown, Error::UnknownCharset { .. }));
    // Not one that is beyond 16 bits.
    assert!(learn::charset(&mut session, "gb18030", &cache).is_err());
}

#[test]
fn rights_of_roles_count() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    let mut session = server.connect().unwrap();
    for sql in [
        "CREATE ROLE loader",
        "GRANT SELECT, INSERT ON `d`.* TO loader",
        "CREATE USER u@localhost IDENTIFIED BY 'x'",
        "GRANT DROP ON `d`.* TO u@localhost",
        "GRANT loader TO u@localhost",
        "SET DEFAULT ROLE loader TO u@localhost",
    ] {
        session.exec(sql).unwrap();
    }
    let options = ConnectOptions {
        user: Some("u".to_owned()),
        password: Some("x".into()),
        ..server.options()
    };
    let mut session = Session::connect(&options).unwrap();
    let facts = ServerFacts::read(&mut session).unwrap();
    for right in ["INSERT", "DROP"] {
        assert!(facts.privileges.on_database(right, "d"), "{right}");
    }
    assert!(!facts.privileges.on_database("ALTER", "d"));
}

/// MySQL on TCP, with an account whose password it does not remember.
struct Host {
    server: TestServer,
    port: u16,
}

impl Host {
    fn new(extra: &[&str]) -> Option<Host> {
        let port = testkit::free_port().unwrap();
        let mut arguments = vec![
            "--skip-networking=0".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--port={port}"),
        ];
        arguments.extend(extra.iter().map(|&argument| argument.to_owned()));
        let server = TestServer::mysql(arguments)?;
        let mut session = server.connect().unwrap();
        let account = format!("u@'%' IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'");
        session.exec(&format!("CREATE USER {account}")).unwrap();
        Some(Host { server, port })
    }

    /// Options for TCP; the server asks for the whole password again.
    fn options(&self, tls: TlsOptions) -> ConnectOptions {
        self.server.connect().unwrap().exec("FLUSH PRIVILEGES").unwrap();
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

    fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.server.datadir().join(name))
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
        assert!(!text.contains(PASSWORD), "{text}");
    }
}

fn clear() -> TlsOptions {
    TlsOptions { encryption: Some(Encryption::Off), ..TlsOptions::default() }
}

#[test]
fn a_password_goes_over_tls_or_a_socket() {
    let Some(host) = Host::new(&[]) else { return };
    assert!(!Host::cipher(&host.options(TlsOptions::default())).is_empty());
    // MySQL makes itself an authority, and a certificate made out to nobody.
    let ca = host.file("ca.pem");
    let chain = TlsOptions { ca: ca.clone(), verify: Some(Verify::Chain), ..TlsOptions::default() };
    assert!(!Host::cipher(&host.options(chain)).is_empty());
    let name = TlsOptions { ca, ..TlsOptions::default() };
    Host::refuses(&host.options(name), &["for no name at all", "--ssl-mode=VERIFY_CA"]);
    let other = TlsOptions { ca: host.file("client-cert.pem"), ..TlsOptions::default() };
    Host::refuses(&host.options(other), &["not signed by the authority in"]);

    let socket = ConnectOptions {
        socket: Some(host.server.socket().to_owned()),
        protocol: Some(Protocol::Socket),
        ..host.options(TlsOptions::default())
    };
    assert_eq!(Host::cipher(&socket), "");
    let wrong = ConnectOptions { password: Some("not-it".into()), ..socket };
    Host::refuses(&wrong, &["Access denied", "(server error 1045)"]);
}

#[test]
fn a_password_that_is_asked_for_goes_elsewhere_only_if_somebody_says_so() {
    let Some(host) = Host::new(&[]) else { return };
    let unverified = || TlsOptions {
        encryption: Some(Encryption::Required),
        verify: Some(Verify::Nothing),
        ..TlsOptions::default()
    };
    // An address that is none of this host's by its name.
    let elsewhere = |options| ConnectOptions { host: Some("0.0.0.0".to_owned()), ..options };
    let refused = elsewhere(host.options(unverified()));
    let parts = ["the server asks for the password itself", "--ssl-mode=VERIFY_CA"];
    Host::refuses(&refused, &parts);
    // Once the server remembers it, a proof is enough.
    let here = ConnectOptions { host: Some("127.0.0.1".to_owned()), ..refused.clone() };
    assert!(!Host::cipher(&here).is_empty());
    assert!(!Host::cipher(&refused).is_empty());
    let mut session = Session::connect(&refused).unwrap();
    // What looks like the answer to the question is a row now.
    let row = session.query_text(&format!("SELECT '{PASSWORD}'")).unwrap();
    assert_eq!(row.as_deref(), Some(PASSWORD));

    let chain = TlsOptions {
        ca: host.file("ca.pem"),
        verify: Some(Verify::Chain),
        ..TlsOptions::default()
    };
    assert!(!Host::cipher(&elsewhere(host.options(chain))).is_empty());
    let allowed = ConnectOptions {
        get_server_public_key: Some(true),
        ..elsewhere(host.options(unverified()))
    };
    assert!(!Host::cipher(&allowed).is_empty());
}

#[test]
fn in_clear_a_password_goes_by_the_servers_key_only() {
    let Some(host) = Host::new(&[]) else { return };
    let refused = ["caching_sha2_password", "--ssl", "--server-public-key-path"];
    Host::refuses(&host.options(clear()), &refused);
    let key = host.file("public_key.pem");
    let named = ConnectOptions { server_public_key: key, ..host.options(clear()) };
    assert_eq!(Host::cipher(&named), "");
    // Now the server remembers it, and a proof is enough.
    assert_eq!(Host::cipher(&ConnectOptions { server_public_key: None, ..named }), "");
    let asked = ConnectOptions { get_server_public_key: Some(true), ..host.options(clear()) };
    assert_eq!(Host::cipher(&asked), "");
}

#[test]
fn a_server_without_encryption_is_told_so() {
    let Some(host) = Host::new(&["--tls-version="]) else { return };
    Host::refuses(&host.options(TlsOptions::default()), &["caching_sha2_password"]);
    let required = TlsOptions { encryption: Some(Encryption::Required), ..TlsOptions::default() };
    Host::refuses(&host.options(required), &["offers no encryption (TLS)"]);
}

#[test]
fn rows_are_sent_where_local_infile_is_on() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(9))").unwrap();
    let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE d.t";
    let done = session.load_local(load, &b"1\tone\n2\ttwo\n1\tagain\nx\ty\n"[..]).unwrap();
    assert!(done.info.starts_with("Records: 4  Deleted: 0  Skipped: 1"), "{}", done.info);
    assert_eq!(session.warnings().unwrap().len(), 2);
    session.exec("SET GLOBAL local_infile=0").unwrap();
    let error = session.load_local(load, &b"3\tthree\n"[..]).unwrap_err();
    assert_eq!(error.errno(), Some(3948), "{error}");
}

#[test]
fn pressure_and_lag_are_read() {
    let start = |id: u32| {
        let port = testkit::free_port().unwrap();
        let extra = vec![
            "--skip-networking=0".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--port={port}"),
            format!("--server-id={id}"),
            "--log-bin=binlog".to_owned(),
            "--report-host=127.0.0.1".to_owned(),
        ];
        Some((TestServer::mysql(extra)?, port))
    };
    let Some((primary, port)) = start(1) else { return };
    let Some((replica, replica_port)) = start(2) else { return };
    // Both are copies of one server, whose name this file holds.
    std::fs::remove_file(replica.datadir().join("auto.cnf")).unwrap();
    replica.restart().unwrap();
    let mut session = primary.connect().unwrap();
    for sql in [
        &format!("CREATE USER r@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"),
        "GRANT ALL ON *.* TO r@'127.0.0.1'",
    ] {
        session.exec(sql).unwrap();
    }
    let mut follower = replica.connect().unwrap();
    follower
        .exec(&format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, \
             SOURCE_USER='r', SOURCE_PASSWORD='{PASSWORD}', GET_SOURCE_PUBLIC_KEY=1"
        ))
        .unwrap();
    follower.exec("START REPLICA").unwrap();
    let options = ConnectOptions {
        host: Some("127.0.0.1".to_owned()),
        port: Some(port),
        protocol: Some(Protocol::Tcp),
        user: Some("r".to_owned()),
        password: Some(PASSWORD.into()),
        ..ConnectOptions::default()
    };
    let mut session = Session::connect(&options).unwrap();
    let began = Instant::now();
    let address = format!("127.0.0.1:{replica_port}");
    // The account has to get there first.
    let mut found = loop {
        match Replica::named(&address, &options) {
            Ok(found) => break found,
            Err(e) if began.elapsed() > Duration::from_secs(30) => panic!("{e}"),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    let behind = |replica: &mut Replica| {
        replica.lag().is_some_and(|lag| matches!(lag.following, Following::Behind(_)))
    };
    while !behind(&mut found) && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
    }
    // The server knows it too, and who has a password does not go there unasked.
    let mut notes = Vec::new();
    assert!(replicas::find(&mut session, &[], &mut notes).is_empty());
    let status = follower.query_named("SHOW REPLICA STATUS");
    assert!(notes.iter().any(|note| note.contains(&address)), "{notes:?} {status:?}");
    let lag = found.lag().unwrap();
    assert!(lag.following < Following::Behind(Duration::from_secs(30)), "{lag}");
    follower.exec("STOP REPLICA SQL_THREAD").unwrap();
    let lag = found.lag().unwrap();
    assert_eq!(lag.following, Following::Stopped);
}
