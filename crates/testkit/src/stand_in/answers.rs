//! Answers that do not depend on what happens: of what server this is, and what its table is like.
//!
//! They are a real server's, learned once and kept in `answers.txt`:
//!
//! ```text
//! ? the question
//! = there are rows, of so many columns
//! - a row, separated by TAB, with \N for NULL, \n and \t     a line each
//! ! number and words of a refusal, instead of both
//! ```

use std::collections::BTreeMap;

/// As it is kept.
const TEXT: &str = include_str!("answers.txt");
/// The same of MySQL 9.7, one member of a group; those to other questions are the same.
const TEXT_MYSQL: &str = include_str!("answers_mysql.txt");

/// A value; None is NULL.
pub type Value = Option<Vec<u8>>;

/// A server's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Learned {
    /// How many columns there are, and rows.
    Rows(usize, Vec<Vec<Value>>),
    /// A refusal.
    Refused(u16, String),
}

/// The questions, in their order.
pub fn questions() -> Vec<&'static str> {
    TEXT.lines().filter_map(|line| line.strip_prefix("? ")).collect()
}

/// All answers, by their questions.
pub fn learned() -> BTreeMap<String, Learned> {
    read_all(TEXT)
}

/// Those of MySQL.
pub fn learned_of_mysql() -> BTreeMap<String, Learned> {
    read_all(TEXT_MYSQL)
}

fn read_all(text: &str) -> BTreeMap<String, Learned> {
    let mut answers = BTreeMap::new();
    let mut question = String::new();
    for line in text.lines() {
        let (Some(mark), text) = (line.chars().next(), line.get(2..).unwrap_or_default()) else {
            continue;
        };
        match mark {
            '?' => question = text.to_owned(),
            '=' => {
                let columns = text.parse().unwrap();
                answers.insert(question.clone(), Learned::Rows(columns, Vec::new()));
            }
            '-' => {
                if let Some(Learned::Rows(_, rows)) = answers.get_mut(&question) {
                    rows.push(text.split('\t').map(read).collect());
                }
            }
            '!' => {
                let (errno, message) = text.split_once(' ').unwrap();
                let refused = Learned::Refused(errno.parse().unwrap(), message.to_owned());
                answers.insert(question.clone(), refused);
            }
            _ => {}
        }
    }
    answers
}

/// As `answers.txt` has an answer.
pub fn written(question: &str, answer: &Learned) -> String {
    match answer {
        Learned::Refused(errno, message) => format!("? {question}\n! {errno} {message}\n"),
        Learned::Rows(columns, rows) => {
            let mut text = format!("? {question}\n= {columns}\n");
            for row in rows {
                let values: Vec<String> = row.iter().map(write).collect();
                text += &format!("- {}\n", values.join("\t"));
            }
            text
        }
    }
}

fn read(text: &str) -> Value {
    (text != "\\N").then(|| text.replace("\\n", "\n").replace("\\t", "\t").into_bytes())
}

fn write(value: &Value) -> String {
    match value {
        None => "\\N".to_owned(),
        Some(bytes) => String::from_utf8_lossy(bytes).replace('\n', "\\n").replace('\t', "\\t"),
    }
}
