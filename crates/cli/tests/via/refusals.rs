//! Loads by ssh that are refused, with their reasons.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::Machine;
use crate::support::{Home, run};

#[test]
fn options_that_do_not_fit_are_refused_by_name() {
    let home = Home::new();
    home.file("a.csv", "1,a\n");
    home.file("b.csv", "2,b\n");
    home.file("job.toml", "into = \"d\"\n[input]\nfiles = [\"a.csv\"]\n");
    let refused = |arguments: &[&str], words: &[&str]| {
        let mut command = home.inrush(["load"]);
        // Nothing is started: there is no such host.
        command.args(["--via", "ssh://host.invalid", "--into", "d.t"]).args(arguments);
        run(&mut command).refused(2, words);
    };
    for option in ["--rejects", "--duplicates", "--report", "--metrics"] {
        refused(&["a.csv", option, "a.csv"], &[option, "the input"]);
        refused(&["a.csv", option, "none/x"], &[option, "none/x", "No such file"]);
        refused(&["a.csv", option, "/dev/full"], &[option, "it is not a file"]);
        refused(&["a.csv", option, "."], &[option, "directory"]);
        // A folder that takes no file.
        refused(&["a.csv", option, "/proc/self/x"], &[option, "/proc/self/x"]);
        let mut command =
            home.inrush(["load", "a.csv", "--via", "ssh://host.invalid", "--into", "d.t"]);
        let variable = option[2..].to_uppercase();
        command.env(format!("INRUSH_{variable}"), home.path().join("x"));
        run(&mut command).refused(2, &[option, "--via", "type the option"]);
    }
    refused(&["a.csv", "--report", "x", "--metrics", "./x"], &["different files"]);
    refused(&["a.csv", "--metrics", "b.csv"], &["not one of metrics"]);
    refused(&["a.csv", "--report", "b.csv"], &["not a report"]);
    refused(&["a.csv", "-c", "job.toml"], &["-c", "job file"]);
    refused(&["a.csv", "--into", "d"], &["DB.TABLE"]);
    refused(&["a.csv", "b.csv"], &["one file", "2 are named"]);
    refused(&["?.csv"], &["2 are named"]);
    refused(&["."], &["directory"]);
    refused(&["missing.csv"], &["missing.csv", "No such file"]);
    refused(&["https://example.org/a.csv"], &["https://example.org/a.csv", "URL"]);
    for (address, words) in [
        ("host.invalid", "ssh://"),
        ("https://host.invalid", "ssh://"),
        ("-", "ssh://"),
        ("ssh://-oProxyCommand=touch${IFS}x", "no dash first"),
        ("ssh://-x@host.invalid", "user"),
        ("ssh://host.invalid/bin", "path"),
        ("ssh://host.invalid:0", "port"),
    ] {
        refused(&["a.csv", "--via", address], &["--via", words]);
    }
    refused(&["a.csv", "--via", "ssh://u:pw@host.invalid"], &["URL with a password"]);
    for command in ["plan", "check", "verify"] {
        let mut command = home.inrush([command, "a.csv", "--into", "d.t"]);
        run(command.args(["--via", "ssh://host.invalid"])).refused(2, &["--via", "load"]);
    }
    assert!(!home.path().join("x").exists());
}

#[test]
fn a_machine_without_this_program_is_refused_by_name() {
    let Some(mut machine) = Machine::new() else { return };
    machine.desk.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))");
    machine.desk.home.file("a.csv", "1,a\n");
    let load = |machine: &Machine| run(machine.load("t").args(["a.csv"]));
    // Another version that knows of such loads, and an old one that does not.
    machine.has_program("inrush", "echo 'inrush 0.0.9 awaits a load' >&2; cat > /dev/null");
    load(&machine).refused(2, &["127.0.0.1 has Inrush 0.0.9", env!("CARGO_PKG_VERSION")]);
    let old =
        "test \"$1\" = --version && echo inrush 0.0.1 && exit; echo 'unknown option' >&2; exit 2";
    machine.has_program("inrush", old);
    load(&machine).refused(2, &["127.0.0.1 has Inrush 0.0.1", "the same version"]);
    machine.has_program("inrush", "exit 1");
    load(&machine).refused(2, &["exit status 1", "install"]);
    machine.has_no_program();
    load(&machine).refused(2, &["no program inrush", "install Inrush"]);
    // No connection: a port that nobody listens on.
    let mut command = machine.load("t");
    let closed = format!("ssh://127.0.0.1:{}", testkit::free_port().unwrap());
    let refused = run(command.args(["a.csv", "--via", &closed]));
    refused.refused(1, &["nothing was loaded", "cannot be reached by ssh"]);
    machine.has_rows("t", "");
    // No ssh here.
    let mut command = machine.load("t");
    run(command.arg("a.csv").env("PATH", "/nowhere")).refused(2, &["program ssh"]);
}

#[test]
fn messages_and_the_exit_status_are_those_of_the_program_there() {
    let Some(machine) = Machine::new() else { return };
    machine.desk.home.file("a.csv", "1,a\n");
    let version = env!("CARGO_PKG_VERSION");
    let script = format!(
        "echo 'inrush {version} awaits a load' >&2\nprintf 'a \\033[31mred\\rline\\r\\n' >&2\nprintf 'out\\033'\n\
         printf 'the last' >&2; exit 7"
    );
    machine.has_program("inrush", &script);
    let ended = run(machine.load("t").arg("a.csv"));
    assert_eq!(ended.code(), 7, "{ended:?}");
    assert_eq!(ended.out, "out\u{1b}");
    assert_eq!(ended.err, "a \\u001b[31mred\\u000dline\nthe last\n");
}

#[test]
fn a_user_there_without_rights_to_the_data_directory_is_refused_by_name() {
    let Some(mut machine) = Machine::alone() else { return };
    machine.desk.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))");
    machine.desk.home.file("a.csv", "1,a\n");
    machine.desk.exec("CREATE USER plain");
    machine.desk.exec("GRANT ALL ON *.* TO plain");
    let folder = machine.desk.server.socket().parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).unwrap();
    // As if ssh had logged in another user.
    let program = env!("CARGO_BIN_EXE_inrush");
    let other = "setpriv --reuid 4242 --regid 4242 --clear-groups";
    let folders = "HOME=/tmp XDG_STATE_HOME=/tmp/inrush-via-4242 TMPDIR=/tmp";
    machine.has_program("inrush", &format!("exec {other} env {folders} {program} \"$@\""));
    let refused = run(machine.load("t").args(["a.csv", "--path", "direct", "--user", "plain"]));
    refused.refused(2, &["run as root or as"]);
    machine.has_rows("t", "");
    let _ = fs::remove_dir_all("/tmp/inrush-via-4242");
}
