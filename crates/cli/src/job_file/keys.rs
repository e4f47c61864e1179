//! The keys that a job file may have: declared once, for the parser, the schema and what `job init` writes.

use super::node::{Held, Node};

/// A key of a job file.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Its purpose, in a sentence without its full stop.
    pub(crate) help: &'static str,
}

/// Keys that a section has besides those that are declared here.
pub(crate) type More<'a> = &'a dyn Fn(&[Key]) -> Vec<String>;

/// The values of a key.
#[derive(Debug)]
pub(crate) enum Kind {
    Text,
    Number,
    Switch,
    /// A text, a number, or true or false.
    Scalar,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Texts in order.
    List(&'static Kind),
    /// A table with these keys.
    Section(&'static [Key]),
    /// A table whose keys are names of the user's.
    Named(&'static Kind),
    /// Any of these.
    Either(&'static [Kind]),
}

const fn key(name: &'static str, kind: Kind, help: &'static str) -> Key {
    Key { name, kind, help }
}

/// Keys of the whole file.
pub(crate) const ROOT: &[Key] = &[
    key("into", Kind::Text, "The database of the tables"),
    key(
        "input",
        Kind::Section(INPUT),
        "The files and their format: these keys, and every option of `inrush load` by its name",
    ),
    key(
        "table",
        Kind::List(&Kind::Section(TABLE)),
        "A table, and the part of each line that goes to it",
    ),
    key("rule", Kind::List(&Kind::Section(RULE)), "A rule for lines; lines that break it are bad"),
];

/// Keys of `[input]` that are no options of the program.
pub(crate) const INPUT: &[Key] = &[
    key(
        "files",
        Kind::Either(&[Kind::Text, Kind::List(&Kind::Text)]),
        "Files and patterns, with paths relative to the folder of the job file",
    ),
    key(
        "columns",
        Kind::List(&Kind::Text),
        "Names of the fields of a line, in order; for files without a header",
    ),
];

/// True if keys are those of the input.
pub(crate) fn are_of_input(keys: &[Key]) -> bool {
    keys.iter().map(|key| key.name).eq(INPUT.iter().map(|key| key.name))
}

/// Keys of a `[[table]]`.
pub(crate) const TABLE: &[Key] = &[
    key("name", Kind::Text, "Its name, without the database"),
    key(
        "mode",
        Kind::Choice(&["insert", "append", "replace"]),
        "The treatment of existing rows, as --mode",
    ),
    key(
        "on_duplicate",
        Kind::Choice(&["fail", "skip", "replace"]),
        "The treatment of rows with the same key, as --on-duplicate",
    ),
    key(
        "when",
        Kind::Either(&[WHEN, Kind::List(&WHEN)]),
        "A line goes to the table if its fields pass all these tests, or all tests of one item of \
         a list; without this key, every line goes to it",
    ),
    key(
        "columns",
        Kind::Named(&Kind::Either(&[Kind::Text, Kind::Section(COLUMN)])),
        "Columns of the table with their field or other source; without it, each field goes to \
         the column of its name",
    ),
    key("entity", Kind::Section(ENTITY), "Rows are the distinct values of key columns"),
    key("create", Kind::Text, "The CREATE TABLE that creates the table if it is missing"),
];

const WHEN: Kind =
    Kind::Named(&Kind::Either(&[Kind::Scalar, Kind::List(&Kind::Scalar), Kind::Section(TEST)]));

/// Keys of a test of a field.
pub(crate) const TEST: &[Key] = &[
    key("is", Kind::Scalar, "The value, byte for byte"),
    key("not", Kind::Scalar, "Any other value except NULL"),
    key("in", Kind::List(&Kind::Scalar), "One of these values"),
    key("not_in", Kind::List(&Kind::Scalar), "None of these values, nor NULL"),
    key("null", Kind::Switch, "true: NULL; false: anything else"),
    key("like", Kind::Text, "A pattern as in LIKE: % for any characters, _ for one"),
    key("not_like", Kind::Text, "A pattern that must not match"),
    key("min", Kind::Number, "The smallest number"),
    key("max", Kind::Number, "The largest number"),
];

/// Keys of what a column gets.
pub(crate) const COLUMN: &[Key] = &[
    key("from", Kind::Text, "A field of the line; with lookup, the field with the key"),
    key("format", Kind::Text, "The format of the field, as --format-of"),
    key("value", Kind::Scalar, "The same value in all rows"),
    key(
        "sql",
        Kind::Text,
        "The same value in all rows: an SQL expression such as NOW(), evaluated by the server once",
    ),
    key(
        "concat",
        Kind::List(&Kind::Either(&[Kind::Text, Kind::Section(PIECE)])),
        "Fields, and texts as { value = \"-\" }, joined; NULL if a field is NULL",
    ),
    key(
        "id_of",
        Kind::Text,
        "The id of the line's row in this [[table]], which must have an entity with an id",
    ),
    key("lookup", Kind::Text, "DB.TABLE in which a row is looked up by key"),
    key("key", Kind::Text, "With lookup: the column that identifies its rows"),
    key("take", Kind::Text, "With lookup: the column whose value is used"),
    key("file_name", Kind::Switch, "true: the name of the line's file, without folders"),
    key("line", Kind::Switch, "true: the number of the line in its file, from 1"),
];

/// Keys of a piece of a text.
pub(crate) const PIECE: &[Key] = &[key("value", Kind::Scalar, "The same text in all rows")];

/// Keys of `[table.entity]`.
pub(crate) const ENTITY: &[Key] = &[
    key("key", Kind::List(&Kind::Text), "The columns that identify rows"),
    key(
        "id",
        Kind::Text,
        "The column that gets an id: the id of the existing row, else the next AUTO_INCREMENT value",
    ),
    key(
        "on_conflict",
        Kind::Choice(&["fail", "first", "last", "reject"]),
        "The treatment of lines with the same key and different values; the default is fail",
    ),
];

/// Keys of a `[[rule]]`: values are looked at as they stand in the line.
pub(crate) const RULE: &[Key] = &[
    key(
        "name",
        Kind::Text,
        "The name of its faults in reports; without this key, reports show the \
                             fault itself",
    ),
    key("field", Kind::Text, "The field of the rule"),
    key(
        "when",
        Kind::Either(&[WHEN, Kind::List(&WHEN)]),
        "The lines that the rule checks, as \
                                                           `when` of a [[table]]",
    ),
    key(
        "required",
        Kind::Switch,
        "true: the field is neither NULL nor empty; all other rules accept NULL",
    ),
    key("min", Kind::Number, "The smallest number"),
    key("max", Kind::Number, "The largest number"),
    key("min_length", Kind::Number, "The smallest number of characters"),
    key("max_length", Kind::Number, "The largest number of characters"),
    key(
        "regex",
        Kind::Text,
        "A regular expression that matches a part of it; ^ and $ are its ends",
    ),
    key("one_of", Kind::List(&Kind::Scalar), "The allowed values"),
    key("unique", Kind::Switch, "true: no earlier line has the same value, byte for byte"),
    key("references", Kind::Text, "DB.TABLE.COLUMN that contains the value"),
    key(
        "compare",
        Kind::Text,
        "Two fields with < <= = != >= > between, as \"ordered <= shipped\": compared as numbers \
         if both are numbers, else byte for byte",
    ),
];

impl Kind {
    /// The expected value, for people.
    pub(crate) fn words(&self) -> String {
        match self {
            Kind::Text => "a text".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::Scalar => "a text, a number, true or false".to_owned(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::List(kind) => format!("a list in which each item is {}", kind.words()),
            Kind::Section(keys) => {
                let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                format!("a TOML table with the keys {}", names.join(", "))
            }
            Kind::Named(_) => "a table".to_owned(),
            Kind::Either(kinds) => {
                let words: Vec<String> = kinds.iter().map(Kind::words).collect();
                words.join(", or ")
            }
        }
    }

    /// True if a value looks like one of these, from outside.
    fn fits(&self, node: &Node) -> bool {
        match (self, &node.held) {
            (Kind::Text, Held::Text(_)) | (Kind::Number, Held::Number(_)) => true,
            (Kind::Switch, Held::Switch(_)) | (Kind::List(_), Held::List(_)) => true,
            (Kind::Scalar, Held::Text(_) | Held::Number(_) | Held::Switch(_)) => true,
            (Kind::Choice(words), Held::Text(text)) => words.contains(&text.as_str()),
            (Kind::Section(_) | Kind::Named(_), Held::Table(_)) => true,
            (Kind::Either(kinds), _) => kinds.iter().any(|kind| kind.fits(node)),
            _ => false,
        }
    }

    /// Checks a value and all that is in it; `more` gives the keys of a section that are
    /// not declared here.
    ///
    /// Errors: the line, and what is wrong there.
    pub(crate) fn check(
        &self,
        node: &Node,
        name: &str,
        more: More<'_>,
    ) -> Result<(), (usize, String)> {
        if !self.fits(node) {
            let seen = match (self, &node.held) {
                (Kind::Choice(_), Held::Text(text)) => format!("{text:?}"),
                _ => node.kind().to_owned(),
            };
            let expected = self.words();
            return Err((node.line, format!("{name} is {seen}; {expected} is expected")));
        }
        match self {
            Kind::List(kind) => {
                node.members().iter().try_for_each(|member| kind.check(member, name, more))
            }
            Kind::Named(kind) => node.entries().iter().try_for_each(|entry| {
                kind.check(&entry.node, &format!("{name}.{}", entry.key), more)
            }),
            Kind::Either(kinds) => match kinds.iter().find(|kind| kind.fits(node)) {
                Some(kind) => kind.check(node, name, more),
                None => Ok(()),
            },
            Kind::Section(keys) => check_section(keys, node, name, more),
            Kind::Text | Kind::Number | Kind::Switch | Kind::Scalar | Kind::Choice(_) => Ok(()),
        }
    }
}

fn check_section(
    keys: &'static [Key],
    node: &Node,
    name: &str,
    more: More<'_>,
) -> Result<(), (usize, String)> {
    for entry in node.entries() {
        if let Some(key) = keys.iter().find(|key| key.name == entry.key) {
            key.kind.check(&entry.node, key.name, more)?;
            continue;
        }
        let others = more(keys);
        if others.contains(&entry.key.replace('_', "-")) {
            continue;
        }
        let of = if name.is_empty() { "a job file" } else { name };
        let of_each = ["mode", "on_duplicate", "on-duplicate"];
        if name == "input" && of_each.contains(&entry.key.as_str()) {
            let what = format!(
                "{of} has no key {0}: set it in each [[table]], or as --{1} on the command line",
                entry.key,
                entry.key.replace('_', "-")
            );
            return Err((entry.line, what));
        }
        let names = keys.iter().map(|key| key.name);
        let names: Vec<&str> = names.chain(others.iter().map(String::as_str)).collect();
        let near = nearest(&entry.key, &names);
        return Err((entry.line, format!("{of} has no key {}{near}", entry.key)));
    }
    Ok(())
}

/// `; did you mean ..?`, or all that there are.
pub(crate) fn nearest(typed: &str, names: &[&str]) -> String {
    let distance = |name: &&&str| distance(typed, name);
    match names.iter().min_by_key(distance) {
        Some(near) if distance(&near) * 2 <= typed.len().max(2) => {
            format!("; did you mean {near}?")
        }
        _ => format!("; it has {}", names.join(", ")),
    }
}

/// Letters that are to be changed, added or taken out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, one) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (column, other) in b.iter().enumerate() {
            let changed = before + usize::from(one != *other);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        assert_eq!(nearest("nmae", &["name", "when"]), "; did you mean name?");
        assert_eq!(nearest("zzzzzz", &["name", "when"]), "; it has name, when");
        assert_eq!((distance("", "abc"), distance("abc", "abd"), distance("ab", "ba")), (3, 1, 2));
    }
}
