//! Files of others where ours should go: never followed, never overwritten, never removed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use schema::TableName;
use targets::Names;
use testkit::{TestServer, TestServerOptions};

use crate::scene::{Mode, Scene};
use crate::support::{finish, names, resume, run, start, wait_paused};

const PRECIOUS: &str = "precious";

/// Objects that can have a name of ours, and the words for them.
const KINDS: [(&str, &str); 6] = [
    ("symlink", "is a symbolic link"),
    ("dangling symlink", "is a symbolic link"),
    ("folder", "is a folder"),
    ("hard link", "is a file with 2 hard links"),
    ("pipe", "is a pipe"),
    ("another user's file", "is a file of user 54321"),
];

/// Puts something of `kind` at `path`; `victim` is what a symlink or a hard link leads to.
fn intrude(kind: &str, path: &Path, victim: &Path) {
    match kind {
        "symlink" => symlink(victim, path).unwrap(),
        "dangling symlink" => symlink(victim.with_extension("nowhere"), path).unwrap(),
        "folder" => fs::create_dir(path).unwrap(),
        "hard link" => fs::hard_link(victim, path).unwrap(),
        "pipe" => {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }
        _ => {
            fs::write(path, PRECIOUS).unwrap();
            std::os::unix::fs::chown(path, Some(54_321), None).unwrap();
        }
    }
}

fn remove(path: &Path) {
    if fs::symlink_metadata(path).unwrap().is_dir() {
        fs::remove_dir(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

struct Place<'a> {
    scene: Scene<'a>,
    folder: PathBuf,
    staging: String,
    /// On the file system of the data directory.
    victim: PathBuf,
}

impl<'a> Place<'a> {
    fn new(server: &'a TestServer) -> Place<'a> {
        let scene = Scene::new(server, Mode::Replace, 500);
        let folder = server.datadir().join(&scene.database);
        let names = Names::of(&TableName::new(scene.database.clone(), "t"));
        let victim = server.dir().join(format!("victim-{}", scene.database));
        fs::write(&victim, PRECIOUS).unwrap();
        Place { scene, folder, staging: names.staging.table, victim }
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.staging))
    }

    #[track_caller]
    fn untouched(&self, path: &Path, when: &str) {
        assert!(fs::symlink_metadata(path).is_ok(), "{when}: removed");
        assert_eq!(fs::read_to_string(&self.victim).unwrap(), PRECIOUS, "{when}");
        assert!(!self.victim.with_extension("nowhere").exists(), "{when}");
    }
}

fn is_root() -> bool {
    // Nobody else can make files of others.
    std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

#[test]
fn a_foreign_file_under_a_name_of_ours_stops_a_load_before_it_begins() {
    let Some(server) = TestServer::shared() else { return };
    let mut place = Place::new(server);
    for extension in ["build", "cfg", "ibd", "isl"] {
        for (kind, words) in KINDS {
            if kind.starts_with("another") && !is_root() {
                continue;
            }
            let (path, when) = (place.path(extension), format!("{kind} as .{extension}"));
            intrude(kind, &path, &place.victim);
            let outcome = run(&mut place.scene.command());
            let name = path.display().to_string();
            outcome.refused(
                1,
                &[&name, words, "but the load needs this name for its own file: find out"],
            );
            place.untouched(&path, &when);
            assert!(!place.scene.is_new(), "{when}");
            remove(&path);
            place.scene.clean(&when);
        }
    }
    place.scene.again("without intruders");
}

#[test]
fn a_foreign_file_that_comes_meanwhile_stops_a_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut place = Place::new(server);
    for (stop, extension) in [("rows.begin", "cfg"), ("rows.begin", "ibd"), ("verify.end", "build")]
    {
        for (kind, words) in KINDS {
            if kind.starts_with("another") && !is_root() {
                continue;
            }
            let (path, when) = (place.path(extension), format!("{kind} as .{extension}"));
            let mut child = start(&mut place.scene.load_with(&format!("{stop}=pause")));
            wait_paused(&mut child);
            if extension == "build" {
                fs::remove_file(&path).unwrap();
            }
            intrude(kind, &path, &place.victim);
            resume(&child);
            let outcome = finish(child);
            let name = path.display().to_string();
            outcome.refused(1, &[&name, words]);
            place.untouched(&path, &when);
            assert!(!place.scene.is_new(), "{when}");
            remove(&path);
            place.scene.again(&when);
            place.scene.reset();
        }
    }
}

#[test]
fn a_table_of_ours_that_somebody_drops_is_missed() {
    let Some(server) = TestServer::shared() else { return };
    let mut place = Place::new(server);
    for stop in ["staging.created", "rows.begin", "import.placed", "publish.begin"] {
        let mut child = start(&mut place.scene.load_with(&format!("{stop}=pause")));
        wait_paused(&mut child);
        let drop = format!("DROP TABLE {}.{}", place.scene.database, place.staging);
        place.scene.session.exec(&drop).unwrap();
        resume(&child);
        let outcome = finish(child);
        outcome.refused(1, &["the load's staging table, ", &place.staging, " was dropped"]);
        place.scene.clean(stop);
        place.scene.again(stop);
        place.scene.reset();
    }
}

/// Tables of others: one that a trigger writes to, and one that refers to the target.
#[test]
fn a_missing_table_of_somebody_else_is_named() {
    let Some(server) = TestServer::shared() else { return };
    let mut place = Place::new(server);
    let (database, session) = (place.scene.database.clone(), &mut place.scene.session);
    session.exec(&format!("USE {database}")).unwrap();
    session.exec("CREATE TABLE child (n INT NOT NULL, FOREIGN KEY (n) REFERENCES t (n))").unwrap();
    let mut child = start(&mut place.scene.load_with("publish.begin=pause"));
    wait_paused(&mut child);
    place.scene.session.exec("DROP TABLE child").unwrap();
    resume(&child);
    let outcome = finish(child);
    outcome.refused(1, &[&format!("'{database}.child' doesn't exist")]);
    place.scene.clean("without a child");
    let audit = "CREATE TRIGGER audit AFTER INSERT ON t FOR EACH ROW INSERT INTO audit VALUES (1)";
    place.scene.session.exec(audit).unwrap();
    let outcome = run(place.scene.command().args(["--path", "stream"]));
    outcome.refused(1, &[&format!("'{database}.audit' doesn't exist")]);
    place.scene.session.exec("DROP TRIGGER audit").unwrap();
    place.scene.again("without a trigger");
}

/// Folders that are symbolic links are as good as others.
#[test]
fn a_database_behind_a_symbolic_link_is_loaded() {
    let durable = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&durable) else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    let (folder, moved) = (server.datadir().join(&scene.database), server.dir().join("moved"));
    fs::rename(&folder, &moved).unwrap();
    symlink(&moved, &folder).unwrap();
    scene.again("a linked database");
    assert!(fs::symlink_metadata(&folder).unwrap().is_symlink());
    assert_eq!(names(&moved), server.database_files(&["t"]));
    // The data directory too.
    scene.reset();
    server.kill_9().unwrap();
    let data = server.dir().join("data-moved");
    fs::rename(server.datadir(), &data).unwrap();
    symlink(&data, server.datadir()).unwrap();
    server.restart().unwrap();
    scene.reconnect();
    scene.again("a linked data directory");
}
