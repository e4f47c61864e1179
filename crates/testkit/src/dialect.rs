//! Statements of tests, written for MariaDB, in the words of the server that runs them.
//!
//! MySQL has no engine SEQUENCE, and other names for the views of InnoDB's dictionary.

use std::borrow::Cow;

use server::session::Done;
use server::version::{Flavor, Version};
use server::{Result, Row, Session};

/// A table of the numbers from one to another, as MariaDB's engine SEQUENCE names it.
const SEQUENCE: &str = "seq_";
/// The beginning of a statement that MySQL does not have.
const REPLACED_TABLE: &str = "CREATE OR REPLACE TABLE ";
/// The beginning of a statement that runs with variables of its own, and the word behind these.
const WITH_VARIABLES: (&str, &str) = ("SET STATEMENT ", " FOR ");
/// Words of MariaDB, and those of MySQL in their place; names of collations are the newest ones.
const WORDS: [(&str, &str); 15] = [
    (SEQUENCE, SEQUENCE),
    ("information_schema.INNODB_SYS_", "information_schema.INNODB_"),
    ("utf8mb4_uca1400_", "utf8mb4_0900_"),
    ("utf8mb4_nopad_bin", "utf8mb4_0900_bin"),
    ("utf8mb4_general_nopad_ci", "utf8mb4_0900_as_cs"),
    ("_nopad_bin", "_bin"),
    ("_general_nopad_ci", "_general_ci"),
    ("_swedish_nopad_ci", "_swedish_ci"),
    ("ORDER BY TIME_MS", "ORDER BY TIME"),
    // Histograms, which MySQL has for columns that are named.
    (" PERSISTENT FOR ALL", ""),
    ("STOP SLAVE", "STOP REPLICA"),
    ("START SLAVE", "START REPLICA"),
    ("CHANGE MASTER TO MASTER_", "CHANGE REPLICATION SOURCE TO SOURCE_"),
    ("slave_parallel_threads", "replica_parallel_workers"),
    ("@@gtid_slave_pos", "@@GLOBAL.gtid_executed"),
];

/// `sql` for a server of `version`: numbers of a `seq_1_to_9` come from a recursive query on MySQL,
/// at most as many as `--cte-max-recursion-depth` of its arguments.
pub fn of<'a>(version: &Version, sql: &'a str) -> Cow<'a, str> {
    if version.flavor == Flavor::MariaDb || !WORDS.iter().any(|(word, _)| sql.contains(word)) {
        return Cow::Borrowed(sql);
    }
    let sql = WORDS.iter().fold(sql.to_owned(), |sql, (word, its)| sql.replace(word, its));
    let mut rest = sql.as_str();
    let mut text = String::new();
    while let Some(at) = rest.find(SEQUENCE) {
        let (before, from) = rest.split_at(at);
        match numbers(from) {
            Some((query, length)) => {
                text.push_str(without_database(before));
                text.push_str(&query);
                rest = &from[length..];
            }
            None => {
                text.push_str(before);
                text.push_str(SEQUENCE);
                rest = &from[SEQUENCE.len()..];
            }
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The statements of a script in the server's words.
pub fn of_script<'a>(version: &Version, script: &'a str) -> Cow<'a, str> {
    let script = of(version, script);
    if version.flavor == Flavor::MariaDb || !script.contains(REPLACED_TABLE) {
        return script;
    }
    let mut parts = script.split(REPLACED_TABLE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        let name = rest.split([' ', '(']).next().unwrap_or_default();
        text.push_str(&format!("DROP TABLE IF EXISTS {name}; CREATE TABLE {rest}"));
    }
    Cow::Owned(text)
}

/// Runs a statement in the server's words. MySQL replaces a table by two statements, and has no variables of one
/// statement.
pub fn exec(session: &mut Session, sql: &str) -> Result<Done> {
    if session.version().flavor == Flavor::MySql {
        if let Some(rest) = sql.strip_prefix(REPLACED_TABLE) {
            let name = rest.split([' ', '(']).next().unwrap_or_default();
            session.exec(&format!("DROP TABLE IF EXISTS {name}"))?;
            return exec(session, &format!("CREATE TABLE {rest}"));
        }
        let parts =
            sql.strip_prefix(WITH_VARIABLES.0).and_then(|rest| rest.split_once(WITH_VARIABLES.1));
        if let Some((variables, sql)) = parts {
            session.exec(&format!("SET SESSION {variables}"))?;
            let done = exec(session, sql);
            for variable in variables.split(',') {
                let name = variable.split('=').next().unwrap_or_default();
                session.exec(&format!("SET SESSION {name}=DEFAULT"))?;
            }
            return done;
        }
    }
    let sql = of(session.version(), sql).into_owned();
    session.exec(&sql)
}

/// Rows of a query in the server's words.
pub fn query(session: &mut Session, sql: &str) -> Result<Vec<Row>> {
    let sql = of(session.version(), sql).into_owned();
    session.query(&sql)
}

/// The query for a text that begins with `seq_1_to_9`, and the bytes of that name.
fn numbers(text: &str) -> Option<(String, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = &text[SEQUENCE.len()..];
    let first = &first[..digits(first)];
    let last = text[SEQUENCE.len() + first.len()..].strip_prefix("_to_")?;
    let last = &last[..digits(last)];
    if first.is_empty() || last.is_empty() {
        return None;
    }
    let name = format!("{SEQUENCE}{first}_to_{last}");
    let query = format!(
        "(WITH RECURSIVE n (seq) AS (SELECT {first} UNION ALL SELECT seq + 1 FROM n \
         WHERE seq < {last}) SELECT seq FROM n) AS {name}"
    );
    Some((query, name.len()))
}

/// The text without the name of a database at its end: ``FROM `d`.`` is `FROM `.
fn without_database(text: &str) -> &str {
    match text.strip_suffix('.') {
        Some(qualified) => {
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '`' | '$');
            qualified.trim_end_matches(is_name)
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_from_a_query_on_mysql() {
        let mysql = Version::parse("9.7.4").unwrap();
        let mariadb = Version::parse("10.11.19-MariaDB").unwrap();
        let sql = "INSERT INTO d.seq_t SELECT seq FROM `d`.seq_2_to_30 WHERE seq > 3";
        assert_eq!(of(&mariadb, sql), sql);
        assert_eq!(
            of(&mysql, sql),
            "INSERT INTO d.seq_t SELECT seq FROM (WITH RECURSIVE n (seq) AS (SELECT 2 UNION ALL \
             SELECT seq + 1 FROM n WHERE seq < 30) SELECT seq FROM n) AS seq_2_to_30 WHERE seq > 3"
        );
    }

    #[test]
    fn scripts_replace_tables_by_two_statements_on_mysql() {
        let mysql = Version::parse("9.7.4").unwrap();
        assert_eq!(
            of_script(&mysql, "USE d; CREATE OR REPLACE TABLE t (a INT); STOP SLAVE"),
            "USE d; DROP TABLE IF EXISTS t; CREATE TABLE t (a INT); STOP REPLICA"
        );
    }
}
