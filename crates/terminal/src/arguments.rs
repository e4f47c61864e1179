//! The command line as clap reads it, and what it refuses as one sentence.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Command, Parser};
use face::OptionName;
use face::option::{HOST, REPLICA, SHARD};
use face::statement::HIDDEN;
use server::options::check_host;

use crate::failure::Failure;

/// Reads arguments, the first of which is the program, by `T`'s command with its help. `given` were not
/// typed: they are named where something is wrong. Help and version are printed here, and end the program.
pub fn parse<T: Parser>(
    command: Command,
    arguments: Vec<OsString>,
    given: &[String],
) -> Result<T, Failure> {
    let matches = command.try_get_matches_from(arguments);
    matches.and_then(|matches| T::from_arg_matches(&matches)).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ if given.is_empty() => Failure::usage(one_sentence(&error.to_string())),
        _ => Failure::usage(format!(
            "{}; these options come from files or the environment: {}",
            one_sentence(&error.to_string()),
            given.join(", ")
        )),
    })
}

/// Options whose values are hosts.
const HOSTS: [OptionName; 3] = [HOST, REPLICA, SHARD];

/// Stops a password on the command line, and does not repeat it: that of `-p`, of a host or of a URL.
pub fn refuse_password(arguments: &[OsString]) -> Result<(), Failure> {
    let holds_password = |argument: &OsString| {
        let bytes = argument.as_encoded_bytes();
        bytes.starts_with(b"--password=") || (bytes.starts_with(b"-p") && bytes.len() > 2)
    };
    if arguments.iter().take_while(|argument| *argument != "--").any(holds_password) {
        return Err(Failure::usage(
            "-p takes no value, because others could see the password in the list of processes: \
             use the prompt, an option file or the variable MYSQL_PWD",
        ));
    }
    check_hosts(arguments)?;
    each_value(arguments, |_, value| match Secret::of_url(value) {
        Secret::Password => Err(Failure::usage(
            "an argument is a URL with a password, which others could see in the list of \
             processes: servers are named by --host, --port and --user, and their passwords come \
             from the prompt (-p), an option file or the variable MYSQL_PWD; a file of a web server \
             that asks for a password is named in a job file (-c)",
        )),
        Secret::PortOrPassword => Err(Failure::usage(
            "an argument is a URL with a port and an @ behind it, or with a user and a password; write \
             the @ of a path as %40, and name a file that needs a password in a job file (-c)",
        )),
        Secret::None => Ok(()),
    })
}

/// Refuses hosts that are none, typed or from files and the environment.
pub fn check_hosts(arguments: &[OsString]) -> Result<(), Failure> {
    each_value(arguments, |name, value| {
        let name = if name == "-h" { "--host" } else { name };
        match HOSTS.into_iter().find(|option| option.typed() == name) {
            Some(option) => {
                check_host(option, value).map_err(|error| Failure::usage(error.to_string()))
            }
            None => Ok(()),
        }
    })
}

/// Takes each argument with the one before it, or with the option's name that it begins with.
fn each_value(
    arguments: &[OsString],
    mut take: impl FnMut(&str, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut before = "";
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, value),
            _ if argument.starts_with("-h") && argument.len() > 2 => ("--host", &argument[2..]),
            _ => (before, argument),
        };
        take(name, value)?;
        before = argument;
    }
    Ok(())
}

/// The password that an argument may hold.
#[derive(Debug, PartialEq, Eq)]
enum Secret {
    None,
    Password,
    /// `user:12/3@host` has a password with a `/` that is not escaped, `host:8080/a@b` a port.
    PortOrPassword,
}

impl Secret {
    /// That of a text that begins as `scheme://user:password@`, also with a `/` that is not escaped.
    fn of_url(text: &str) -> Secret {
        let Some((scheme, rest)) = text.split_once("://") else { return Secret::None };
        let is_scheme = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
        let account = rest.rsplit_once('@').and_then(|(account, _)| account.split_once(':'));
        // `host/a:b@c` has a path, `[::1]/a@b` an address.
        let account = account.filter(|(user, _)| is_scheme && !user.contains(['/', '[']));
        let Some((_, password)) = account else { return Secret::None };
        let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        match password.split_once('/').filter(|(behind_colon, _)| is_port(behind_colon)) {
            // `host:8080/a?mail=a@b` has a query.
            Some((_, path)) if path.contains(['?', '#']) => Secret::None,
            Some(_) => Secret::PortOrPassword,
            None => Secret::Password,
        }
    }
}

/// The parser's message without the value of a `--set` or `--set-sql`, which may be a password or a key.
fn without_setting(message: &str) -> String {
    const VALUE: &str = "invalid value '";
    match (message.find(VALUE), message.find("' for '--set")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{HIDDEN}{}", &message[..start + VALUE.len()], &message[end..])
        }
        _ => message.to_owned(),
    }
}

/// The parser's message without its headings, line breaks and usage.
fn one_sentence(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = message.split("\n\nUsage:").next().unwrap_or(message);
    let message = &without_setting(message);
    let message = message.split("\n\nFor more information").next().unwrap_or(message);
    let lines = message.split("\n\n").map(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        words.join(" ")
    });
    let is_told = |line: &String| !line.is_empty() && !line.starts_with("tip: to pass ");
    let text = lines.filter(is_told).collect::<Vec<_>>().join("; ");
    format!("{text} (--help lists the options)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_urls_are_seen() {
        for url in [
            "https://user:secret@host/a",
            "https://user:123@host/a@b",
            "https://user:se/cret@host/a",
            "https://user:se?cret@host/a",
            "s3+x://user:@host",
        ] {
            assert_eq!(Secret::of_url(url), Secret::Password, "{url}");
        }
        for url in [
            "https://host:8080/a?mail=a@b",
            "https://host:8080/a%40b",
            "https://host/a:b@c",
            "https://user@host:8080/a",
            "https://[::1]:80/a@b",
            "s3://bucket/day=12:30@x",
            "a, b://c: d@e",
            "mail@host",
        ] {
            assert_eq!(Secret::of_url(url), Secret::None, "{url}");
        }
        for url in ["https://user:123/x@host/a.csv", "https://host:8080/a@b"] {
            assert_eq!(Secret::of_url(url), Secret::PortOrPassword, "{url}");
        }
    }
}
