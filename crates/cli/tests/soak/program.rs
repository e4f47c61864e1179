//! The program's command line for a load that the library is given as options.

use std::ffi::OsString;
use std::process::Command;

use load::{LoadOptions, Mode, OnDuplicate};
use sources::Dialect;
use testkit::TestServer;

use crate::support::Home;

/// `inrush load` with these options, of those that random cases have.
pub(crate) fn command(home: &Home, server: &TestServer, options: &LoadOptions) -> Command {
    let mut command = home.inrush(["load"]);
    command.args(&options.input.files).arg("--socket").arg(server.socket());
    if let Some(user) = server.options().user {
        command.args(["--user", &user]);
    }
    command.arg("--into").arg(format!("{}.{}", options.database, options.table));
    command.args(["--path", options.path.name()]);
    // LOAD DATA guesses nothing.
    command.arg("--no-guess");
    if !server.version().is_tested() {
        command.arg("--untested-server");
    }
    command.args(dialect(&options.input.dialect));
    command.arg("--charset").arg(&options.input.charset);
    if let Some(columns) = &options.input.columns {
        command.arg("--columns").arg(columns.join(","));
    }
    if options.input.header {
        command.arg("--header");
    }
    command.arg("--skip-lines").arg(options.input.skip_lines.to_string());
    if let Some(rejects) = &options.rows.rejects {
        command.arg("--rejects").arg(rejects);
        command.arg("--rejects-max").arg(options.rows.rejects_max.to_string());
    }
    command.args(["--mode", mode(options.mode)]);
    command.args(["--on-duplicate", rule(options.rows.on_duplicate)]);
    if options.atomic {
        command.arg("--atomic");
    }
    if let Some(rows) = options.limits.batches.rows {
        command.arg("--batch-rows").arg(rows.to_string());
    }
    if let Some(connections) = options.limits.batches.connections {
        command.arg("--connections").arg(connections.to_string());
    }
    command.arg("--allow-empty").arg("--threads").arg(options.limits.threads.to_string());
    command.arg("--memory").arg(options.limits.memory_bytes_max.to_string());
    command
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Insert => "insert",
        Mode::Append => "append",
        Mode::Replace => "replace",
    }
}

fn rule(rule: OnDuplicate) -> &'static str {
    match rule {
        OnDuplicate::Fail => "fail",
        OnDuplicate::Skip => "skip",
        OnDuplicate::Replace => "replace",
        OnDuplicate::Update => "update",
    }
}

/// The nearest preset, and what differs from it.
fn dialect(wanted: &Dialect) -> Vec<OsString> {
    let presets = [
        ("mysql", Dialect::mysql()),
        ("tbl", Dialect::tbl()),
        ("csv", Dialect::csv()),
        ("tsv", Dialect::tsv()),
    ];
    let nearest = presets.into_iter().find(|(_, preset)| {
        preset.trailing_separator == wanted.trailing_separator
            && preset.any_newline == wanted.any_newline
    });
    let (name, preset) = nearest.unwrap();
    let mut arguments: Vec<OsString> = vec!["--dialect".into(), name.into()];
    let mut set = |option: &str, bytes: &[u8], before: &[u8]| {
        if bytes != before {
            arguments.extend([option.into(), escaped(bytes)]);
        }
    };
    let one = |byte: Option<u8>| Vec::from_iter(byte);
    set("--fields-terminated-by", &wanted.fields_terminated_by, &preset.fields_terminated_by);
    set("--fields-enclosed-by", &one(wanted.enclosed_by), &one(preset.enclosed_by));
    set("--fields-escaped-by", &one(wanted.escaped_by), &one(preset.escaped_by));
    set("--lines-terminated-by", &wanted.lines_terminated_by, &preset.lines_terminated_by);
    set("--lines-starting-by", &wanted.lines_starting_by, &preset.lines_starting_by);
    for token in &wanted.null_tokens {
        arguments.extend(["--null-token".into(), escaped(token)]);
    }
    arguments
}

/// As the command line reads it back.
fn escaped(bytes: &[u8]) -> OsString {
    let text: String = bytes
        .iter()
        .map(|&byte| match byte {
            0 => "\\0".to_owned(),
            b'\t' => "\\t".to_owned(),
            b'\n' => "\\n".to_owned(),
            b'\r' => "\\r".to_owned(),
            b'\\' => "\\\\".to_owned(),
            byte => char::from(byte).to_string(),
        })
        .collect();
    text.into()
}
