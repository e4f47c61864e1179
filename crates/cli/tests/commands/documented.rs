//! The commands of README.md and of the task pages run as they stand there.
//!
//! A block marked `sh` runs as a script. A comment `exit status N` says how its line ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::Cluster;

use crate::support::{Home, Outcome, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The examples of the documentation, and a sandbox that stops with the test.
struct Reader {
    home: Home,
}

impl Reader {
    fn new() -> Reader {
        let home = Home::new();
        copy(&root().join("docs/examples"), &home.path().join("docs/examples"));
        Reader { home }
    }

    /// Runs a script in a folder of the home.
    fn script(&self, folder: &str, text: &str) -> Outcome {
        let program = Path::new(env!("CARGO_BIN_EXE_inrush")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("bash");
        testkit::program::settle(&mut command, self.home.path())
            .env("PATH", format!("{}:{path}", program.display()))
            .env("INRUSH_MEMORY", "64M")
            .current_dir(self.home.path().join(folder))
            .args(["-e", "-c", text]);
        run(&mut command)
    }

    /// Runs every block of a page; false if no server is installed.
    #[track_caller]
    fn follow(&self, page: &str, folder: &str, replace: &[(&str, &str)]) -> bool {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for block in blocks(&text) {
            let mut script = script(&block);
            for (from, to) in replace {
                script = script.replace(from, to);
            }
            let outcome = self.script(folder, &script);
            if outcome.err.contains("was not found: install a MariaDB server") {
                println!("skipped: no mariadbd");
                return false;
            }
            assert_eq!(outcome.code(), 0, "{page}:\n{block}\n{}{}", outcome.out, outcome.err);
        }
        true
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.home.inrush(["sandbox", "stop"]).output();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The blocks of a page that are marked `sh`.
fn blocks(page: &str) -> Vec<String> {
    let starts = page.split("\n```sh\n").skip(1);
    starts.map(|rest| rest.split_once("\n```").unwrap().0.to_owned()).collect()
}

/// A block whose lines have to end as their comments say.
fn script(block: &str) -> String {
    let lines = block.lines().map(|line| match line.split_once("# exit status ") {
        Some((command, comment)) => {
            let status = &comment[..1];
            format!(
                "status=0; {command} || status=$?\n\
                 [ $status = {status} ] || {{ echo \"exit status $status\"; exit 99; }}\n"
            )
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// Task pages in the order of the index.
fn pages() -> Vec<String> {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let links = index.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let names = links.map(|(link, _)| link.to_owned());
    names.filter(|link| link.ends_with(".md") && !link.contains('/')).collect()
}

#[test]
fn the_commands_of_the_readme_and_the_task_pages_run_as_pasted() {
    let reader = Reader::new();
    if !reader.follow("README.md", ".", &[]) {
        return;
    }
    let pages = pages();
    for page in pages.iter().filter(|page| *page != "replicas.md") {
        reader.follow(&format!("docs/{page}"), "docs/examples", &[]);
    }
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "md") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let has_commands = !blocks(&fs::read_to_string(&path).unwrap()).is_empty();
            assert!(!has_commands || pages.contains(&name), "{name} is not in docs/README.md");
        }
    }
}

#[test]
fn the_commands_for_replicas_run_with_a_primary_and_its_replica() {
    let Some(cluster) = Cluster::start(1).unwrap() else { return };
    let reader = Reader::new();
    let primary = cluster.primary.socket().to_str().unwrap();
    let replica = cluster.replicas[0].0.socket().to_str().unwrap();
    let user = cluster.primary.options().user.unwrap_or_default();
    cluster.primary.script("CREATE DATABASE shop").unwrap();
    reader.follow(
        "docs/replicas.md",
        "docs/examples",
        &[
            ("/run/primary.sock", primary),
            ("/run/replica-1.sock", replica),
            ("-u root", &if user.is_empty() { user.clone() } else { format!("-u {user}") }),
        ],
    );
}
