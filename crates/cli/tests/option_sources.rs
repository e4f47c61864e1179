//! Options from option files and the environment.

use std::fs;

use crate::support::{Home, Outcome, run};

/// A load that comes as far as its options.
fn load(home: &Home, file: &str, variables: &[(&str, &str)], typed: &[&str]) -> Outcome {
    home.file("rows.csv", "1,a\n");
    let defaults = home.file("options.cnf", file);
    let mut command = home.inrush(["load", "rows.csv", "--into", "d.t", "--defaults-file"]);
    command.arg(defaults).args(["--socket", "/nonexistent/socket"]).args(typed);
    command.envs(variables.iter().copied());
    run(&mut command)
}

#[test]
fn what_is_typed_counts_before_the_environment_and_that_before_files() {
    let home = Home::new();
    let of_file = "[client]\nmemory = 1\n[inrush]\nmemory = 3q\n";
    load(&home, of_file, &[], &[]).refused(2, &["3q", "not a size"]);
    load(&home, of_file, &[("INRUSH_MEMORY", "4q")], &[]).refused(2, &["4q", "not a size"]);
    let both = [("INRUSH_MEMORY", "4q")];
    load(&home, of_file, &both, &["--memory", "5q"]).refused(2, &["5q", "not a size"]);
    load(&home, of_file, &both, &["--memory=64M"]).refused(1, &["/nonexistent/socket"]);
}

#[test]
fn a_typed_server_counts_before_another_of_the_environment() {
    let home = Home::new();
    let others = [("INRUSH_SANDBOX", "box"), ("INRUSH_HOST", "127.0.0.1"), ("INRUSH_PORT", "1")];
    load(&home, "", &others, &[]).refused(1, &["/nonexistent/socket"]);
    let mut typed = home.inrush(["load", "rows.csv", "--into", "d.t", "-P", "1"]);
    let socket = [("INRUSH_SOCKET", "/nonexistent/other"), ("INRUSH_SANDBOX", "box")];
    run(typed.envs(socket)).refused(1, &["connecting to localhost:1"]);
    let mut typed = home.inrush(["load", "rows.csv", "--into", "d.t", "-h", "127.0.0.1"]);
    let port = [("INRUSH_SOCKET", "/nonexistent/other"), ("INRUSH_PORT", "1")];
    run(typed.envs(port)).refused(1, &["connecting to 127.0.0.1:1"]);
}

#[test]
fn a_name_that_no_command_has_is_an_error() {
    let home = Home::new();
    let unknown = "[inrush]\nmemory = 64M\nmemroy = 1G\n";
    let place = "options.cnf, line 3: there is no option --memroy";
    load(&home, unknown, &[], &[]).refused(2, &[place]);
    let place = "INRUSH_REJECT_MAX: there is no option --reject-max";
    load(&home, "", &[("INRUSH_REJECT_MAX", "1")], &[]).refused(2, &[place]);
    load(&home, "", &[("INRUSH_PASSWORD", "secret")], &[]).refused(2, &["MYSQL_PWD"]);
    load(&home, "", &[("INRUSH_JOB", "job.toml")], &[])
        .refused(2, &["INRUSH_JOB: --job can only be typed"]);
    // Images have it.
    load(&home, "", &[("INRUSH_VERSION", "1.2")], &[]).refused(1, &["/nonexistent/socket"]);
    let sandbox = "[inrush]\nsandbox = /box\n";
    let place = "options.cnf, line 2: an option file cannot have sandbox; --sandbox on the command \
                 line or the variable INRUSH_SANDBOX can";
    load(&home, sandbox, &[], &[]).refused(2, &[place]);
    // Of other commands, or of the server that is meant.
    let others = "[inrush]\nverify\nuser = nobody\nssl-ca = /nonexistent\n";
    load(&home, others, &[], &["--ssl=0"]).refused(1, &["/nonexistent/socket"]);
}

#[test]
fn an_option_has_its_other_names_everywhere() {
    let home = Home::new();
    let of_file = "[inrush]\nfields-optionally-enclosed-by = ab\n";
    load(&home, of_file, &[], &[]).refused(2, &["--fields-enclosed-by", "more than one byte"]);
    let variable = [("INRUSH_FIELDS_OPTIONALLY_ENCLOSED_BY", "\"")];
    load(&home, of_file, &variable, &[]).refused(1, &["/nonexistent/socket"]);
    let typed = ["--fields-optionally-enclosed-by", "\""];
    load(&home, "[inrush]\nfields-enclosed-by = ab\n", &[], &typed)
        .refused(1, &["/nonexistent/socket"]);
}

#[test]
fn switches_are_on_or_off_and_places_are_told() {
    let home = Home::new();
    let both = "[inrush]\ncreate\nddl = x.sql\n";
    let places = ["cannot be used with", "--create (", "options.cnf, line 2", "line 3"];
    load(&home, both, &[], &[]).refused(2, &places);
    let off = [("INRUSH_CREATE", "off"), ("INRUSH_ALLOW_EMPTY", "1")];
    load(&home, both, &off, &[]).refused(2, &["x.sql"]);
    load(&home, "[inrush]\ncreate = perhaps\n", &[], &[])
        .refused(2, &["is a switch; 1 or 0 is expected, not"]);
    load(&home, "[inrush]\nmemory\n", &[], &[]).refused(2, &["--memory needs a value"]);
    let quiet = load(&home, "[inrush]\nmode = append\nquiet\n", &[], &[]);
    assert!(quiet.code() == 1 && !quiet.err.contains("note:"), "{quiet:?}");
    // Whatever the options say, help is help.
    fs::write(home.path().join("home/.my.cnf"), "[inrush]\nthreads = 2\n").unwrap();
    assert!(run(&mut home.inrush(["jobs", "--help"])).done().out.contains("clean"));
}
