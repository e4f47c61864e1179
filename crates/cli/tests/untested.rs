//! Servers whose build is not on the tested list: a copy of the installed program that gives another version.
//!
//! The proof itself takes seconds of processor time, so one test of `make test` runs it, and those of `make test-more`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sandbox::mariadbd::Binary;
use testkit::{TestServer, TestServerOptions};

use crate::support::{Home, Outcome, run};

/// Rows of a table, and their number.
const ROWS: &str = "1\tone\n2\ttwo\n3\tthree\n";

/// A server of a build that nobody has tested, and a table in it.
struct Untested {
    home: Home,
    server: TestServer,
    program: PathBuf,
    rows: PathBuf,
}

impl Untested {
    /// None where no server is installed whose version can be changed in a copy.
    fn start() -> Option<Untested> {
        let home = Home::new();
        let installed = Binary::find(sandbox::BINARY_VARIABLE).ok()?;
        let program = patched(&installed, home.path())?;
        let options = TestServerOptions { binary: Some(program.clone()), ..Default::default() };
        let server = TestServer::start_with(&options)?;
        let sql =
            "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b))";
        server.script(&format!("{sql} ENGINE=InnoDB")).unwrap();
        let rows = home.file("t.tsv", ROWS);
        Some(Untested { home, server, program, rows })
    }

    fn run(&self, command: &str, more: &[&str]) -> Outcome {
        let mut command = self.home.inrush([command]);
        command.args(["--user", "root", "--socket"]).arg(self.server.socket());
        command.arg("--state-dir").arg(self.home.path().join("state/inrush"));
        run(command.args(more))
    }

    fn load(&self, more: &[&str]) -> Outcome {
        let rows = self.rows.to_str().unwrap();
        self.run("load", &[&[rows, "--into", "d.t", "--mode", "replace"], more].concat())
    }

    fn plan(&self, more: &[&str]) -> Outcome {
        let rows = self.rows.to_str().unwrap();
        self.run("plan", &[&[rows, "--into", "d.t", "--mode", "replace"], more].concat())
    }

    /// A program of the same version that does something else than the server's.
    fn script(&self, name: &str, text: &str) -> String {
        let program = self.program.to_str().unwrap();
        let version =
            format!("case \"$*\" in *--version*) exec {program} --no-defaults --version;; esac");
        let path = self.home.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{version}\n{}\n", text.replace("{}", program)))
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// A copy of a program that gives patch level 98 of its series; none if the text is not in it.
fn patched(installed: &Binary, folder: &Path) -> Option<PathBuf> {
    let mut bytes = fs::read(&installed.path).ok()?;
    let (major, minor, patch) = installed.version.number;
    let old = format!("{major}.{minor}.{patch}-MariaDB");
    let digits = patch.to_string().len();
    let new = format!("{major}.{minor}.{}-MariaDB", &"9876"[..digits]);
    let mut places = Vec::new();
    for at in 0..bytes.len().saturating_sub(old.len()) {
        if bytes[at..].starts_with(old.as_bytes()) {
            places.push(at);
        }
    }
    if places.is_empty() {
        println!("skipped: {} has no version text to change", installed.path.display());
        return None;
    }
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
    let bin = folder.join("server/bin");
    fs::create_dir_all(&bin).unwrap();
    let path = bin.join("mariadbd");
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Some(path)
}

/// Processes that run on the folder of a proof in `home`.
fn servers_of_proofs(home: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let folder = format!("--datadir={}", home.display());
    let of_proof = |line: &str| line.contains(&folder) && line.contains("inrush-proof-");
    lines.filter(|line| of_proof(&String::from_utf8_lossy(line))).count()
}

#[test]
#[ignore = "half a minute long; make test-more runs it"]
fn a_build_that_cannot_be_proven_gets_its_rows_sent() {
    let Some(untested) = Untested::start() else { return };
    // The plan says that a proof comes first, and makes none.
    let plan = untested.plan(&[]).done().out.clone();
    assert!(plan.contains("d.t: loads with the direct path"), "{plan}");
    let said = format!(
        "note: this server's build is not on the tested list: the load proves it first, in a private server of {}",
        untested.program.display()
    );
    assert!(plan.contains(&said), "{plan}");
    assert!(!untested.home.path().join("state/inrush/builds").exists());

    // A program of another version, one that does not start, and none.
    let installed = Binary::find(sandbox::BINARY_VARIABLE).unwrap().path;
    let broken = untested.script("broken", "echo 'no such plugin' >&2; exit 1");
    let cases = [
        (installed.to_str().unwrap(), "but the server is "),
        (&broken, "a private server of its program cannot be run: "),
        ("/nowhere/mariadbd", "names /nowhere/mariadbd, which cannot be run: No such file"),
    ];
    for (program, why) in cases {
        let loaded = untested.load(&["--server-program", program, "--verbose"]);
        let all = format!("{}{}", loaded.out, loaded.err);
        assert_eq!(loaded.code(), 0, "{all}");
        assert!(all.contains("3 rows loaded") && all.contains(", stream"), "{all}");
        assert!(
            all.contains("this build is not on the tested list and cannot be proven: "),
            "{all}"
        );
        assert!(all.contains(why), "{why}: {all}");
        let direct = untested.load(&["--server-program", program, "--path", "direct"]);
        assert_eq!(direct.code(), 2, "{direct:?}");
        assert!(direct.err.contains("--untested-server builds without proof"), "{direct:?}");
    }

    // Somebody who accepts the risk is told it.
    let loaded = untested.load(&["--untested-server", "--path", "direct"]);
    loaded.done();
    assert!(loaded.err.contains("rows can be wrong or missing"), "{loaded:?}");
    assert!(untested.plan(&["--untested-server"]).out.contains("rows can be wrong or missing"));
    let doctor = untested.run("doctor", &[]).done().out.clone();
    assert!(doctor.contains("untested server ("), "{doctor}");
    assert!(doctor.contains("inrush doctor --prove proves it"), "{doctor}");
}

#[test]
fn a_build_is_proven_once_before_its_first_direct_load() {
    let Some(untested) = Untested::start() else { return };
    let first = untested.load(&["--verbose"]);
    let all = format!("{}{}", first.out, first.err);
    let said = "is not on the tested list: before the first direct load, it is tested once in a private copy of the server";
    assert!(all.contains(said), "{all}");
    let is_late = all.contains("the proof took longer than 20 s on this machine");
    if is_late {
        // So busy a machine sends its rows; a proof that is asked for has the time.
        assert!(all.contains(", stream"), "{all}");
        let proven = untested.run("doctor", &["--prove"]).done().out.clone();
        assert!(proven.contains(": proven in "), "{proven}");
    } else {
        assert!(all.contains(", direct build"), "{all}");
    }
    // Of the proof, nothing is left but its result.
    assert_eq!(untested.home.temp_files(), Vec::<String>::new());
    let second = untested.load(&["--path", "direct"]);
    second.done();
    assert!(!second.err.contains("tested list"), "{second:?}");
    assert!(!untested.plan(&[]).out.contains("tested list"));
    let closed = "direct: tables of this server are built as files and imported";
    assert!(untested.run("doctor", &[]).done().out.contains(closed));
}

/// Minutes on a busy machine: two more proofs.
#[test]
#[ignore = "make test-more"]
fn a_server_that_differs_or_dies_keeps_the_direct_path_shut() {
    let Some(untested) = Untested::start() else { return };
    // A program that is started with a setting of its own, under which rows cannot be numbered as they come.
    let spoiled = "case \"$*\" in *--pid-file*) set -- \"$@\" --auto-increment-offset=5;; esac\nexec {} \"$@\"";
    let wrong = untested.script("wrong", spoiled);
    let proof = untested.run("doctor", &["--prove", "--server-program", &wrong]);
    assert_eq!(proof.code(), 1, "{proof:?}");
    assert!(proof.out.contains("the proof failed, so the direct path stays closed: "), "{proof:?}");
    let direct = untested.load(&["--path", "direct"]);
    assert_eq!(direct.code(), 2, "{direct:?}");
    assert!(direct.err.contains("the proof of this build failed: "), "{direct:?}");
    let sent = untested.load(&[]);
    assert!(sent.done().out.contains(", stream"), "{sent:?}");
    // The same with a server that ends in the middle, when a table is exported or imported.
    let mortal = "case \"$*\" in *--pid-file*) ;; *) exec {} \"$@\";; esac\n\
        for a in \"$@\"; do case $a in --datadir=*) d=${a#*=};; esac; done\n\
        {} \"$@\" & s=$!\n\
        while kill -0 $s 2>/dev/null; do ls \"$d\"/*/*.cfg >/dev/null 2>&1 && kill -9 $s; sleep 0.01; done\nexit 1";
    let mortal = untested.script("mortal", mortal);
    let proof = untested.run("doctor", &["--prove", "--server-program", &mortal]);
    assert_eq!(proof.code(), 1, "{proof:?}");
    // The server of that script went with it.
    assert_eq!(untested.home.temp_files(), Vec::<String>::new());
    assert_eq!(servers_of_proofs(untested.home.path()), 0);
    // One more proof, of the server's own program, opens the path.
    untested.run("doctor", &["--prove"]).done();
    untested.load(&["--path", "direct"]).done();
}
