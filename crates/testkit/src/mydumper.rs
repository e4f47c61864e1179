//! mydumper, whose threads at times wait for each other for ever: seen of Debian 12's, once in some
//! hundred runs, after the first statement of a table.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::test_server::TestServer;

/// It takes less than a second here, on a busy machine some.
const SECONDS: &str = "60";
/// Statuses of `timeout` if its command did not end in time, or did not heed the signal either.
const HUNG: [i32; 2] = [124, 137];
/// Status of `timeout` if its command is missing.
const MISSING: i32 = 127;
const TRIES: u32 = 3;

impl TestServer {
    /// Has mydumper write into a folder, anew where it hangs. False where it is not installed,
    /// which is said.
    pub fn mydumper(&self, folder: &Path, arguments: &[&str]) -> bool {
        for _ in 0..TRIES {
            let _ = fs::remove_dir_all(folder);
            let mut command = Command::new("timeout");
            command.args(["--kill-after=5", SECONDS, "mydumper"]).args(arguments);
            command.arg(format!("--user={}", self.options().user_name()));
            command.arg(format!("--socket={}", self.socket().display()));
            let output = command.arg("--outputdir").arg(folder).output().unwrap();
            match output.status.code() {
                Some(0) => return true,
                Some(code) if HUNG.contains(&code) => {
                    eprintln!("mydumper did not end within {SECONDS} s")
                }
                Some(MISSING) => {
                    println!("skipped: no mydumper found (install mydumper)");
                    return false;
                }
                _ => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            }
        }
        panic!("mydumper hung {TRIES} times");
    }
}
