//! Questions about what there is now: tables, their rows, connections.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::DATABASE;
use super::statements::{Answer, ER_NO_SUCH_TABLE, Run, names, text, within};
use super::tables::{OF_SHARD, Row, Tables, Value};

const ER_UNKNOWN_TABLE: u16 = 1109;
/// Variables that a connection asks for and sets only where they are not so.
const UNSET: [(&str, &str); 4] = [
    ("enforce_storage_engine", "NULL"),
    ("system_versioning_asof", "DEFAULT"),
    ("collation_connection", "utf8mb4_general_ci"),
    ("time_zone", "SYSTEM"),
];
/// State of a connection that waits for a table, in the process list.
const WAITING: &str = "Waiting for table metadata lock";

impl Run<'_> {
    pub(super) fn look(&self, sql: &str) -> Option<Answer> {
        if let Some(answer) = self.exported(sql) {
            return Some(answer);
        }
        if let Some(row) = self.variables(sql) {
            return Some(rows(vec![row]));
        }
        if sql == "SHOW WARNINGS" {
            let count = self.shared.held().session(self.id).skipped;
            let warning = ["Warning", "1062", "Duplicate entry for key 'PRIMARY'"].map(text);
            return Some(rows((0..count).map(|_| warning.to_vec()).collect()));
        }
        if sql.starts_with("SHOW CREATE TABLE ") {
            let name = names(sql).into_iter().next()?;
            let tables = self.shared.held();
            let Some(table) = tables.tables.get(&name) else {
                return Some(missing(&name));
            };
            let definition = table.definition(&name, self.shared.engine);
            return Some(rows(vec![vec![text(&name), text(definition)]]));
        }
        if sql.starts_with("CHECKSUM TABLE ") {
            return self.checksum(&names(sql).into_iter().next()?);
        }
        // A connection that waits for one table has the others of its statement.
        if sql.contains(" FROM performance_schema.metadata_locks") {
            return Some(rows(vec![vec![text(1)]]));
        }
        if sql.contains(" FROM information_schema.") {
            return self.of_several(sql).or_else(|| self.schema(sql));
        }
        if sql.starts_with("SELECT ") && sql.contains(" FROM `") {
            return self.rows_of(sql);
        }
        None
    }

    /// Variables as the connection has set them, perhaps behind a number, and its database.
    fn variables(&self, sql: &str) -> Option<Vec<Value>> {
        let mut tables = self.shared.held();
        let set = &tables.session(self.id).variables;
        let value = |column: &str| -> Option<Value> {
            let Some(name) = column.strip_prefix("@@SESSION.") else {
                let column = if column == "DATABASE()" { DATABASE } else { column };
                return (column == DATABASE || is_number(column)).then(|| text(column));
            };
            let unset = UNSET.iter().find(|(unset, _)| *unset == name).map(|(_, value)| *value);
            let value = set.get(name).map(String::as_str).or(unset)?;
            Some((value != "NULL").then(|| value.as_bytes().to_vec()))
        };
        sql.strip_prefix("SELECT ")?.split(", ").map(value).collect()
    }

    /// A question about several tables: each is asked about alone, and its name goes behind its rows.
    fn of_several(&self, sql: &str) -> Option<Answer> {
        let (before, rest) = sql.split_once(" IN ('")?;
        let (list, behind) = rest.split_once("')")?;
        let (before, column) = before.rsplit_once(' ')?;
        let (what, from) = before.split_once(&format!(", {column} FROM "))?;
        let (mut columns, mut all) = (0, Vec::new());
        for name in list.split("', '") {
            // Of MariaDB behind the name of the database once more.
            let exact = format!(" AND BINARY {column}='{name}'");
            let behind = match behind.split_once("='model'") {
                Some((own, rest)) => format!("{own}='model'{exact}{rest}"),
                None => format!("{exact}{behind}"),
            };
            let one = format!("{what} FROM {from} {column}='{name}'{behind}");
            let Answer::Rows(count, rows) = self.schema(&one).or_else(|| self.learned(&one))?
            else {
                return None;
            };
            columns = count + 1;
            all.extend(rows.into_iter().map(|mut row| {
                row.push(text(name));
                row
            }));
        }
        Some(Answer::Rows(columns, all))
    }

    /// Tables, triggers, connections.
    fn schema(&self, sql: &str) -> Option<Answer> {
        let has_dictionary = self.shared.engine.has_dictionary();
        if !has_dictionary && sql.contains("information_schema.INNODB_") {
            let message = "Table 'information_schema.INNODB_FOREIGN' doesn't exist".to_owned();
            return Some(Answer::Refused(ER_NO_SUCH_TABLE, message));
        }
        let mut tables = self.shared.held();
        if sql.contains("information_schema.PROCESSLIST WHERE ID=") {
            return process(&tables, sql);
        }
        if sql.contains("METADATA_LOCK_INFO") {
            let message = "Unknown table 'METADATA_LOCK_INFO' in information_schema".to_owned();
            return Some(Answer::Refused(ER_UNKNOWN_TABLE, message));
        }
        if sql.contains("information_schema.PROCESSLIST p") {
            return Some(rows(Vec::new()));
        }
        if sql.starts_with("SELECT COUNT(*) FROM information_schema.INNODB_TRX") {
            return Some(rows(vec![vec![text(0)]]));
        }
        if let Some(name) = within(sql, "EVENT_OBJECT_TABLE='", "'") {
            let trigger = tables.tables.get(name).and_then(|table| table.trigger.clone());
            return Some(rows(trigger.into_iter().map(|name| vec![text(name)]).collect()));
        }
        // A table's own foreign keys, as any account may ask for them, by its lines.
        let own =
            within(sql, "SELECT CONSTRAINT_NAME, CONSTRAINT_SCHEMA='model' AND TABLE_NAME='", "'");
        let own = own.and_then(|name| tables.tables.get(name)?.parent());
        if let Some(parent) = own {
            return Some(rows(vec![["f", "1", "0", DATABASE, &parent].map(text).to_vec()]));
        }
        // Databases of a load's own, and foreign keys to what a load has left: there are none.
        if sql.contains("information_schema.SCHEMATA WHERE SCHEMA_NAME IN (")
            || sql.contains("INNODB_SYS_FOREIGN WHERE REF_NAME")
            || sql.contains("INNODB_SYS_TABLES WHERE LEFT(NAME, ")
            || sql.contains("INNODB_TABLES WHERE LEFT(NAME, ")
            || sql.contains("INNODB_SYS_FOREIGN WHERE FOR_NAME='model/_inrush_")
            || (sql.contains("INNODB_FOREIGN WHERE REF_NAME") && has_dictionary)
            || sql.starts_with("SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS")
            // The same by another view, of who may not see that of InnoDB.
            || sql.starts_with("SELECT CONSTRAINT_NAME, CONSTRAINT_SCHEMA='model' AND TABLE_NAME='_inrush_")
        {
            return Some(rows(Vec::new()));
        }
        if !sql.contains(" FROM information_schema.TABLES ") {
            return None;
        }
        // No table was made behind its ledger.
        if sql.starts_with("SELECT MAX(IF(TABLE_NAME=") {
            return Some(rows(vec![vec![text(0)]]));
        }
        if let Some(pattern) = within(sql, "TABLE_NAME LIKE '", "'") {
            let pattern = pattern.replace("\\\\", "\\");
            // A table that each shard has is shown once.
            let names = tables.tables.keys().filter(|name| !name.contains("@1"));
            let names = names.map(|name| name.split(OF_SHARD).next().unwrap_or_default());
            let found = names.filter(|name| is_like(name.as_bytes(), pattern.as_bytes()));
            let row = |name| vec![text(name), text("BASE TABLE"), text("InnoDB")];
            return Some(rows(found.map(row).collect()));
        }
        let wanted = within(sql, " AND TABLE_NAME='", "'").map(str::to_owned);
        if sql.contains(" AND ENGINE IS NOT NULL") {
            // A statement that locks tables exclusively has all of the load's own before it waits.
            let name = format!("`{}`", wanted.as_deref().unwrap_or_default());
            let mut sessions = tables.sessions.values();
            let is_locked = sessions.any(|session| {
                session.statement.starts_with("RENAME TABLE") && session.statement.contains(&name)
            });
            let is_shown =
                !is_locked && wanted.is_some_and(|name| tables.tables.contains_key(&name));
            return Some(rows(is_shown.then(|| vec![text(1)]).into_iter().collect()));
        }
        if wanted.is_none() && !sql.ends_with(" WHERE TABLE_SCHEMA='model'") {
            return None;
        }
        let all = std::mem::take(&mut tables.tables);
        let found = all.keys().filter(|name| wanted.as_ref().is_none_or(|wanted| wanted == *name));
        let row = |name: &String| -> Vec<Value> {
            let rest = ["BASE TABLE", "InnoDB", self.shared.engine.row_format(), "", "", "0"];
            let mut row = vec![text(self.shared.engine.schema_name()), text(name)];
            match wanted {
                _ if sql.starts_with("SELECT TABLE_NAME FROM") => _ = row.remove(0),
                Some(_) if sql.starts_with("SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM") => {
                    row.push(text("BASE TABLE"));
                }
                Some(_) => {
                    row.extend(rest.map(text));
                    // Nothing is counted.
                    row[5] = None;
                }
                None => row.push(text(0)),
            }
            row
        };
        let found = found.map(row).collect();
        tables.tables = all;
        Some(rows(found))
    }

    /// A number that is the same for the same rows, in whatever order; NULL without a table.
    fn checksum(&self, name: &str) -> Option<Answer> {
        if let Err(refused) = self.touch(name) {
            let is_gone = matches!(refused, Answer::Refused(ER_NO_SUCH_TABLE, _));
            return Some(if is_gone { rows(vec![vec![text(name), None]]) } else { refused });
        }
        let tables = self.shared.held();
        let seen = tables.tables.get(name)?.seen_by(self.id).map(|row| {
            let mut hasher = DefaultHasher::new();
            row.values.hash(&mut hasher);
            hasher.finish() >> 32
        });
        Some(rows(vec![vec![text(format!("model.{name}")), text(seen.sum::<u64>())]]))
    }

    /// Rows of a table.
    fn rows_of(&self, sql: &str) -> Option<Answer> {
        let names = names(sql);
        if let Some(refused) = names.iter().find_map(|name| self.touch(name).err()) {
            return Some(refused);
        }
        // Tables that are held.
        if sql.starts_with("SELECT 1 FROM ") && sql.ends_with(" LIMIT 0") {
            return Some(rows(Vec::new()));
        }
        let name = names.into_iter().next()?;
        let locks = sql.ends_with(" LOCK IN SHARE MODE");
        let wait = |session: &super::tables::SessionState| session.row_wait;
        let seen = self.shared.when(self.id, wait, |tables| {
            let Some(table) = tables.tables.get(&name) else { return Some(Vec::new()) };
            let waits = locks && table.is_undecided(self.id);
            (!waits).then(|| table.seen_by(self.id).cloned().collect())
        });
        Some(match seen {
            Ok(seen) => answer(sql, &seen)?,
            Err(refused) => refused,
        })
    }
}

/// The answer to a question about rows: if there are any, or the contents of a ledger.
fn answer(sql: &str, seen: &[Row]) -> Option<Answer> {
    let (wanted, _) = sql.strip_prefix("SELECT ")?.split_once(" FROM `")?;
    if wanted == "1" {
        return Some(rows(seen.iter().take(1).map(|_| vec![text(1)]).collect()));
    }
    let number = |row: &Row, column: usize| -> i64 {
        let bytes = row.values[column].clone().unwrap_or_default();
        String::from_utf8_lossy(&bytes).parse().unwrap_or_default()
    };
    let job = within(sql, "job='", "'").map(|job| job.as_bytes().to_vec());
    let other = within(sql, "job<>'", "'").map(|job| job.as_bytes().to_vec());
    let ordinal = within(&format!("{sql} "), "ordinal=", " ").and_then(|text| text.parse().ok());
    let is_chunk = sql.contains("ordinal>=0");
    let mut found: Vec<&Row> = seen
        .iter()
        .filter(|row| job.is_none() || row.values[0] == job)
        .filter(|row| other.is_none() || row.values[0] != other)
        .filter(|row| ordinal.is_none_or(|wanted: i64| number(row, 1) == wanted))
        .filter(|row| !is_chunk || number(row, 1) >= 0)
        .collect();
    found.sort_by_key(|row| (row.values[0].clone(), number(row, 1)));
    let pick = |columns: &[usize]| -> Answer {
        let one = |row: &&Row| columns.iter().map(|&at| row.values[at].clone()).collect();
        rows(found.iter().map(one).collect())
    };
    Some(match wanted {
        "COUNT(*)" => rows(vec![vec![text(found.len())]]),
        "COUNT(*), COALESCE(SUM(row_count), 0)" => {
            let sum: i64 = found.iter().map(|row| number(row, 6)).sum();
            rows(vec![vec![text(found.len()), text(sum)]])
        }
        "job, note" => pick(&[0, 9]),
        _ if wanted.starts_with("ordinal, file, ") => pick(&[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        _ => return None,
    })
}

/// A connection in the process list.
fn process(tables: &Tables, sql: &str) -> Option<Answer> {
    let id = within(&format!("{sql} "), "WHERE ID=", " ")?.parse().ok()?;
    let Some(session) = tables.sessions.get(&id) else { return Some(rows(Vec::new())) };
    let waits = !session.wants.is_empty();
    let is_listed = match sql {
        _ if sql.contains("INFO LIKE 'RENAME TABLE%'") => {
            session.statement.starts_with("RENAME TABLE")
        }
        _ if sql.contains("STATE LIKE 'Waiting") => waits,
        _ if sql.starts_with("SELECT STATE ") => {
            return Some(rows(vec![vec![text(if waits { WAITING } else { "" })]]));
        }
        _ if sql.starts_with("SELECT CONCAT(USER") => {
            return Some(rows(vec![vec![text("root@localhost")]]));
        }
        _ => return None,
    };
    Some(rows(is_listed.then(|| vec![text(1)]).into_iter().collect()))
}

/// LIKE: `%` is any text, `_` one byte, a backslash takes both as they are.
fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    match (pattern, text) {
        ([], _) => text.is_empty(),
        ([b'%', rest @ ..], _) => (0..=text.len()).any(|at| is_like(&text[at..], rest)),
        ([b'_', rest @ ..], [_, text @ ..]) => is_like(text, rest),
        ([b'\\', plain, rest @ ..] | [plain, rest @ ..], [first, text @ ..]) => {
            plain == first && is_like(text, rest)
        }
        _ => false,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn missing(name: &str) -> Answer {
    Answer::Refused(1146, format!("Table 'model.{name}' doesn't exist"))
}

/// Rows of as many columns as the first has.
fn rows(rows: Vec<Vec<Value>>) -> Answer {
    let columns = rows.first().map_or(1, Vec::len);
    Answer::Rows(columns, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_like() {
        for (text, pattern, expected) in [
            ("_inrush_old_1_t", r"\_inrush\_%\_1\_%", true),
            ("_inrush_old_2_t", r"\_inrush\_%\_1\_%", false),
            ("xinrush_old_1_t", r"\_inrush\_%\_1\_%", false),
            ("ab", "a_", true),
            ("a", "a_", false),
        ] {
            assert_eq!(is_like(text.as_bytes(), pattern.as_bytes()), expected, "{text} {pattern}");
        }
    }
}
