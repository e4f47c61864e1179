//! The command line as clap reads it, and what it refuses as one sentence.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Command, Parser};

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

/// Stops a password on the command line, and does not repeat it.
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
    Ok(())
}

/// The parser's message without its headings, line breaks and usage.
fn one_sentence(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = message.split("\n\nUsage:").next().unwrap_or(message);
    let message = message.split("\n\nFor more information").next().unwrap_or(message);
    let lines = message.split("\n\n").map(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        words.join(" ")
    });
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    format!("{text} (--help lists the options)")
}
