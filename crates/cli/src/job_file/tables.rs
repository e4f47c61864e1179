//! The part of each line that goes to each table.

use std::slice;
use std::sync::Arc;

use encode::mapped::{Condition, Entity, From, Lookup, Mapping, OnConflict, Piece, Test};
use load::several::give_statements;
use load::{Constant, LoadOptions, Mode, OnDuplicate};
use schema::TableName;
use terminal::failure::Failure;

use super::JobFile;
use super::keys;
use super::node::{Entry, Held, Node};
use crate::args::{LoadArgs, MODES, ON_DUPLICATE, word};

/// One table of a job file.
pub(crate) struct JobTable {
    /// Its name, without the database.
    pub(crate) name: String,
    pub(crate) mapping: Arc<Mapping>,
    mode: Option<Mode>,
    on_duplicate: Option<OnDuplicate>,
    /// Columns with the format of their field.
    formats: Vec<(String, String)>,
    /// Columns with one value for all rows.
    constants: Vec<Constant>,
    /// The CREATE TABLE of a missing table, and its line.
    create: Option<(String, usize)>,
}

impl JobTable {
    /// Has the options of its load say so too, where no option of the command says something else.
    pub(crate) fn apply(&self, options: &mut LoadOptions, args: &LoadArgs) {
        if let (Some(mode), None) = (self.mode, args.mode) {
            options.mode = mode;
        }
        if let (Some(rule), None) = (self.on_duplicate, args.on_duplicate) {
            options.rows.on_duplicate = rule;
        }
        // Lines have its ids by then: none of its rows may be left out, or go for another.
        if self.gives_ids() {
            options.rows.on_duplicate = OnDuplicate::Fail;
        }
        options.input.written.columns.extend(self.formats.iter().cloned());
        options.rows.constants.extend(self.constants.iter().cloned());
        options.input.columns = self.mapping.column_names();
        options.input.ignore_unknown_columns = options.input.columns.is_none();
    }

    /// True if its rows have ids that others may refer to.
    fn gives_ids(&self) -> bool {
        self.mapping.entity.as_ref().is_some_and(|entity| entity.id.is_some())
    }
}

impl JobFile {
    /// Has a missing table be created as the file says.
    ///
    /// Errors: its text is no CREATE TABLE of the table, with its line.
    pub(crate) fn give_statement(
        &self,
        table: &JobTable,
        options: &mut LoadOptions,
    ) -> Result<(), Failure> {
        let Some((create, line)) = &table.create else { return Ok(()) };
        give_statements(create, slice::from_mut(options)).map_err(|_| {
            let name = &table.name;
            self.wrong(*line, format!("create of {name} must be one CREATE TABLE {name} (..)"))
        })
    }

    /// All tables, in the order of the file.
    ///
    /// Errors: what contradicts itself, with its line.
    pub(crate) fn tables(&self) -> Result<Vec<JobTable>, Failure> {
        let fields = self.root.get("input").and_then(|input| input.get("columns")).map(Node::texts);
        let nodes = self.root.get("table").map(Node::members).unwrap_or_default();
        if nodes.is_empty() {
            return Err(self.wrong(
                1,
                "the file has no [[table]]: add one for each table that gets \
                                      rows",
            ));
        }
        let tables = nodes.iter().map(|node| self.table(node, fields.clone()));
        let tables = tables.collect::<Result<Vec<JobTable>, Failure>>()?;
        for (table, node) in tables.iter().zip(nodes) {
            self.check_ids(table, node, &tables)?;
        }
        Ok(tables)
    }

    fn table(&self, node: &Node, fields: Option<Vec<String>>) -> Result<JobTable, Failure> {
        let Some(name) = node.get("name").and_then(Node::text) else {
            return Err(self.wrong(node.line, "a [[table]] has no name"));
        };
        if name.contains('.') {
            return Err(
                self.wrong(node.line, format!("{name}: all tables are in the database of into"))
            );
        }
        let mut table = JobTable {
            name,
            mapping: Arc::default(),
            mode: node.get("mode").and_then(|mode| word(MODES, &mode.text()?)),
            on_duplicate: node
                .get("on_duplicate")
                .and_then(|rule| word(ON_DUPLICATE, &rule.text()?)),
            formats: Vec::new(),
            constants: Vec::new(),
            create: node.get("create").and_then(|create| Some((create.text()?, create.line))),
        };
        let mut mapping = Mapping { fields, when: self.when(node)?, ..Mapping::default() };
        if let Some(columns) = node.get("columns") {
            let mut said = Vec::new();
            for entry in columns.entries() {
                said.extend(self.column(entry, &mut table)?.map(|from| (entry.key.clone(), from)));
            }
            mapping.columns = Some(said);
        }
        if let Some(entity) = node.get("entity") {
            mapping.entity = Some(self.entity(entity, &mapping)?);
        }
        table.mapping = Arc::new(mapping);
        if table.gives_ids() && table.on_duplicate.is_some_and(|rule| rule != OnDuplicate::Fail) {
            let line = node.get("on_duplicate").map_or(node.line, |rule| rule.line);
            return Err(self.wrong(
                line,
                format!(
                    "on_duplicate of {}: other rows refer to its ids, so no row may be skipped or \
                     replaced; use on_conflict for lines with the same key",
                    table.name
                ),
            ));
        }
        Ok(table)
    }

    pub(super) fn conditions(&self, node: &Node) -> Result<Vec<Condition>, Failure> {
        let mut all = Vec::new();
        for Entry { key, node, .. } in node.entries() {
            let mut push = |test| all.push(Condition { field: key.clone(), test });
            match &node.held {
                Held::Table(entries) if entries.is_empty() => {
                    return Err(self.wrong(node.line, format!("{key} has no condition")));
                }
                Held::Table(entries) => {
                    for entry in entries {
                        push(self.test(entry)?);
                    }
                }
                _ => push(Test::In(node.texts())),
            }
        }
        Ok(all)
    }

    fn test(&self, Entry { key, node, line }: &Entry) -> Result<Test, Failure> {
        let text = || node.text().unwrap_or_default();
        let number = || {
            let number = text().parse();
            number.map_err(|_| {
                self.wrong(*line, format!("{key} is not a number that can be compared"))
            })
        };
        Ok(match key.as_str() {
            "is" | "in" => Test::In(node.texts()),
            "not" | "not_in" => Test::NotIn(node.texts()),
            "null" => Test::Null(node.is_on()),
            "like" => Test::Like { pattern: text(), not: false },
            "not_like" => Test::Like { pattern: text(), not: true },
            "min" => Test::Min(number()?),
            _ => Test::Max(number()?),
        })
    }

    /// The value of a column; none if it is the same for all rows.
    fn column(&self, entry: &Entry, table: &mut JobTable) -> Result<Option<From>, Failure> {
        let Entry { key: column, node, line } = entry;
        if let Some(field) = node.text() {
            return Ok(Some(From::Field(field)));
        }
        let said = |key: &str| node.get(key).and_then(Node::text);
        let wrong = |what: String| Err(self.wrong(*line, format!("column {column} {what}")));
        let sources = ["value", "sql", "concat", "id_of", "lookup", "file_name", "line"];
        let given: Vec<&str> = sources.into_iter().filter(|key| node.get(key).is_some()).collect();
        let kind = match given.as_slice() {
            [] => "from",
            [one] => one,
            [one, other, ..] => return wrong(format!("gets both {one} and {other}")),
        };
        let goes_with = |key: &str| match kind {
            "from" => matches!(key, "from" | "format"),
            "concat" => matches!(key, "concat" | "format"),
            "lookup" => matches!(key, "lookup" | "key" | "take" | "from"),
            kind => key == kind,
        };
        if let Some(other) = node.entries().iter().find(|entry| !goes_with(&entry.key)) {
            return wrong(format!("gets {kind}, which excludes {}", other.key));
        }
        let format = said("format").filter(|_| kind == "from");
        if said("format").is_some() && format.is_none() {
            return wrong("is joined, but only a single field can have a format".to_owned());
        }
        table.formats.extend(format.map(|format| (column.clone(), format)));
        let from = match kind {
            "from" => match said("from") {
                Some(field) => From::Field(field),
                None => {
                    return wrong(
                        "has no source: from, value, sql, concat, id_of or lookup".to_owned(),
                    );
                }
            },
            "value" => {
                let text = said("value").unwrap_or_default();
                table.constants.push(Constant::text(column.as_str(), text));
                return Ok(None);
            }
            "sql" => {
                let sql = said("sql").unwrap_or_default();
                table.constants.push(Constant::expression(column.as_str(), sql));
                return Ok(None);
            }
            "concat" => {
                let pieces = node.get("concat").map(Node::members).unwrap_or_default();
                From::Joined(pieces.iter().map(piece).collect())
            }
            "id_of" => From::IdOf(said("id_of").unwrap_or_default()),
            "lookup" => {
                let (Some(key), Some(take), Some(field)) =
                    (said("key"), said("take"), said("from"))
                else {
                    return wrong("has a lookup, which needs key, take and from".to_owned());
                };
                let name = said("lookup").unwrap_or_default();
                let Some((database, of)) = name.split_once('.') else {
                    return wrong(format!("is looked up in {name}; DB.TABLE is expected"));
                };
                From::Lookup(Lookup { table: TableName::new(database, of), key, field, take })
            }
            _ if !node.get(kind).is_some_and(Node::is_on) => {
                return wrong(format!("has {kind} = false; remove it"));
            }
            "file_name" => From::FileName,
            _ => From::Line,
        };
        Ok(Some(from))
    }

    fn entity(&self, node: &Node, mapping: &Mapping) -> Result<Entity, Failure> {
        let key = node.get("key").map(Node::texts).unwrap_or_default();
        if key.is_empty() {
            return Err(
                self.wrong(node.line, "an entity has no key: the columns that identify its rows")
            );
        }
        let id = node.get("id").and_then(Node::text);
        let Some(columns) = &mapping.columns else {
            return Err(self.wrong(node.line, "a table with an entity needs its columns"));
        };
        for name in &key {
            match columns.iter().find(|(column, _)| column == name) {
                Some((_, From::Field(_) | From::Joined(_))) => {}
                Some(_) => {
                    let what = format!(
                        "key column {name} gets neither a field of the line nor joined \
                                 fields"
                    );
                    return Err(self.wrong(node.line, what));
                }
                None => {
                    let what = format!("key column {name} is not among the columns");
                    return Err(self.wrong(node.line, what));
                }
            }
        }
        if let Some(id) = id.as_ref().filter(|id| columns.iter().any(|(column, _)| column == *id)) {
            return Err(
                self.wrong(node.line, format!("column {id} gets both an id and another value"))
            );
        }
        let on_conflict = choice(node, "on_conflict", &OnConflict::NAMES).unwrap_or_default();
        Ok(Entity { key, id, on_conflict })
    }

    /// Refuses ids of tables that have none.
    fn check_ids(&self, table: &JobTable, node: &Node, all: &[JobTable]) -> Result<(), Failure> {
        let line = node.get("columns").map_or(node.line, |columns| columns.line);
        for (column, from) in table.mapping.columns.iter().flatten() {
            let From::IdOf(of) = from else { continue };
            let entity = all.iter().find(|other| other.name == *of);
            let id = entity.map(|other| other.mapping.entity.as_ref().and_then(|e| e.id.as_ref()));
            let what = match id {
                Some(Some(_)) if *of != table.name => continue,
                Some(Some(_)) => "is this table itself; name another [[table]]".to_owned(),
                Some(None) => "has no [table.entity] with an id".to_owned(),
                None => {
                    let names: Vec<&str> = all.iter().map(|other| other.name.as_str()).collect();
                    format!("is not a [[table]] of the file{}", keys::nearest(of, &names))
                }
            };
            return Err(self.wrong(line, format!("column {column} of {}: {of} {what}", table.name)));
        }
        Ok(())
    }
}

fn piece(node: &Node) -> Piece {
    match node.get("value") {
        Some(value) => Piece::Text(value.text().unwrap_or_default()),
        None => Piece::Field(node.text().unwrap_or_default()),
    }
}

/// The meaning of a key's word.
fn choice<T: Copy>(node: &Node, key: &str, words: &[(&str, T)]) -> Option<T> {
    let said = node.get(key)?.text()?;
    words.iter().find(|(word, _)| *word == said).map(|(_, meant)| *meant)
}
