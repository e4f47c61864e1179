//! Files that root or the server may not use, as a security module (SELinux, AppArmor) forbids them: the table stays
//! the old one, nothing is left, and the message names the file and the way out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use testkit::{TestServer, TestServerOptions};

use crate::scene::{Mode, Scene};
use crate::support::{Home, finish, names, resume, run, start, wait_paused};

/// A server that gives its folder to `nobody`, and is that user.
const AS_NOBODY: &str = "#!/bin/sh
server=$(command -v \"${INRUSH_TEST_MARIADBD:-mariadbd}\")
for option; do case $option in --socket=*) folder=$(dirname \"${option#--socket=}\");; esac; done
test -n \"$folder\" || exec \"$server\" \"$@\"
chown -R 65534:65534 \"$folder\"
exec setpriv --reuid=65534 --regid=65534 --clear-groups --pdeathsig KILL \"$server\" \"$@\"
";
/// A user who is not root.
const NOBODY: u32 = 65_534;
/// The words that every message has.
const ADVICE: [&str; 3] = [
    "a security module (SELinux, AppArmor) may forbid it",
    "run restorecon -R ",
    "--path stream needs no file",
];

fn is_root() -> bool {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !is_root {
        println!("skipped: only root can take rights from root, or run a server as somebody else");
    }
    is_root
}

/// Advice about the folder itself, for root whom permissions bind.
fn advice(folder: &Path) -> [String; 2] {
    let restore = format!("run restorecon -R {}, or allow", folder.display());
    [format!("; run as user {NOBODY}; or a security module"), restore]
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The same command by a root that permissions bind.
fn bound(command: &Command) -> Command {
    let mut bound = Command::new("setpriv");
    bound.args(["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]);
    bound.arg(command.get_program()).args(command.get_args());
    bound.current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bound.env(name, value),
            None => bound.env_remove(name),
        };
    }
    bound
}

#[test]
fn a_folder_that_root_may_not_use_is_refused_and_rows_are_sent() {
    let Some(server) = TestServer::start() else { return };
    if !is_root() {
        return;
    }
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    let folder = server.datadir().join(&scene.database);
    for (mode, words) in [(0o000, "inaccessible from here"), (0o555, "is not writable")] {
        allow(&folder, mode);
        chown(&folder, Some(NOBODY), None).unwrap();
        let refused = run(&mut bound(&scene.command()));
        let sent = run(bound(&scene.command()).args(["--path", "auto", "--stamp", "auto"]));
        chown(&folder, Some(0), None).unwrap();
        allow(&folder, 0o700);
        let [user, path] = advice(&folder);
        refused
            .refused(2, &[&[words, "Permission denied", &user, &path], ADVICE.as_slice()].concat());
        assert!(sent.done().out.contains(", stream"), "{words}: {sent:?}");
        assert!(scene.is_new());
        scene.clean(words);
        scene.reset();
    }
}

#[test]
fn a_file_that_root_may_not_make_is_named() {
    let Some(server) = TestServer::start() else { return };
    if !is_root() {
        return;
    }
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    let folder = server.datadir().join(&scene.database);
    // Files that were made before can be removed by the next load only.
    for (place, is_clean) in [("staging.discarded", true), ("verify.end", false)] {
        let mut child = start(&mut bound(&scene.load_with(&format!("{place}=pause"))));
        wait_paused(&mut child);
        allow(&folder, 0o500);
        resume(&child);
        let outcome = finish(child);
        allow(&folder, 0o700);
        let path = folder.join("_inrush_").display().to_string();
        let [_, restore] = advice(&folder);
        let words = [&path, "Permission denied (os error 13)", &restore];
        outcome.refused(1, &[words.as_slice(), &ADVICE].concat());
        assert!(!scene.is_new());
        if is_clean {
            scene.clean(place);
        }
        scene.again(place);
        scene.reset();
    }
}

#[test]
fn a_file_that_the_server_may_not_read_is_named() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    let program = home.file("mariadbd", AS_NOBODY);
    allow(&program, 0o755);
    let options = TestServerOptions { binary: Some(program), ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    let folder = server.datadir().join(&scene.database);
    scene.again("as it is");
    // The server does without a `.cfg` file if there is one index.
    for (end, keys) in [(".ibd", true), (".cfg", true), (".cfg", false)] {
        scene.reset();
        if !keys {
            let sql = format!("ALTER TABLE {} DROP KEY n, DROP KEY name", scene.table);
            scene.session.exec(&sql).unwrap();
        }
        let mut child = start(&mut scene.load_with("import.placed=pause"));
        wait_paused(&mut child);
        let placed = names(&folder)
            .into_iter()
            .find(|name| name.starts_with("_inrush_") && name.ends_with(end));
        let placed = folder.join(placed.unwrap());
        chown(&placed, Some(0), Some(0)).unwrap();
        allow(&placed, 0o600);
        resume(&child);
        let outcome = finish(child);
        let path = placed.display().to_string();
        let why =
            "; if its error log says that it could not open or read the file, a security module";
        let words = ["nothing was loaded: the server could not use ", &path, "server error ", why];
        outcome.refused(1, &[words.as_slice(), &ADVICE].concat());
        assert!(!scene.is_new());
        scene.clean(end);
    }
}
