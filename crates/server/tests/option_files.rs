//! Option files as the mariadb client reads them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use server::{ConnectOptions, Encryption, Error, OptionFiles, Verify};

fn only(path: &std::path::Path) -> OptionFiles {
    OptionFiles { only: Some(path.to_owned()), ..OptionFiles::default() }
}

#[test]
fn groups_includes_quotes_and_order() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/b.cnf"), "[client]\nhost=from-b\n").unwrap();
    fs::write(at("d/a.cnf"), "[client]\nhost=from-a\nport=3310\n").unwrap();
    fs::write(at("d/c.ini"), "[client]\nhost=not-read\n").unwrap();
    fs::write(at("extra"), "[client]\ndatabase = shop # the shop\n").unwrap();
    fs::write(
        at("my.cnf"),
        format!(
            "# comment\n; another\n[mysqld]\nport=1\nnonsense here\n\n[client]\n  user = 'a b' \n\
             !includedir {}\n!include {}\n[client]\npassword=\"p#\\\"w\"\nloose_connect_timeout=7\n\
             unknown-option\nssl-verify-server-cert\n[client-mariadb]\nskip-ssl\n\
             [inrush]\nprotocol=TCP\n",
            at("d").display(),
            at("extra").display()
        ),
    )
    .unwrap();
    let mut warnings = Vec::new();
    let options = ConnectOptions::from_files(&only(&at("my.cnf")), &mut warnings).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(options.user.as_deref(), Some("a b"));
    assert_eq!(options.host.as_deref(), Some("from-b"));
    assert_eq!(options.port, Some(3310));
    assert_eq!(options.database.as_deref(), Some("shop"));
    assert_eq!(options.connect_timeout, Some(std::time::Duration::from_secs(7)));
    let tls = (options.tls.encryption, options.tls.verify);
    assert_eq!(tls, (Some(Encryption::Off), Some(Verify::HostName)));
    assert!(options.socket_path().is_none(), "protocol=TCP");
    assert!(!format!("{options:?}").contains("p#"), "the password is shown");
    use secrecy::ExposeSecret;
    assert_eq!(options.password.unwrap().expose_secret(), "p#\"w");
}

#[test]
fn a_negated_switch_that_is_off_is_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let (on, off) = (Some(Encryption::Required), Some(Encryption::Off));
    for (line, expected) in
        [("ssl", on), ("ssl=0", off), ("skip-ssl", off), ("skip-ssl=0", on), ("disable_ssl=0", on)]
    {
        fs::write(&path, format!("[client]\n{line}\n")).unwrap();
        let options = ConnectOptions::from_files(&only(&path), &mut Vec::new()).unwrap();
        assert_eq!(options.tls.encryption, expected, "{line}");
    }
}

#[test]
fn suffix_groups_and_no_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    fs::write(&path, "[client]\nuser=plain\n[client_two]\nuser=two\n[other]\nuser=no\n").unwrap();
    let read =
        |files: OptionFiles| ConnectOptions::from_files(&files, &mut Vec::new()).unwrap().user;
    assert_eq!(read(only(&path)).as_deref(), Some("plain"));
    let suffix = OptionFiles { group_suffix: Some("_two".to_owned()), ..only(&path) };
    assert_eq!(read(suffix).as_deref(), Some("two"));
    assert_eq!(read(OptionFiles { none: true, ..only(&path) }), None);
}

#[test]
fn files_that_cannot_be_trusted_or_understood() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let missing = ConnectOptions::from_files(&only(&path), &mut Vec::new());
    assert!(matches!(missing, Err(Error::Io { .. })));

    fs::write(&path, "[client]\nuser=x\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let mut warnings = Vec::new();
    let options = ConnectOptions::from_files(&only(&path), &mut warnings).unwrap();
    assert_eq!(options.user, None);
    assert!(warnings[0].contains("world-writable"), "{warnings:?}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    for (text, line) in [
        ("user=x\n", 1),
        ("[client]\n[broken\n", 2),
        ("[client]\n!nonsense\n", 2),
        ("[client]\nport=many\n", 0),
    ] {
        fs::write(&path, text).unwrap();
        match ConnectOptions::from_files(&only(&path), &mut Vec::new()) {
            Err(Error::OptionFile { line: seen, .. }) => assert_eq!(seen, line, "{text}"),
            Err(Error::Option(message)) => assert!(message.contains("line 2"), "{message}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    // A file that includes itself ends.
    fs::write(&path, format!("[client]\nuser=x\n!include {}\n", path.display())).unwrap();
    let mut warnings = Vec::new();
    let options = ConnectOptions::from_files(&only(&path), &mut warnings).unwrap();
    assert_eq!((options.user.as_deref(), warnings.len()), (Some("x"), 1));
}
