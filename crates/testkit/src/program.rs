//! Our programs as tests run them.

use std::path::Path;
use std::process::{Command, Stdio};

/// Gives a program the home, state and temporary folders in `folder`, and nothing of the environment that would
/// change what it does.
pub fn settle<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    for name in ["MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD", "MYSQL_HOME"] {
        command.env_remove(name);
    }
    // Of the tests themselves; of the program's they are options.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"INRUSH_") {
            command.env_remove(name);
        }
    }
    command
        .env("HOME", folder.join("home"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_DATA_HOME", folder.join("data"))
        .env("TMPDIR", folder.join("tmp"))
        // A server that a test killed does not come back by itself.
        .env("INRUSH_RECONNECT_MS", "300")
        .current_dir(folder)
        .stdin(Stdio::null())
}

/// Asserts that help fits a terminal and explains every option.
#[track_caller]
pub fn check_help(help: &str) {
    let lines: Vec<&str> = help.lines().collect();
    for (position, line) in lines.iter().enumerate() {
        assert!(line.chars().count() <= 100, "{line}");
        let option = line.trim_start();
        if !option.starts_with('-') || option.starts_with("- ") {
            continue;
        }
        // Beside the option, or below it.
        let beside = option.split_once("  ").map_or("", |(_, text)| text.trim());
        let below = lines.get(position + 1).map_or("", |text| text.trim());
        assert!(!beside.is_empty() || below.len() > 3, "{line} in:\n{help}");
    }
}
