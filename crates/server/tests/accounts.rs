//! How accounts log in, and what is said to those that cannot.

use std::io::{Read, Write};

use server::{ConnectOptions, Encryption, Session, TlsOptions};
use testkit::TestServer;

use crate::impostor::{Impostor, greeting, packet};

const PASSWORD: &str = "sw0rdfish-2286";

fn logs_in(server: &TestServer, user: &str, password: Option<&str>) -> Result<String, String> {
    let options = ConnectOptions {
        user: Some(user.to_owned()),
        password: password.map(Into::into),
        ..server.options()
    };
    let mut session = Session::connect(&options).map_err(|error| error.to_string())?;
    Ok(session.query_row("SELECT CURRENT_USER()").unwrap().text(0).unwrap())
}

#[test]
fn accounts_log_in_by_their_plugins() {
    let Some(server) = TestServer::start() else { return };
    let mut session = server.connect().unwrap();
    let ours = server.options().user.unwrap();
    let mut plugins = vec![
        ("native", format!("mysql_native_password USING PASSWORD('{PASSWORD}')")),
        ("either", format!("unix_socket OR mysql_native_password USING PASSWORD('{PASSWORD}')")),
        ("other", format!("mysql_native_password USING PASSWORD('{PASSWORD}') OR unix_socket")),
    ];
    for (plugin, library) in [("ed25519", "auth_ed25519"), ("parsec", "auth_parsec")] {
        // Not every package of a server has them.
        if session.exec(&format!("INSTALL SONAME '{library}'")).is_err() {
            println!("left out: this server has no {library}");
            continue;
        }
        plugins.push((plugin, format!("{plugin} USING PASSWORD('{PASSWORD}')")));
    }
    for (user, plugin) in plugins {
        session.exec(&format!("CREATE USER {user}@localhost IDENTIFIED VIA {plugin}")).unwrap();
        let name = format!("{user}@localhost");
        assert_eq!(logs_in(&server, user, Some(PASSWORD)).as_ref(), Ok(&name));
        for wrong in [Some("not-it"), None] {
            let denied = logs_in(&server, user, wrong).unwrap_err();
            let says = ["Access denied", "may need a password"];
            assert!(says.iter().any(|words| denied.contains(words)), "{user}: {denied}");
        }
    }
    session.exec("CREATE USER nothing@localhost").unwrap();
    assert_eq!(logs_in(&server, "nothing", None).as_deref(), Ok("nothing@localhost"));
    // The test's own account came in by the socket, if the process has a name.
    assert!(logs_in(&server, &ours, None).is_ok());
    session.exec("CREATE USER sock@localhost IDENTIFIED VIA unix_socket").unwrap();
    let denied = logs_in(&server, "sock", None).unwrap_err();
    assert!(denied.contains("Access denied") && denied.contains("1698"), "{denied}");
}

/// A server that wants `plugin`; what it was then told.
fn wanting(plugin: &'static str, tls: TlsOptions) -> (String, Vec<u8>) {
    let impostor = Impostor::answering(move |mut stream| {
        stream.write_all(&greeting(false)).unwrap();
        let mut heard = vec![0; 4096];
        let _ = stream.read(&mut heard).unwrap();
        let switch = [b"\xfe", plugin.as_bytes(), b"\0saltsaltsaltsaltsalt\0"].concat();
        stream.write_all(&packet(2, &switch)).unwrap();
        let mut told = Vec::new();
        let _ = stream.read_to_end(&mut told);
        told
    });
    let options = ConnectOptions { tls, ..impostor.options() };
    let error = Session::connect(&options).unwrap_err().to_string();
    (error, impostor.heard())
}

#[test]
fn a_plugin_that_is_not_spoken_is_named_and_told_no_password() {
    let clear = TlsOptions { encryption: Some(Encryption::Off), ..TlsOptions::default() };
    for (plugin, words) in [
        ("auth_gssapi_client", "(Kerberos)"),
        ("dialog", "PAM, LDAP or similar"),
        ("mysql_clear_password", "PAM, LDAP or similar"),
        ("sha256_password", "(deprecated by MySQL)"),
        ("mysql_old_password", "from before MySQL 4.1"),
        ("something_new", "something_new, which"),
    ] {
        let (error, told) = wanting(plugin, clear.clone());
        assert!(error.contains(plugin) && error.contains(words), "{error}");
        assert!(error.contains("ed25519") && !error.contains("Error"), "{error}");
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(!told.contains("a-password"), "{plugin}: {told}");
    }
}
