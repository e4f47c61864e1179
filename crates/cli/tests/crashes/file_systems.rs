//! Loads on the file systems that servers run on, whole, filled up, broken and limited.
//!
//! Each is in an image of its own. Wants root, loop devices and the programs that make them: what is missing is
//! skipped by name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use testkit::{TestServer, TestServerOptions};

use crate::scene::{Mode, Scene};
use crate::support::{contents, finish, resume, run, start, wait_paused};

/// A file system in an image, mounted at a folder until this is dropped.
struct Image {
    dir: TempDir,
    device: String,
}

/// How an image is made and mounted.
struct Kind {
    /// The program and its options.
    make: &'static [&'static str],
    /// Bytes of a sector of its device.
    sector: &'static str,
    /// Options of the mount.
    mount: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind { make: &["mkfs.ext4", "-q"], sector: "512", mount: "rw" },
    Kind { make: &["mkfs.ext4", "-q", "-b", "4096"], sector: "4096", mount: "rw" },
    Kind { make: &["mkfs.xfs", "-q"], sector: "4096", mount: "rw" },
    Kind { make: &["mkfs.btrfs", "-q"], sector: "512", mount: "rw" },
];

fn succeeds(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

impl Image {
    /// None, with a line, where it cannot be made.
    fn of(kind: &Kind, size: u64) -> Option<Image> {
        let image = Image::try_of(kind, size);
        if image.is_none() {
            println!("skipped: {:?} takes root, loop devices and that program", kind.make);
        }
        image
    }

    fn try_of(kind: &Kind, size: u64) -> Option<Image> {
        let dir = tempfile::Builder::new().prefix("inrush-image-").tempdir().unwrap();
        let path = dir.path().join("image");
        fs::File::create(&path).unwrap().set_len(size).unwrap();
        let path = path.to_str().unwrap();
        let options = ["--find", "--show", "--sector-size", kind.sector, path];
        let device = succeeds("losetup", &options)?;
        let image = Image { dir, device };
        let device: &str = &image.device;
        succeeds(kind.make[0], &[&kind.make[1..], &[device]].concat())?;
        fs::create_dir(image.folder()).unwrap();
        image.mount(kind.mount)?;
        Some(image)
    }

    fn mount(&self, options: &str) -> Option<()> {
        let folder = self.folder();
        succeeds("mount", &["-o", options, &self.device, folder.to_str()?]).map(drop)
    }

    fn unmount(&self) {
        succeeds("umount", &[self.folder().to_str().unwrap()]).unwrap();
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("mounted")
    }

    fn datadir(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// A server whose data directory is there.
    fn server(&self) -> Option<TestServer> {
        if !self.datadir().exists() {
            let first = TestServer::start_with(&options(None))?;
            first.stop().unwrap();
            let from = first.datadir().to_str().unwrap();
            let to = self.datadir();
            succeeds("cp", &["-a", from, to.to_str().unwrap()]).unwrap();
            succeeds("sync", &["-f", to.to_str().unwrap()]).unwrap();
        }
        TestServer::start_with(&options(Some(self.datadir())))
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let folder = self.folder();
        let _ = Command::new("umount").arg("-l").arg(&folder).output();
        let _ = Command::new("losetup").args(["-d", &self.device]).output();
    }
}

/// A small log, so that loads fill it several times.
fn options(in_place: Option<PathBuf>) -> TestServerOptions {
    let extra = vec!["--innodb-log-file-size=4M".to_owned()];
    TestServerOptions { durable: true, extra, in_place, ..TestServerOptions::default() }
}

/// Exports the table, and loads the file into another.
fn export_and_back(scene: &mut Scene<'_>, image: &Image) {
    let file = image.folder().join("out.csv");
    let mut export = scene.home.inrush(["export", &scene.table, "--path", "direct", "-o"]);
    run(export.arg(&file).arg("--force").arg("--socket").arg(scene.server.socket())).done();
    let back = format!("{}.back", scene.database);
    let sql = format!("CREATE TABLE {back} LIKE {}", scene.table);
    scene.session.exec(&sql).unwrap();
    run(&mut scene.home.load(scene.server, &back, &file)).done();
    assert_eq!(contents(&mut scene.session, &back), scene.new);
    scene.session.exec(&format!("DROP TABLE {back}")).unwrap();
}

#[test]
#[ignore = "a minute long; make soak runs it"]
fn tables_are_built_merged_sent_and_exported_on_every_file_system() {
    for kind in &KINDS {
        let Some(image) = Image::of(kind, 600 << 20) else { continue };
        let Some(server) = image.server() else { return };
        println!("{:?} with sectors of {}", kind.make, kind.sector);
        for (mode, by) in
            [(Mode::Insert, ""), (Mode::Append, ""), (Mode::Replace, "HASH (id) PARTITIONS 3")]
        {
            let mut scene = Scene::of(&server, mode, 20_000, by);
            run(&mut scene.command()).done();
            assert!(scene.is_new());
            if by.is_empty() {
                export_and_back(&mut scene, &image);
            }
            server.kill_9().unwrap();
            server.restart().unwrap();
            scene.reconnect();
            assert!(scene.is_new());
            scene.reset();
            scene.more = vec!["--path", "stream"];
            if mode == Mode::Replace {
                run(&mut scene.command()).done();
                assert!(scene.is_new());
            }
        }
    }
}

#[test]
#[ignore = "half a minute long; make soak runs it"]
fn a_file_system_that_fills_while_the_table_is_imported_leaves_the_old_one() {
    for kind in &KINDS[..3] {
        let Some(image) = Image::of(kind, 600 << 20) else { continue };
        let Some(server) = image.server() else { return };
        let mut scene = Scene::new(&server, Mode::Replace, 30_000);
        let mut failed = 0;
        for place in ["rows.begin", "import.begin", "import.placed", "publish.begin"] {
            scene.reset();
            let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
            wait_paused(&mut child);
            let filler = image.folder().join("filler");
            fill(&filler);
            resume(&child);
            let outcome = finish(child);
            fs::remove_file(&filler).unwrap();
            // The server needs little room, and may have it.
            if outcome.code() != 0 {
                assert_eq!(outcome.code(), 1, "{place}: {outcome:?}");
                assert!(!scene.is_new(), "{place}: {outcome:?}");
                failed += 1;
            }
            scene.again(place);
        }
        assert!(failed > 0, "the disk was never full");
    }
}

/// A file of all the room that there is.
pub(super) fn fill(path: &Path) {
    use std::io::Write as _;
    let mut file = fs::File::create(path).unwrap();
    for size in [1 << 20, 4096, 512] {
        let bytes = vec![1; size];
        while file.write_all(&bytes).is_ok() {}
    }
}

/// As after an error of the disk: the file system takes no writes any more, from any step on.
#[test]
#[ignore = "half a minute long; make soak runs it"]
fn a_file_system_that_becomes_read_only_leaves_the_old_table_or_the_new_one() {
    for place in [
        "staging.begin",
        "rows.begin",
        "import.begin",
        "import.end",
        "publish.begin",
        "publish.end",
    ] {
        let Some(image) = Image::of(&KINDS[0], 600 << 20) else { return };
        let Some(server) = image.server() else { return };
        let mut scene = Scene::new(&server, Mode::Replace, 20_000);
        scene.reset();
        let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
        wait_paused(&mut child);
        image.mount("remount,abort").unwrap();
        resume(&child);
        let outcome = finish(child);
        assert!([0, 1].contains(&outcome.code()), "{place}: {outcome:?}");
        server.kill_9().unwrap();
        image.unmount();
        let checked = Command::new("e2fsck").args(["-fy", &image.device]).output().unwrap();
        assert!(checked.status.code().unwrap() <= 1, "{checked:?}");
        image.mount("rw").unwrap();
        server.restart().unwrap_or_else(|e| panic!("{place}: {e}\n{}", server.error_log()));
        scene.reconnect();
        scene.again(place);
    }
}

/// A quota of XFS counts for root too.
#[test]
#[ignore = "seconds long; make soak runs it"]
fn a_quota_that_is_reached_leaves_the_old_table() {
    let kind = Kind { make: &["mkfs.xfs", "-q"], sector: "512", mount: "prjquota" };
    let Some(image) = Image::of(&kind, 600 << 20) else { return };
    let Some(server) = image.server() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 40_000);
    let (folder, data) = (image.folder(), image.datadir());
    let quota = |command: &str| {
        succeeds("xfs_quota", &["-x", "-c", command, folder.to_str().unwrap()]).unwrap();
    };
    quota(&format!("project -s -p {} 42", data.display()));
    let used = succeeds("du", &["-sk", data.to_str().unwrap()]).unwrap();
    let used: u64 = used.split_whitespace().next().unwrap().parse().unwrap();
    quota(&format!("limit -p bhard={}k 42", used + 2048));
    let outcome = run(&mut scene.command());
    outcome.refused(1, &["free some space"]);
    assert!(!scene.is_new());
    quota("limit -p bhard=0 42");
    scene.again("a quota");
}

/// Journals and names are ordered by counters, not by a clock.
#[test]
#[ignore = "seconds long; make soak runs it"]
fn a_clock_that_is_set_back_changes_nothing() {
    if succeeds("faketime", &["--version"]).is_none() {
        return println!("skipped: no faketime found");
    }
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Append, 5_000);
    for place in ["rows.begin", "import.end", "publish.swapped", "job.end"] {
        scene.reset();
        run(&mut scene.load_with(&format!("{place}=kill")));
        let had_new = scene.is_new();
        let load = scene.command();
        let mut earlier = Command::new("faketime");
        earlier.args(["-f", "-2d"]).arg(load.get_program()).args(load.get_args());
        for (name, value) in load.get_envs() {
            match value {
                Some(value) => earlier.env(name, value),
                None => earlier.env_remove(name),
            };
        }
        earlier.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").current_dir(scene.home.path());
        let outcome = run(&mut earlier);
        let is_told = outcome.out.contains("all rows are loaded already")
            || outcome.err.contains("as a row of");
        assert!(outcome.code() == 0 || had_new && is_told, "{place}: {outcome:?}");
        assert!(scene.is_new(), "{place}: {outcome:?}");
    }
}
