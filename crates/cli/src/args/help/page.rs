//! A page of help: read from a command once, written as text or as a man page.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::groups::{self, EXAMPLES, GROUPS};

/// Columns of text.
const COLUMNS: usize = 80;
/// Column at which explanations begin, and the room that an option has before it.
const INDENT: usize = 26;
/// The same for commands, whose names are short.
const COMMAND_INDENT: usize = 15;

/// Options that a page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Common,
    All,
}

/// The help of a command.
pub(super) struct Page {
    name: String,
    about: String,
    usage: String,
    examples: Vec<(&'static str, String)>,
    sections: Vec<Section>,
    /// A last line.
    more: Option<&'static str>,
}

struct Section {
    heading: String,
    entries: Vec<Entry>,
}

/// An option, an argument or a command, and paragraphs about it.
struct Entry {
    term: String,
    paragraphs: Vec<String>,
}

impl Page {
    pub(super) fn of(command: &mut Command, extent: Extent) -> Page {
        let usage = command.render_usage().to_string();
        let name = command.get_name();
        let path = command.get_bin_name().unwrap_or(name).to_owned();
        let examples = groups::of(&EXAMPLES, name).unwrap_or_default();
        let arguments: Vec<&Arg> =
            command.get_arguments().filter(|argument| !argument.is_hide_set()).collect();
        let mut sections = commands(command);
        let positional = arguments.iter().filter(|argument| argument.is_positional());
        let entries = positional.map(|argument| Entry::of(argument, extent)).collect();
        sections.push(Section { heading: "Arguments".to_owned(), entries });
        let mut is_all = true;
        for group in &GROUPS {
            let mut entries = Vec::new();
            for option in group.options.split(' ') {
                let named = |argument: &&&Arg| argument.get_long() == Some(option);
                let Some(argument) = arguments.iter().find(named) else { continue };
                if !groups::is_shown(name, option) {
                    continue;
                }
                if extent == Extent::All || groups::is_common(name, option) {
                    entries.push(Entry::of(argument, extent));
                } else {
                    is_all = false;
                }
            }
            sections.push(Section { heading: group.heading.to_owned(), entries });
        }
        sections.retain(|section| !section.entries.is_empty());
        Page {
            about: command.get_about().map(ToString::to_string).unwrap_or_default(),
            usage: usage.trim_start_matches("Usage: ").trim().to_owned(),
            examples: examples
                .iter()
                .map(|(title, rest)| (*title, format!("{path} {rest}")))
                .collect(),
            sections,
            more: (!is_all).then_some("More options: --help-all"),
            name: path,
        }
    }

    /// All sentences.
    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<&str> {
        let entries = self.sections.iter().flat_map(|section| &section.entries);
        let paragraphs = entries.flat_map(|entry| &entry.paragraphs).map(String::as_str);
        let titles = self.examples.iter().map(|(title, _)| *title);
        paragraphs.chain(titles).chain([self.about.as_str()]).collect()
    }

    /// As text for a terminal.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}: {}\n\n", self.name, self.about);
        wrap(&mut out, "Usage: ", 7, &self.usage);
        if !self.examples.is_empty() {
            out.push_str("\nExamples:\n");
        }
        for (title, command) in &self.examples {
            let _ = writeln!(out, "  {title}\n  {command}");
        }
        for Section { heading, entries } in &self.sections {
            let _ = writeln!(out, "\n{heading}:");
            let is_command =
                |entry: &Entry| entry.term.starts_with(|c: char| c.is_ascii_lowercase());
            let indent = if entries.iter().all(is_command) { COMMAND_INDENT } else { INDENT };
            for Entry { term, paragraphs } in entries {
                let mut first = format!("  {term}");
                if first.chars().count() + 2 > indent {
                    let _ = writeln!(out, "{first}");
                    first.clear();
                }
                for paragraph in paragraphs {
                    wrap(&mut out, &format!("{first:indent$}"), indent, paragraph);
                    first.clear();
                }
            }
        }
        if let Some(more) = self.more {
            let _ = writeln!(out, "\n{more}");
        }
        out
    }

    /// As a man page, with the same text.
    pub(super) fn manual(&self) -> String {
        let title = escaped(&self.name.replace(' ', "-"));
        let mut out = format!(".TH {title} 1\n.SH NAME\n{title} \\- {}\n", escaped(&self.about));
        let _ = writeln!(out, ".SH SYNOPSIS\n{}", escaped(&self.usage));
        if !self.examples.is_empty() {
            out.push_str(".SH EXAMPLES\n");
        }
        for (title, command) in &self.examples {
            let _ = writeln!(out, ".PP\n{}\n.nf\n{}\n.fi", escaped(title), escaped(command));
        }
        for Section { heading, entries } in &self.sections {
            let _ = writeln!(out, ".SH {}", escaped(heading));
            for Entry { term, paragraphs } in entries {
                let _ = writeln!(out, ".TP\n.B {}", escaped(term));
                let text = paragraphs.iter().map(|paragraph| escaped(paragraph));
                let _ = writeln!(out, "{}", text.collect::<Vec<_>>().join("\n.br\n"));
            }
        }
        out
    }
}

/// The commands of the program in their groups, or those of one of its commands.
fn commands(command: &Command) -> Vec<Section> {
    let entry = |below: &Command| Entry {
        term: below.get_name().to_owned(),
        paragraphs: below.get_about().map(ToString::to_string).into_iter().collect(),
    };
    let all = || command.get_subcommands().filter(|below| !below.is_hide_set());
    let section = |heading: &str, entries| Section { heading: heading.to_owned(), entries };
    if !all().any(|below| below.get_name() == "load") {
        return vec![section("Commands", all().map(entry).collect())];
    }
    let group = |(heading, names): &(&str, &str)| {
        let named = names.split(' ').flat_map(|name| all().find(|below| below.get_name() == name));
        section(heading, named.map(entry).collect())
    };
    groups::COMMAND_GROUPS.iter().map(group).collect()
}

impl Entry {
    fn of(argument: &Arg, extent: Extent) -> Entry {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let long = argument.get_long_help().map(ToString::to_string).unwrap_or_default();
        let mut paragraphs = vec![help];
        if extent == Extent::All {
            paragraphs.extend(long.split("\n\n").skip(1).map(str::to_owned));
        }
        let is_listed =
            argument.get_action().takes_values() && !argument.is_hide_possible_values_set();
        let values = if is_listed { argument.get_possible_values() } else { Vec::new() };
        let values: Vec<_> = values.into_iter().filter(|value| !value.is_hide_set()).collect();
        let mut notes = Vec::new();
        if extent == Extent::All && values.iter().any(|value| value.get_help().is_some()) {
            for value in &values {
                let help = value.get_help().map(|help| format!(": {help}")).unwrap_or_default();
                paragraphs.push(format!("- {}{help}", value.get_name()));
            }
        } else if values.len() > 1 && values[0].get_name() != "true" {
            let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            notes.push(format!("[{}]", names.join(", ")));
        }
        let is_switch = !argument.get_action().takes_values();
        let defaults: Vec<_> =
            argument.get_default_values().iter().map(|text| text.to_string_lossy()).collect();
        if !is_switch && !defaults.is_empty() {
            notes.push(format!("[default: {}]", defaults.join(" ")));
        }
        for note in notes {
            let last = paragraphs.last_mut().filter(|text| !text.starts_with("- "));
            match last {
                Some(text) => {
                    text.push(' ');
                    text.push_str(&note);
                }
                None => paragraphs.push(note),
            }
        }
        Entry { term: term(argument), paragraphs }
    }
}

/// `-h, --host HOST`, or `FILE...` of what is no option.
fn term(argument: &Arg) -> String {
    let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let is_repeated = argument.get_num_args().is_some_and(|number| number.max_values() > 1);
    let value = value.unwrap_or_else(|| argument.get_id().as_str().to_uppercase());
    let Some(long) = argument.get_long() else {
        return if is_repeated { format!("{value}...") } else { value };
    };
    let short = argument.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let aliases = argument.get_visible_aliases().unwrap_or_default();
    let aliases: String = aliases.iter().map(|alias| format!(", --{alias}")).collect();
    let value = match argument.get_action().takes_values() {
        false => String::new(),
        true if argument.is_require_equals_set() => format!("[={value}]"),
        true => format!(" {value}"),
    };
    format!("{short}--{long}{aliases}{value}")
}

/// Writes words after `first`, with later lines indented.
fn wrap(out: &mut String, first: &str, indent: usize, text: &str) {
    let (mut line, mut is_begun) = (first.to_owned(), false);
    for word in text.split_whitespace() {
        let width = line.chars().count() + usize::from(is_begun) + word.chars().count();
        if is_begun && width > COLUMNS {
            let _ = writeln!(out, "{line}");
            (line, is_begun) = (" ".repeat(indent), false);
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    let _ = writeln!(out, "{line}");
}

/// Text that troff takes for itself.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
