//! Options that were not typed: those of group `[inrush]` in option files, and of the environment.
//!
//! `memory = 4G` in a file and `INRUSH_MEMORY=4G` are `--memory 4G`, for every command that has the option.
//! Typed options count first, then a job file, then the environment, then files. A name that no command has
//! is an error, since it was meant for something.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{ArgAction, Args as _, CommandFactory as _};
use server::OptionFiles;
use terminal::connect::ConnectArgs;
use terminal::failure::Failure;

use super::Cli;

const PREFIX: &str = "INRUSH_";
const GROUP: &str = "inrush";
/// Variables that are no options: of tests, of the sandbox's server, of one that is waited for, and of images.
const NO_OPTIONS: [&str; 11] = [
    "CHECKPOINT",
    "FACE",
    "FAILPOINT",
    "FAULT",
    "FAULT_LOG",
    "MARIADBD",
    "PLUGIN_DIR",
    "PROGRAM",
    "RECEIVER",
    "RECONNECT_MS",
    "VERSION",
];
/// Options of the server's address that no option file has: they decide which files are read, or whether any are.
const NOT_IN_FILES: [&str; 3] = ["sandbox", "defaults-file", "defaults-extra-file"];
/// Options that are only ever typed.
const TYPED_ONLY: [&str; 4] = ["help", "help-all", "job", "version"];

/// Options that name a server, short and long, and those that do not count where they are typed: those of another
/// server.
const SERVERS: [(&str, &str, &[&str]); 4] = [
    ("-S", "socket", &["host", "port", "sandbox"]),
    ("-h", "host", &["socket", "sandbox"]),
    ("-P", "port", &["socket", "sandbox"]),
    ("--sandbox", "sandbox", &["host", "port", "socket"]),
];

/// An option that was not typed.
struct OptionSetting {
    /// As it is typed, without the dashes.
    name: String,
    value: Option<OsString>,
    /// `/etc/my.cnf, line 3`, or the variable.
    place: String,
    /// The file; none of the environment.
    file: Option<PathBuf>,
}

/// The arguments with those that were not typed, and the places these are from.
///
/// Errors: a name that no command has, a switch that is neither on nor off.
pub(super) fn with_given(typed: Vec<OsString>) -> Result<(Vec<OsString>, Vec<String>), Failure> {
    let settings: Vec<OptionSetting> =
        of_files(&typed).into_iter().chain(of_environment()?).collect();
    if settings.is_empty() {
        return Ok((typed, Vec::new()));
    }
    let all = Cli::command();
    let command = typed.get(1).and_then(|word| all.find_subcommand(word));
    let mut added: Vec<(OptionSetting, OsString)> = Vec::new();
    for mut given in settings {
        if given.file.is_some() && NOT_IN_FILES.contains(&given.name.as_str()) {
            let OptionSetting { name, place, .. } = given;
            let variable = name.to_ascii_uppercase().replace('-', "_");
            return Err(Failure::usage(format!(
                "{place}: an option file cannot have {name}; --{name} on the command line or the \
                 variable {PREFIX}{variable} can"
            )));
        }
        if TYPED_ONLY.contains(&given.name.as_str()) {
            let OptionSetting { name, place, .. } = given;
            return Err(Failure::usage(format!("{place}: --{name} can only be typed")));
        }
        if !all.get_subcommands().any(|command| has(command, &given.name)) {
            let OptionSetting { name, place, .. } = given;
            // A line without `=` may have its value behind the name.
            let name = name.split_whitespace().next().unwrap_or_default();
            return Err(Failure::usage(format!("{place}: there is no option --{name}")));
        }
        let known = command.and_then(|command| option(command, &given.name));
        let Some(names) = known.map(names) else { continue };
        if let Some(name) = names.first() {
            given.name = (*name).to_owned();
        }
        let is_given = names.iter().any(|name| is_typed(&typed, name));
        if is_given || is_of_another_server(&typed, &given.name) {
            continue;
        }
        // An option that may be repeated may have several lines of one file.
        let is_repeated =
            |other: &OptionSetting| other.file == given.file && known.is_some_and(may_be_repeated);
        added.retain(|(other, _)| other.name != given.name || is_repeated(other));
        if let Some(argument) = argument(known, &given)? {
            added.push((given, argument));
        }
    }
    let place = |(of, _): &(OptionSetting, _)| format!("--{} ({})", of.name, of.place);
    let places = added.iter().map(place).collect();
    let mut arguments = typed;
    let behind_command = arguments.len().min(2);
    arguments
        .splice(behind_command..behind_command, added.into_iter().map(|(_, argument)| argument));
    Ok((arguments, places))
}

fn has(command: &clap::Command, name: &str) -> bool {
    option(command, name).is_some()
}

fn option<'a>(command: &'a clap::Command, name: &str) -> Option<&'a clap::Arg> {
    command.get_arguments().find(|argument| names(argument).contains(&name))
}

/// The name of an option, and its aliases.
fn names(argument: &clap::Arg) -> Vec<&str> {
    argument.get_long().into_iter().chain(argument.get_all_aliases().unwrap_or_default()).collect()
}

fn may_be_repeated(argument: &clap::Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Append)
}

/// As it would be typed; None of a switch that is off.
fn argument(known: Option<&clap::Arg>, given: &OptionSetting) -> Result<Option<OsString>, Failure> {
    let takes_value = known.is_some_and(|argument| argument.get_action().takes_values());
    let mut typed = OsString::from(format!("--{}", given.name));
    match (&given.value, takes_value) {
        (Some(value), true) => {
            typed.push("=");
            typed.push(value);
            Ok(Some(typed))
        }
        (None, true) => {
            Err(Failure::usage(format!("{}: --{} needs a value", given.place, given.name)))
        }
        (None, false) => Ok(Some(typed)),
        (Some(value), false) => match value.to_str().map(str::to_ascii_lowercase).as_deref() {
            Some("1" | "on" | "true" | "yes") => Ok(Some(typed)),
            Some("0" | "off" | "false" | "no" | "") => Ok(None),
            _ => Err(Failure::usage(format!(
                "{}: --{} is a switch; 1 or 0 is expected, not {}",
                given.place,
                given.name,
                value.display()
            ))),
        },
    }
}

/// Options of the group `[inrush]`, except those that name a server: they are read with the options
/// of `[client]`.
fn of_files(typed: &[OsString]) -> Vec<OptionSetting> {
    let path = |name: &str| value_of(typed, name).map(PathBuf::from);
    let files = OptionFiles {
        only: path("defaults-file"),
        extra: path("defaults-extra-file"),
        ..OptionFiles::default()
    };
    // Files that cannot be read are told of by who connects, who reads them too.
    let mut settings = files.read(&mut Vec::new()).unwrap_or_default();
    settings.retain(|setting| setting.group == GROUP);
    if settings.is_empty() {
        return Vec::new();
    }
    let connection = ConnectArgs::augment_args(clap::Command::new(GROUP));
    let is_ours = |name: &str| !has(&connection, name) || NOT_IN_FILES.contains(&name);
    let ours = settings.into_iter().filter(|setting| is_ours(&setting.name));
    ours.map(|setting| OptionSetting {
        place: setting.place(),
        file: Some(setting.file),
        value: setting.value.map(OsString::from),
        name: setting.name,
    })
    .collect()
}

fn of_environment() -> Result<Vec<OptionSetting>, Failure> {
    let mut given = Vec::new();
    for (variable, value) in std::env::vars_os() {
        let Some(name) = variable.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        if NO_OPTIONS.contains(&name) {
            continue;
        }
        let place = format!("{PREFIX}{name}");
        if name == "PASSWORD" {
            return Err(Failure::usage(format!(
                "{place}: passwords come from the prompt, an option file or the variable \
                 MYSQL_PWD only"
            )));
        }
        given.push(OptionSetting {
            name: name.to_ascii_lowercase().replace('_', "-"),
            value: Some(value),
            place,
            file: None,
        });
    }
    given.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(given)
}

/// True if an option is among the arguments.
pub(crate) fn is_typed(typed: &[OsString], name: &str) -> bool {
    let (alone, joined) = (format!("--{name}"), format!("--{name}="));
    options(typed).any(|argument| {
        *argument == *alone || argument.as_encoded_bytes().starts_with(joined.as_bytes())
    })
}

/// True if an option would name another server than the arguments do, or a part of one.
fn is_of_another_server(typed: &[OsString], name: &str) -> bool {
    let is_short = |short: &str| {
        options(typed).any(|argument| argument.as_encoded_bytes().starts_with(short.as_bytes()))
    };
    SERVERS
        .iter()
        .filter(|(_, _, others)| others.contains(&name))
        .any(|(short, long, _)| is_short(short) || is_typed(typed, long))
}

/// The value of an option among the arguments.
fn value_of(typed: &[OsString], name: &str) -> Option<String> {
    let (alone, joined) = (format!("--{name}"), format!("--{name}="));
    let mut arguments = options(typed);
    while let Some(argument) = arguments.next() {
        let argument = argument.to_str().unwrap_or_default();
        if argument == alone {
            return arguments.next().and_then(|value| value.to_str()).map(str::to_owned);
        }
        if let Some(value) = argument.strip_prefix(&joined) {
            return Some(value.to_owned());
        }
    }
    None
}

fn options(typed: &[OsString]) -> impl Iterator<Item = &OsStr> {
    typed.iter().map(OsString::as_os_str).take_while(|argument| *argument != "--")
}
