//! CREATE, ALTER, RENAME and DROP of tables.

use super::statements::{Answer, ER_UNKNOWN, Run, names};
use super::tables::{SessionState, Table, Tables};

const ER_TABLE_EXISTS: u16 = 1050;
const ER_BAD_TABLE: u16 = 1051;

/// Columns of the key of a table by one of its lines.
const KEYS: [(&str, usize); 3] =
    [("PRIMARY KEY (job, ordinal)", 2), ("PRIMARY KEY (`a`)", 1), ("NOT NULL PRIMARY KEY", 1)];

impl Run<'_> {
    /// CREATE, ALTER, RENAME, DROP.
    pub(super) fn definition(&self, sql: &str) -> Option<Answer> {
        let words: Vec<&str> = sql.splitn(3, ' ').collect();
        let (&[verb, "TABLE", _], names) = (words.as_slice(), names(sql)) else { return None };
        let first = names.first()?.clone();
        Some(match verb {
            "CREATE" => self.alone(&names, |tables| create(tables, sql, &names)),
            "DROP" => self.alone(&names, |tables| {
                let missing = names.iter().find(|name| !tables.tables.contains_key(*name));
                if let Some(missing) = missing.filter(|_| !sql.contains("IF EXISTS")) {
                    return Answer::Refused(
                        ER_BAD_TABLE,
                        format!("Unknown table 'model.{missing}'"),
                    );
                }
                names.iter().for_each(|name| _ = tables.tables.remove(name));
                Answer::done()
            }),
            "RENAME" => self.alone(&names, |tables| rename(tables, &names)),
            "ALTER" => self.alone(&names, |tables| match tables.tables.get_mut(&first) {
                Some(table) => alter(table, sql),
                None => Answer::no_table(&first),
            }),
            _ => return None,
        })
    }

    /// Changes tables that no other connection may use meanwhile. Earlier work of the connection is
    /// committed.
    pub(super) fn alone(&self, names: &[String], work: impl Fn(&mut Tables) -> Answer) -> Answer {
        let id = self.id;
        {
            let mut tables = self.shared.held();
            tables.commit(id);
            tables.session(id).locked.clear();
        }
        let table_wait = |session: &SessionState| session.table_wait;
        let done = self.shared.when(id, table_wait, |tables| {
            let is_free = tables.are_free(id, names);
            let wants = if is_free { Vec::new() } else { names.to_vec() };
            tables.session(id).wants = wants.into_iter().collect();
            is_free.then(|| work(tables))
        });
        if let Some(session) = self.shared.held().sessions.get_mut(&id) {
            session.wants.clear();
        }
        done.unwrap_or_else(|refused| refused)
    }
}

fn create(tables: &mut Tables, sql: &str, names: &[String]) -> Answer {
    if tables.tables.contains_key(&names[0]) {
        let exists = || Answer::Refused(ER_TABLE_EXISTS, format!("Table '{}' exists", names[0]));
        return if sql.contains("IF NOT EXISTS") { Answer::done() } else { exists() };
    }
    let made = match names.get(1) {
        Some(like) => match tables.tables.get(like) {
            Some(table) => Table { rows: Vec::new(), trigger: None, ..table.clone() },
            None => return Answer::no_table(like),
        },
        None => {
            let key = KEYS.iter().find(|(words, _)| sql.contains(words));
            let shape = sql.split_once("` (").map_or("", |(_, shape)| shape);
            Table::of(shape, key.map_or(0, |(_, columns)| *columns))
        }
    };
    tables.tables.insert(names[0].clone(), made);
    Answer::done()
}

fn rename(tables: &mut Tables, names: &[String]) -> Answer {
    let mut renamed = tables.tables.clone();
    for pair in names.chunks(2) {
        let Some(table) = renamed.remove(&pair[0]) else { return Answer::no_table(&pair[0]) };
        if renamed.contains_key(&pair[1]) {
            return Answer::Refused(ER_TABLE_EXISTS, format!("Table '{}' exists", pair[1]));
        }
        renamed.insert(pair[1].clone(), table);
    }
    tables.tables = renamed;
    Answer::done()
}

/// Keys that come and go.
fn alter(table: &mut Table, sql: &str) -> Answer {
    let clauses = sql.split_once("` ").map_or("", |(_, clauses)| clauses);
    for clause in clauses.split(", ") {
        if let Some(key) = clause.strip_prefix("ADD KEY ") {
            table.lines.push(format!("KEY {key}"));
        } else if let Some(key) = clause.strip_prefix("DROP KEY ") {
            table.lines.retain(|line| !line.starts_with(&format!("KEY {key} ")));
        } else {
            return Answer::Refused(ER_UNKNOWN, format!("a stand-in cannot {clause}"));
        }
    }
    Answer::done()
}
