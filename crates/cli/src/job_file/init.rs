//! A job file to begin with: `inrush job init FILE --into DB`.

use std::fmt::Write as _;
use std::path::Path;

use load::sniff::SniffedColumn;
use terminal::failure::Failure;

use super::keys::{self, Key};
use crate::args::JobInitArgs;
use crate::{input, sniff};

/// Keys of a table that `job init` only shows how to use, with an example.
const EXAMPLES: [(&str, &str); 4] = [
    ("mode", "mode = \"append\""),
    ("when", "when = { FIELD = \"a value\" }"),
    ("on_duplicate", "on_duplicate = \"skip\""),
    ("entity", "entity = { key = [FIELD], id = \"id\" }"),
];

/// The text of a job file that loads all fields into one table.
///
/// Errors: files that cannot be read, or hold nothing that can be told.
pub(crate) fn text(args: &JobInitArgs) -> Result<String, Failure> {
    if args.into.contains('.') {
        return Err(Failure::usage("a job file loads tables of one database: --into DB"));
    }
    let files = input::files(&args.files)?;
    let table = sniff::table_of(&files[0]);
    let sniffed = sniff::with_defaults(&files, &table)?;
    let mut text = String::new();
    head(&mut text, args, &sniff::summary(&sniffed), &sniffed.notes);
    let _ = writeln!(text, "into = {}\n\n[input]", quoted(&args.into));
    let names = args.files.iter().map(|file| quoted(&path(file)));
    let _ = writeln!(text, "files = [{}]", names.collect::<Vec<_>>().join(", "));
    for (name, value) in sniff::options_of(&sniffed) {
        let value = if name == "skip-lines" { value } else { quoted(&value) };
        let _ = writeln!(text, "{} = {value}", name.replace('-', "_"));
    }
    if sniffed.header {
        text.push_str("header = true\n");
    } else {
        let names = sniffed.columns.iter().map(|column| quoted(&column.name));
        let _ = writeln!(text, "columns = [{}]", names.collect::<Vec<_>>().join(", "));
    }
    let _ = writeln!(text, "\n# One of these for each table with rows in the lines.\n[[table]]");
    let _ = writeln!(text, "name = {}", quoted(&table));
    let first = quoted(sniffed.columns.first().map_or("", |column| column.name.as_str()));
    for (name, example) in EXAMPLES {
        let _ =
            writeln!(text, "# {}\n# {}", help(keys::TABLE, name), example.replace("FIELD", &first));
    }
    let _ = writeln!(text, "# {}", help(keys::TABLE, "create"));
    let _ = writeln!(text, "create = {}", lines(&sniffed.ddl));
    let _ = writeln!(text, "# {}", help(keys::TABLE, "columns"));
    text.push_str("[table.columns]\n");
    let wide = sniffed.columns.iter().map(|column| quoted(&column.name).len()).max().unwrap_or(0);
    for column in &sniffed.columns {
        let (name, sql_type) = (quoted(&column.name), &column.sql_type);
        let padding = " ".repeat((wide - name.len()) * 2);
        let from = match format(column) {
            Some(format) => format!("{{ from = {name}, format = {} }}", quoted(&format)),
            None => name.clone(),
        };
        let _ = writeln!(text, "{name} = {from}{padding}  # {sql_type}");
    }
    let _ = writeln!(text, "\n# {}.\n# [[rule]]", keys::ROOT[3].help);
    let _ = writeln!(text, "# field = {first}\n# required = true");
    Ok(text)
}

fn head(text: &mut String, args: &JobInitArgs, summary: &str, notes: &[String]) {
    let names: Vec<String> = args.files.iter().map(|file| path(file)).collect();
    for line in std::iter::once(&format!("{}: {summary}", names.join(" "))).chain(notes) {
        let _ = writeln!(text, "# {}", line.replace(['\n', '\r'], " "));
    }
    text.push_str(
        "# inrush plan -c THIS shows the plan, inrush load -c THIS loads; inrush job schema \
         prints all keys.\n# Paths of files are relative to the folder of this file.\n",
    );
}

/// The format of a column's field. A job file says of empty fields what a load without one knows by the dialect.
fn format(column: &SniffedColumn) -> Option<String> {
    const EMPTY: &str = "null:";
    match column.format_words() {
        Some(format) if !column.empty_is_null || format.split('+').any(|word| word == EMPTY) => {
            Some(format)
        }
        Some(format) => Some(format!("{format}+{EMPTY}")),
        None => column.empty_is_null.then(|| EMPTY.to_owned()),
    }
}

fn help(keys: &[Key], name: &str) -> String {
    let help = keys.iter().find(|key| key.name == name).map_or("", |key| key.help);
    format!("{help}.")
}

fn path(file: &Path) -> String {
    input::shown(file).display().to_string()
}

/// A text of several lines as TOML, which is one line where its letters allow no other form.
fn lines(text: &str) -> String {
    match text.contains("'''") || text.chars().any(|letter| letter.is_control() && letter != '\n') {
        true => quoted(text),
        false => format!("'''\n{}\n'''", text.trim_end()),
    }
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
