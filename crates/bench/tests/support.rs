//! Runs the program of the benchmarks in a home of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use locks::{Mutex, MutexGuard};
use serde_json::Value;
use tempfile::TempDir;
use testkit::TestServer;

/// Home, state and temporary folder of one test.
pub(crate) struct Home {
    dir: TempDir,
}

/// The output of a finished command.
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Home {
        let dir = tempfile::Builder::new().prefix("inrush-bench-").tempdir().unwrap();
        for folder in ["tmp", "state", "home"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Home { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The program with these words, which measures the `inrush` that was built beside it.
    pub(crate) fn bench(&self, words: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_inrush-bench"));
        let measured = program.with_file_name("inrush");
        assert!(measured.exists(), "{} is not built: cargo build -p inrush", measured.display());
        let mut command = Command::new(program);
        testkit::program::settle(&mut command, self.path());
        // What is learned of a collation is the same for every test.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        command.env("XDG_CACHE_HOME", cache).args(words.split_whitespace());
        command
    }

    /// The same, as JSON, with its rows in the home.
    pub(crate) fn bench_json(&self, words: &str) -> Command {
        let mut command = self.bench(words);
        command.args(["--json", "--data-dir"]).arg(self.path().join("bench"));
        command
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let output = command.output().unwrap();
    Outcome {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Outcome {
    /// The report of a benchmark that succeeded.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}\n{}", self.out, self.err);
        serde_json::from_str(&self.out).unwrap()
    }
}

/// Has a command use the server that tests share. Its benchmarks have one database, so one runs at a time.
pub(crate) fn on_shared(command: &mut Command, server: &TestServer) -> MutexGuard<'static, ()> {
    static BENCHMARK: Mutex<()> = Mutex::new(());
    command.arg("--socket").arg(server.socket());
    if let Some(user) = server.options().user {
        command.args(["--user", &user]);
    }
    BENCHMARK.lock()
}
