//! The text of a job file as a tree whose parts know their lines.

use std::ops::Range;
use std::path::Path;

use terminal::failure::Failure;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Line that it begins on, from 1.
    pub(crate) line: usize,
    pub(crate) held: Held,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Text(String),
    /// As it is written.
    Number(String),
    Switch(bool),
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Line of the key, from 1.
    pub(crate) line: usize,
    pub(crate) node: Node,
}

impl Node {
    /// Reads a job file.
    ///
    /// Errors: it is no TOML, with the line.
    pub(crate) fn parse(text: &str, file: &Path) -> Result<Node, Failure> {
        let lines = Lines::of(text);
        match DeTable::parse(text) {
            Ok(root) => Ok(Node { line: 1, held: lines.table(root.get_ref()) }),
            Err(error) => {
                let line = error.span().map_or(1, |span| lines.line(&span));
                let words: Vec<&str> = error.message().split_whitespace().collect();
                let (file, words) = (file.display(), words.join(" "));
                Err(Failure::usage(format!("{file} line {line}: {words}")))
            }
        }
    }

    /// The value of a key, if this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The entries of a table; none of anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.held {
            Held::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The members of a list; anything else is one by itself.
    pub(crate) fn members(&self) -> &[Node] {
        match &self.held {
            Held::List(nodes) => nodes,
            _ => std::slice::from_ref(self),
        }
    }

    /// As it would be typed: true is 1.
    pub(crate) fn text(&self) -> Option<String> {
        match &self.held {
            Held::Text(text) => Some(text.clone()),
            Held::Number(number) => Some(number.replace('_', "")),
            Held::Switch(is_on) => Some(if *is_on { "1" } else { "0" }.to_owned()),
            Held::List(_) | Held::Table(_) => None,
        }
    }

    /// The texts of a list, or the one text.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.members().iter().filter_map(Node::text).collect()
    }

    /// True if it is a switch that is on.
    pub(crate) fn is_on(&self) -> bool {
        self.held == Held::Switch(true)
    }

    /// Its kind, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.held {
            Held::Text(_) => "a text",
            Held::Number(_) => "a number",
            Held::Switch(_) => "true or false",
            Held::List(_) => "a list",
            Held::Table(_) => "a table",
        }
    }
}

/// Where the lines of a text end, so that each place is told without counting them again.
struct Lines {
    ends: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Lines {
        Lines { ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        1 + self.ends.partition_point(|&end| end < span.start)
    }

    fn table(&self, table: &DeTable<'_>) -> Held {
        let mut entries: Vec<(usize, Entry)> = Vec::new();
        for (key, value) in table {
            let line = self.line(&key.span());
            let entry = Entry { key: key.get_ref().to_string(), line, node: self.node(value) };
            entries.push((key.span().start, entry));
        }
        entries.sort_by_key(|(at, _)| *at);
        Held::Table(entries.into_iter().map(|(_, entry)| entry).collect())
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let held = match value.get_ref() {
            DeValue::String(text) => Held::Text(text.to_string()),
            DeValue::Integer(number) => Held::Number(number.to_string()),
            DeValue::Float(number) => Held::Number(number.to_string()),
            DeValue::Boolean(is_on) => Held::Switch(*is_on),
            DeValue::Datetime(moment) => Held::Text(moment.to_string()),
            DeValue::Array(nodes) => Held::List(nodes.iter().map(|node| self.node(node)).collect()),
            DeValue::Table(table) => self.table(table),
        };
        Node { line: self.line(&value.span()), held }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_and_the_order_of_keys_are_kept() {
        let text = "into = \"shop\"\n\n[[table]]\nzebra = 1_000\nant = [true, \"x\"]\n[[table]]\nb = {c = 1.5}\n";
        let root = Node::parse(text, Path::new("job.toml")).unwrap();
        let tables = root.get("table").unwrap().members();
        assert_eq!(tables.len(), 2);
        let keys: Vec<(&str, usize)> =
            tables[0].entries().iter().map(|entry| (entry.key.as_str(), entry.line)).collect();
        assert_eq!(keys, [("zebra", 4), ("ant", 5)]);
        assert_eq!(tables[0].get("zebra").unwrap().text().unwrap(), "1000");
        assert_eq!(tables[0].get("ant").unwrap().texts(), ["1", "x"]);
        assert_eq!(tables[1].get("b").unwrap().get("c").unwrap().text().unwrap(), "1.5");
        let error = Node::parse("a = 1\nb = \n", Path::new("job.toml")).unwrap_err();
        assert!(error.text.starts_with("job.toml line 2: "), "{}", error.text);
    }
}
