//! `--datadir`: a server that names its data directory by another path than this machine does.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use server::Session;
use tempfile::TempDir;
use testkit::{TestServer, TestServerOptions};

use crate::support::{Home, Outcome, names, run};

/// Owner of the volume, as that of a container's server is.
const OWNER: u32 = 4_242;

/// A server in a mount namespace of its own, and its data directory as this machine sees it.
struct Container {
    server: TestServer,
    session: Session,
    home: Home,
    volume: PathBuf,
    dir: TempDir,
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

impl Container {
    /// None, with a line, where it cannot be made.
    fn new() -> Option<Container> {
        if !succeeds("unshare", &["--mount", "true"]) {
            println!("skipped: mount namespaces take root and unshare");
            return None;
        }
        let first = TestServer::start()?;
        if first.lacks("mariadbd that the wrapper starts") {
            return None;
        }
        first.stop().unwrap();
        let dir = tempfile::Builder::new().prefix("inrush-volume-").tempdir().unwrap();
        let (volume, inside) = (dir.path().join("volume"), dir.path().join("inside"));
        fs::create_dir(&inside).unwrap();
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        assert!(succeeds("cp", &["-a", &path(first.datadir()), &path(&volume)]));
        assert!(succeeds("chown", &["-R", &format!("{OWNER}:{OWNER}"), &path(&volume)]));
        drop(first);
        let program = dir.path().join("mariadbd");
        let script = format!(
            "#!/bin/sh\nexec unshare --mount sh -c 'mount --bind {} {} && exec \"$@\"' sh \
             \"$(command -v \"${{INRUSH_TEST_MARIADBD:-mariadbd}}\")\" \"$@\"\n",
            path(&volume),
            path(&inside)
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let server = TestServer::start_with(&TestServerOptions {
            binary: Some(program),
            in_place: Some(inside),
            ..TestServerOptions::default()
        })?;
        let mut session = server.connect().unwrap();
        session.exec("CREATE DATABASE d").unwrap();
        session.exec("CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20), KEY (b))").unwrap();
        // The server of the test is root, and makes folders of root's.
        assert!(succeeds("chown", &["-R", &format!("{OWNER}:{OWNER}"), &path(&volume)]));
        Some(Container { server, session, home: Home::new(), volume, dir })
    }

    /// `inrush load FILE --into d.t` with the direct path.
    fn load(&self, rows: &str, more: &[&str]) -> Outcome {
        let file = self.home.file("rows.csv", rows);
        run(self.home.load(&self.server, "d.t", &file).args(more))
    }

    fn rows(&mut self) -> Vec<String> {
        let rows = self.session.query("SELECT CONCAT(a, b) FROM d.t ORDER BY a").unwrap();
        rows.iter().map(|row| row.text(0).unwrap()).collect()
    }

    #[track_caller]
    fn is_sound(&mut self, rows: &[&str]) {
        assert_eq!(self.rows(), rows);
        let check = self.session.query("CHECK TABLE d.t EXTENDED").unwrap();
        assert_eq!(check[0].text(3).unwrap(), "OK");
        let tables = self.session.query("SHOW TABLES FROM d").unwrap();
        assert_eq!(tables.len(), 1);
    }

    fn datadir(&self) -> String {
        self.volume.to_str().unwrap().to_owned()
    }
}

#[test]
fn a_server_in_a_container_gets_built_tables() {
    let Some(mut container) = Container::new() else { return };
    let datadir = container.datadir();
    // The server's own path leads to an empty folder here.
    let refused = container.load("1,x\n", &[]);
    refused.refused(2, &["data directory", "--datadir PATH"]);
    let named = ["--datadir", &datadir];
    container.load("1,x\n2,y\n", &named).done();
    container.is_sound(&["1x", "2y"]);
    container.load("3,z\n", &[&named[..], &["--mode", "append"]].concat()).done();
    container.is_sound(&["1x", "2y", "3z"]);
    let file = fs::metadata(container.volume.join("d/t.ibd")).unwrap();
    assert_eq!((file.uid(), file.gid(), file.mode() & 0o777), (OWNER, OWNER, 0o660));

    let out = container.home.path().join("out.csv");
    let mut export = container.home.inrush(["export", "d.t", "--path", "direct", "-o"]);
    export.arg(&out).args(named).arg("--socket").arg(container.server.socket());
    run(&mut export).done();
    assert_eq!(fs::read_to_string(&out).unwrap(), "1,x\n2,y\n3,z\n");

    // An option file names it too, and nothing is left for the next start.
    let options = format!("[inrush]\ndatadir = {datadir}\n");
    let options = container.home.file("my.cnf", options);
    let more = ["--mode", "replace", "--defaults-extra-file", options.to_str().unwrap()];
    container.load("4,w\n", &more).done();
    container.server.restart().unwrap();
    container.session = container.server.connect().unwrap();
    container.is_sound(&["4w"]);
}

#[test]
fn a_folder_that_is_not_the_servers_is_refused() {
    let Some(mut container) = Container::new() else { return };
    let Some(other) = TestServer::start() else { return };
    let mut session = other.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20), KEY (b))").unwrap();
    session.exec("INSERT INTO d.t VALUES (9, 'theirs')").unwrap();
    container.session.exec("INSERT INTO d.t VALUES (1, 'old')").unwrap();
    container.session.exec("FLUSH TABLES d.t").unwrap();
    let copy = container.home.path().join("copy");
    assert!(succeeds("cp", &["-a", &container.datadir(), copy.to_str().unwrap()]));
    let empty = container.home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let not_its = "does not belong to the server";
    for (path, words) in
        [(other.datadir(), not_its), (&copy, not_its), (&empty, "must name its data directory")]
    {
        for mode in ["replace", "append"] {
            let path = path.to_str().unwrap();
            let refused = container.load("2,new\n", &["--mode", mode, "--datadir", path]);
            refused.refused(2, &[words, path]);
            container.is_sound(&["1old"]);
        }
        let mut export = container.home.inrush(["export", "d.t", "--path", "direct", "-o"]);
        export.arg("out.csv").arg("--datadir").arg(path);
        let refused = run(export.arg("--socket").arg(container.server.socket()));
        refused.refused(2, &[words]);
    }
    // A folder that has the description already proves nothing.
    container.session.exec("FLUSH TABLES d.t FOR EXPORT").unwrap();
    fs::copy(container.volume.join("d/t.cfg"), copy.join("d/t.cfg")).unwrap();
    container.session.exec("UNLOCK TABLES").unwrap();
    let mut export = container.home.inrush(["export", "d.t", "--path", "direct", "-o"]);
    export.arg("out.csv").arg("--datadir").arg(&copy);
    let refused = run(export.arg("--socket").arg(container.server.socket()));
    refused.refused(2, &[not_its, "no .cfg file of d.t"]);
    let theirs = session.query_text("SELECT CONCAT(a, b) FROM d.t").unwrap();
    assert_eq!(theirs.as_deref(), Some("9theirs"));
}

#[test]
fn a_folder_that_cannot_be_written_to_is_refused() {
    let Some(mut container) = Container::new() else { return };
    container.session.exec("INSERT INTO d.t VALUES (1, 'old')").unwrap();
    let datadir = container.datadir();
    let file = container.home.file("rows.csv", "2,new\n");
    let load = container.home.load(&container.server, "d.t", &file);
    let mut command = Command::new("unshare");
    testkit::program::settle(&mut command, container.home.path());
    command.args(["--mount", "sh", "-c"]);
    command.arg(format!(
        "mount --bind {datadir} {datadir} && mount -o remount,bind,ro {datadir} && exec \"$@\""
    ));
    command.arg("sh").arg(load.get_program()).args(load.get_args());
    command.args(["--mode", "replace", "--datadir", &datadir]);
    run(&mut command).refused(2, &["is not writable", &datadir]);
    container.is_sound(&["1old"]);
}

/// This machine has a data directory of the same path, of another server, with a table of the same name.
#[test]
fn a_folder_of_the_same_path_of_another_server_is_neither_read_nor_written() {
    let Some(mut container) = Container::new() else { return };
    let inside = container.dir.path().join("inside");
    let copied = format!("{}/.", container.datadir());
    container.session.exec("INSERT INTO d.t VALUES (1, 'old')").unwrap();
    // With a description, as IMPORT TABLESPACE leaves it there.
    container.session.exec("FLUSH TABLES d.t FOR EXPORT").unwrap();
    assert!(succeeds("cp", &["-a", &copied, inside.to_str().unwrap()]));
    container.session.exec("UNLOCK TABLES").unwrap();
    container.session.exec("INSERT INTO d.t VALUES (2, 'more')").unwrap();
    let out = container.home.path().join("out.csv");
    let export = |container: &Container, path: &str| {
        let mut export = container.home.inrush(["export", "d.t", "--force", "--path", path, "-o"]);
        run(export.arg(&out).arg("--socket").arg(container.server.socket()))
    };
    for missing in ["", "t.cfg", "t.ibd"] {
        let _ = fs::remove_file(inside.join("d").join(missing));
        export(&container, "direct").refused(2, &["belong", "server"]);
        let outcome = export(&container, "auto");
        assert!(outcome.done().out.contains("path select"), "{outcome:?}");
        assert_eq!(fs::read_to_string(&out).unwrap(), "1,old\n2,more\n", "without {missing}");
        for (mode, rows) in [("replace", "1,old\n2,more\n"), ("append", "3,new\n")] {
            let mode = ["--mode", mode];
            container.load(rows, &mode).refused(2, &["belong", "server"]);
            container.load(rows, &[&mode[..], &["--path", "auto"]].concat()).done();
        }
        container.is_sound(&["1old", "2more", "3new"]);
        container.session.exec("DELETE FROM d.t WHERE a = 3").unwrap();
    }
    let files = names(&inside.join("d"));
    assert!(!files.iter().any(|name| name.contains("_inrush_")), "{files:?}");
}

/// The same for a command that loads two tables.
#[test]
fn tables_are_sent_together_where_the_folder_is_another_servers() {
    let Some(mut container) = Container::new() else { return };
    let inside = container.dir.path().join("inside");
    let copied = format!("{}/.", container.datadir());
    assert!(succeeds("cp", &["-a", &copied, inside.to_str().unwrap()]));
    container.session.exec("CREATE TABLE d.u LIKE d.t").unwrap();
    let rows: String = (0..50_000).map(|row| format!("{row},x\n")).collect();
    let files = ["t.csv", "u.csv"].map(|name| container.home.file(name, &rows));
    let mut load = container.home.inrush(["load"]);
    load.args(files).args(["--into", "d", "--mode", "replace"]);
    let outcome = run(load.arg("--socket").arg(container.server.socket()));
    outcome.done();
    for table in ["t", "u"] {
        let count = container.session.query_text(&format!("SELECT COUNT(*) FROM d.{table}"));
        assert_eq!(count.unwrap().as_deref(), Some("50000"), "{table}: {outcome:?}");
    }
}
