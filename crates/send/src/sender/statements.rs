//! The statements that load rows into a table: all but the rows.

use encode::text::{SEPARATOR, TERMINATOR};
use job::options::OnDuplicate;
use schema::TableName;
use server::engine::Kind;
use server::identifier::quote_name;
use server::version::{Flavor, Version};

/// MySQL that takes `VALUES .. AS new` and warns of `VALUES(column)`.
const MYSQL_ROW_ALIAS: (u16, u16, u16) = (8, 0, 20);
const ROW_ALIAS: &str = "inrush_new";

/// Where rows go, and how they are named there.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The table that gets the rows: the target, or its staging table.
    pub(crate) table: TableName,
    /// The table as the user knows it, for messages.
    pub(crate) target: TableName,
    /// Character set of [`crate::sent_chunk::Form::Lines`].
    pub(crate) charset: String,
    /// Their escape character: not always a backslash.
    pub(crate) escape: u8,
    /// The end of LOAD DATA: `(a, @v1) SET b=..`.
    pub(crate) load_columns: String,
    /// Columns of a tuple, in order.
    pub(crate) insert_columns: Vec<String>,
    /// Columns that a row changes in one that is there.
    pub(crate) update_columns: Vec<String>,
    /// The treatment of duplicates.
    pub(crate) rule: OnDuplicate,
}

/// The texts around the rows.
#[derive(Clone, Debug)]
pub(crate) struct Statements {
    pub(crate) place: Place,
    /// LOAD DATA LOCAL. IGNORE is implied, unless it is REPLACE.
    pub(crate) load: String,
    /// INSERT up to its first tuple.
    pub(crate) insert: String,
    /// The same, but a duplicate is an error where the rule is to skip it.
    pub(crate) insert_strict: String,
    /// The text after the last tuple.
    pub(crate) tail: String,
    /// Stand for the statements in messages.
    pub(crate) load_label: String,
    pub(crate) insert_label: String,
}

impl Statements {
    /// The statements for `place`, as a server of this version wants them.
    pub(crate) fn new(place: Place, version: &Version) -> Statements {
        let (table, target) = (place.table.quoted(), place.target.quoted());
        let columns = list(&place.insert_columns, |name| name);
        let hint = Kind::of_version(version).insert_hint();
        let begin = |verb: &str| format!("{hint}{verb} INTO {table} ({columns}) VALUES ");
        let (verb, load_word) = match place.rule {
            OnDuplicate::Fail | OnDuplicate::Update => ("INSERT", ""),
            OnDuplicate::Skip => ("INSERT IGNORE", "IGNORE "),
            OnDuplicate::Replace => ("REPLACE", "REPLACE "),
        };
        let tail = match place.rule {
            OnDuplicate::Update => update(&place.update_columns, version),
            _ => String::new(),
        };
        Statements {
            load: format!(
                "LOAD DATA LOCAL INFILE 'rows' {load_word}INTO TABLE {table} CHARACTER SET {} \
                 FIELDS TERMINATED BY x'{SEPARATOR:02x}' ESCAPED BY x'{:02x}' LINES TERMINATED \
                 BY x'{TERMINATOR:02x}' {}",
                place.charset, place.escape, place.load_columns
            ),
            insert: begin(verb),
            insert_strict: begin(if place.rule == OnDuplicate::Skip { "INSERT" } else { verb }),
            tail,
            load_label: format!("LOAD DATA LOCAL INTO TABLE {target}"),
            insert_label: format!("{verb} INTO {target} VALUES .."),
            place,
        }
    }

    /// INSERT with a `?` for each value of one row.
    pub(crate) fn prepared(&self, is_strict: bool) -> String {
        let insert = if is_strict { &self.insert_strict } else { &self.insert };
        let marks = vec!["?"; self.place.insert_columns.len()].join(",");
        format!("{insert}({marks}){}", self.tail)
    }

    /// A message of the server's without what is ours: the staging table's name, the row's place in a
    /// statement that nobody has seen.
    pub(crate) fn clean(&self, message: &str) -> String {
        let Place { table, target, .. } = &self.place;
        let text = match message.rfind(" at row ") {
            Some(at) if message[at + 8..].bytes().all(|b| b.is_ascii_digit()) => &message[..at],
            _ => message,
        };
        if table == target {
            return text.to_owned();
        }
        text.replace(&table.table, &target.table)
    }
}

/// `ON DUPLICATE KEY UPDATE` of these columns to the values of a tuple. Without one a duplicate stays an error.
fn update(columns: &[String], version: &Version) -> String {
    if columns.is_empty() {
        return String::new();
    }
    if version.flavor == Flavor::MySql && version.number >= MYSQL_ROW_ALIAS {
        let sets = list(columns, |name| format!("{name}={ROW_ALIAS}.{name}"));
        return format!(" AS {ROW_ALIAS} ON DUPLICATE KEY UPDATE {sets}");
    }
    let sets = list(columns, |name| format!("{name}=VALUES({name})"));
    format!(" ON DUPLICATE KEY UPDATE {sets}")
}

/// Quoted names, each worded, with commas.
fn list(columns: &[String], word: impl Fn(String) -> String) -> String {
    columns.iter().map(|name| word(quote_name(name))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn statements(rule: OnDuplicate, version: &str) -> Statements {
        let place = Place {
            table: TableName::new("d", "_inrush_new_1_t"),
            target: TableName::new("d", "t"),
            charset: "latin1".to_owned(),
            escape: b'\\',
            load_columns: "(`a`, `b`)".to_owned(),
            insert_columns: vec!["id".to_owned(), "a".to_owned(), "b`".to_owned()],
            update_columns: vec!["a".to_owned(), "b`".to_owned()],
            rule,
        };
        Statements::new(place, &Version::parse(version).unwrap())
    }

    #[test]
    fn each_rule_has_its_words() {
        let of = |rule| statements(rule, "10.11.2-MariaDB");
        assert_eq!(
            of(OnDuplicate::Fail).insert,
            "INSERT INTO `d`.`_inrush_new_1_t` (`id`, `a`, `b```) VALUES "
        );
        assert!(of(OnDuplicate::Skip).insert.starts_with("INSERT IGNORE INTO "));
        assert!(of(OnDuplicate::Skip).insert_strict.starts_with("INSERT INTO "));
        assert!(of(OnDuplicate::Replace).insert_strict.starts_with("REPLACE INTO "));
        assert!(of(OnDuplicate::Replace).load.contains("'rows' REPLACE INTO TABLE"));
        let tail = of(OnDuplicate::Update).tail;
        assert_eq!(tail, " ON DUPLICATE KEY UPDATE `a`=VALUES(`a`), `b```=VALUES(`b```)");
        let tail = statements(OnDuplicate::Update, "9.7.4").tail;
        assert!(tail.starts_with(" AS inrush_new ON DUPLICATE KEY UPDATE `a`=inrush_new.`a`,"));
    }

    #[test]
    fn polardb_x_is_told_not_to_split() {
        let insert = statements(OnDuplicate::Fail, "5.7.25-TDDL-5.4.19-20240527").insert;
        assert!(insert.starts_with("/*+TDDL:CMD_EXTRA(BATCH_INSERT_POLICY=NONE)*/ INSERT INTO"));
        assert!(
            statements(OnDuplicate::Fail, "8.0.32-X-Cluster-8.4.19").insert.starts_with("INSERT")
        );
    }

    #[test]
    fn messages_name_the_target_and_no_row_of_a_statement() {
        let of = statements(OnDuplicate::Fail, "10.11.2-MariaDB");
        let message = "Out of range value for column `d`.`_inrush_new_1_t`.`a` at row 17";
        assert_eq!(of.clean(message), "Out of range value for column `d`.`t`.`a`");
        assert_eq!(of.clean("value 'x at row y'"), "value 'x at row y'");
    }
}
