//! Help of commands: `--help`, `--help-all`, `inrush help COMMAND`, man pages, and completions of shells.
//!
//! ```text
//! Cli -> clap's command -> Page -> text of 80 columns
//!                               -> man page
//! ```
//!
//! `groups` says which option stands where, which are common, and which commands show it; `page` writes.

mod completions;
mod groups;
mod page;

use std::ffi::OsString;
use std::io::Write;

use clap::{Args, Command, CommandFactory as _};
use terminal::failure::Failure;

pub(crate) use self::completions::CompletionsArgs;
use self::page::{Extent, Page};
use super::{Cli, is_typed};

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// Command, and its subcommand if it has some.
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
    /// Print a man page, for `man -l -`.
    #[arg(long)]
    man: bool,
}

impl HelpArgs {
    /// Prints all options of a command.
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let mut cli = built();
        let page = named(&mut cli, &self.words)?;
        let text = if self.man { page.manual() } else { page.text() };
        std::io::stdout().lock().write_all(text.as_bytes())?;
        Ok(0)
    }
}

/// The command line, with our help in place of clap's where these arguments ask for help.
pub(super) fn command(arguments: &[OsString]) -> Command {
    let extent = match is_typed(arguments, "help-all") {
        true => Extent::All,
        false if is_typed(arguments, "help") || arguments.len() <= 2 => Extent::Common,
        // Help is not printed, so no page is needed.
        false => return Cli::command(),
    };
    with_pages(built(), extent)
}

fn built() -> Command {
    let mut cli = Cli::command();
    cli.build();
    cli
}

fn with_pages(mut command: Command, extent: Extent) -> Command {
    let text = Page::of(&mut command, extent).text();
    command.override_help(text).mut_subcommands(|below| with_pages(below, extent))
}

fn named(cli: &mut Command, words: &[String]) -> Result<Page, Failure> {
    let mut command = cli;
    for word in words {
        let path = command.get_bin_name().filter(|name| !name.is_empty());
        let path = path.unwrap_or(command.get_name()).to_owned();
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            Failure::usage(format!("{path} has no command {word}: {path} --help lists them"))
        })?;
    }
    Ok(Page::of(command, Extent::All))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Every command, below others too.
    fn every(visit: &mut dyn FnMut(&mut Command)) {
        fn below(command: &mut Command, visit: &mut dyn FnMut(&mut Command)) {
            visit(command);
            command.get_subcommands_mut().for_each(|command| below(command, visit));
        }
        below(&mut built(), visit);
    }

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn common_help_of_load_fits_two_screens_and_has_three_examples() {
        let mut cli = built();
        let load = cli.find_subcommand_mut("load").unwrap();
        let help = Page::of(load, Extent::Common).text();
        assert!(help.lines().count() <= 60, "{} lines:\n{help}", help.lines().count());
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert_eq!(help.lines().filter(|line| line.starts_with("  inrush load ")).count(), 3);
    }

    #[test]
    fn every_option_is_in_exactly_one_group_of_all_options() {
        every(&mut |command| {
            let page = Page::of(command, Extent::All).text();
            for argument in command.get_arguments() {
                let Some(name) = argument.get_long() else { continue };
                let in_groups = groups::GROUPS.iter().flat_map(|group| group.options.split(' '));
                let times = in_groups.filter(|option| *option == name).count();
                assert_eq!(times, 1, "--{name} of {}", command.get_name());
                let option = format!("--{name}");
                let starts = |line: &&str| {
                    let term = line.strip_prefix("  ").unwrap_or_default();
                    let term = term.split("  ").next().unwrap_or_default();
                    term.split([' ', ',', '=', '[']).any(|word| word == option)
                        && term.starts_with('-')
                };
                let shown = page.lines().filter(starts).count();
                let is_hidden =
                    argument.is_hide_set() || !groups::is_shown(command.get_name(), name);
                assert_eq!(shown, usize::from(!is_hidden), "{option} in:\n{page}");
            }
        });
    }

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let mut cli = built();
        let page = Page::of(&mut cli, Extent::Common).text();
        let named = groups::COMMAND_GROUPS.iter().flat_map(|(_, names)| names.split(' '));
        let named: Vec<&str> = named.collect();
        let shown = |name: &str| {
            page.lines().filter(|line| line.starts_with(&format!("  {name} "))).count()
        };
        for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            assert_eq!(named.iter().filter(|known| **known == name).count(), 1, "{name}");
            assert_eq!(shown(name), 1, "{name} in:\n{page}");
        }
        assert_eq!(named.len(), cli.get_subcommands().count());
    }

    #[test]
    fn names_in_groups_are_options() {
        let mut names: Vec<String> = Vec::new();
        every(&mut |command| {
            names.extend(
                command.get_arguments().filter_map(|one| one.get_long()).map(str::to_owned),
            );
        });
        let lists = groups::GROUPS.iter().map(|group| group.options);
        let hidden = groups::HIDDEN.iter().map(|(_, options)| *options);
        let common = groups::COMMON.iter().map(|(_, options)| *options);
        for name in lists.chain(hidden).chain(common).flat_map(|names| names.split(' ')) {
            assert!(names.iter().any(|known| known == name), "there is no --{name}");
        }
    }

    #[test]
    fn sentences_begin_with_a_noun_or_a_verb_and_are_short() {
        every(&mut |command| {
            for text in Page::of(command, Extent::All).texts() {
                for sentence in text.split([':', ';', '[']).flat_map(|part| part.split(". ")) {
                    let words = words(sentence);
                    let first = words.first().copied().unwrap_or_default();
                    let banned = ["What", "Whether", "Of", "Whoever", "Where"];
                    let is_banned = banned.iter().any(|word| first.eq_ignore_ascii_case(word));
                    assert!(!is_banned, "{sentence:?} in {text:?}");
                    assert!(words.len() < 20, "{sentence:?} has {} words", words.len());
                }
            }
        });
    }

    #[test]
    fn man_pages_have_the_text_of_help() {
        every(&mut |command| {
            let page = Page::of(command, Extent::All);
            let joined = |text: &str| words(text).join(" ");
            let manual = page.manual().replace("\\&", "").replace("\\-", "-").replace("\\e", "\\");
            let (help, manual) = (joined(&page.text()), joined(&manual));
            for text in page.texts() {
                assert!(help.contains(&joined(text)), "{text:?} in {help}");
                assert!(manual.contains(&joined(text)), "{text:?} in {manual}");
            }
            for argument in command.get_arguments().filter_map(|argument| argument.get_long()) {
                let option = format!("--{argument}");
                assert_eq!(help.contains(&option), manual.contains(&option), "{option}");
            }
        });
    }

    /// packaging/build.sh writes a man page for each of these lines.
    #[test]
    fn man_pages_name_commands_in_lines_that_nothing_else_has() {
        every(&mut |command| {
            let manual = Page::of(command, Extent::All).manual();
            let bold = manual.lines().filter_map(|line| line.strip_prefix(".B "));
            let is_name = |term: &&str| term.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            let mut found: Vec<&str> = bold.filter(is_name).collect();
            let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
            let mut expected: Vec<&str> = shown.map(Command::get_name).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{manual}");
        });
    }
}
