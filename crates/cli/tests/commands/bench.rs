//! The program that `inrush bench` becomes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Home, run};

/// A program in a folder that says where it is, and its arguments.
fn benchmarks(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let program = folder.join("inrush-bench");
    fs::write(&program, "#!/bin/sh\necho \"$0\"; for one; do echo \"<$one>\"; done; exit 7\n")
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn benchmarks_are_the_program_beside_this_one_or_on_path() {
    let home = Home::new();
    // Beside the one that is tested are those that were built.
    let (beside, on_path) = (home.path().join("bin"), home.path().join("path"));
    fs::create_dir(&beside).unwrap();
    let inrush = beside.join("inrush");
    fs::copy(env!("CARGO_BIN_EXE_inrush"), &inrush).unwrap();
    let bench = |arguments: &[&str]| {
        let mut command = Command::new(&inrush);
        testkit::program::settle(&mut command, home.path());
        command
            .arg("bench")
            .args(arguments)
            .env("PATH", format!(":/usr/bin:/bin:{}", on_path.display()));
        run(&mut command)
    };

    // The folder at hand is not asked.
    benchmarks(home.path());
    let missing = bench(&["tproch", "--scale", "0.1"]);
    missing.refused(
        2,
        &["the benchmarks are a separate program", "`cargo build --release -p inrush-bench`"],
    );
    assert_eq!(missing.out, "");

    let arguments = ["tproch", "--scale", "0.1", "-h", "a b", "--json", "--", "--help"];
    let text = "<tproch>\n<--scale>\n<0.1>\n<-h>\n<a b>\n<--json>\n<-->\n<--help>\n";
    for folder in [&on_path, &beside] {
        let program = benchmarks(folder);
        let outcome = bench(&arguments);
        assert_eq!(outcome.code(), 7, "{outcome:?}");
        assert_eq!(outcome.out, format!("{}\n{text}", program.display()));
        for help in [&["--help"][..], &["--help", "batch"], &["batch", "--help"], &[]] {
            let told = help.iter().map(|one| format!("<{one}>\n")).collect::<String>();
            assert_eq!(bench(help).out, format!("{}\n{told}", program.display()));
        }
    }
}
