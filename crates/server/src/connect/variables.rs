//! The values that the variables of our sessions have, whatever the server's own are.
//!
//! Each variable that can change a result, a wait or a text has a value here. It is written out, since
//! `DEFAULT` would be the server's global value, and it is read back. Variables that stay the server's:
//!
//! | variables | why |
//! | --- | --- |
//! | `time_zone`, but by an option | rows mean what they mean to the server's own clients |
//! | `auto_increment_increment`, `.._offset` | servers that replicate to each other must not give one number twice |
//! | `character_set_server`, `collation_server` and their like | new databases and tables follow the server |
//! | `binlog_..`, `wsrep_..`, `gtid_..`, `server_id` | replication is the administrator's |
//! | buffers, plans, logs, statistics | they change no result |
//!
//! The tests have a word on each of those, and fail at a variable that nobody has judged.

use std::collections::BTreeMap;

use crate::engine::Kind;
use crate::identifier::quote_text;
use crate::options::ConnectOptions;
use crate::version::{Flavor, Version};

/// `sql_mode` of our sessions on MariaDB, its default: a load follows its conversions.
const SQL_MODE: &str =
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION";
/// The same on MySQL, which has no NO_AUTO_CREATE_USER since 8.0.
const SQL_MODE_MYSQL: &str =
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// A variable and its value, as SELECT gives it: `1` for ON, `NULL` for NULL.
type Pair = (&'static str, &'static str);

/// NULL among the values of variables.
pub const NULL: &str = "NULL";

/// Variables of every server. A load of an empty table without `unique_checks` and
/// `foreign_key_checks` would take rows that break the table's constraints. A session may idle for
/// days, while a table is built.
const EVERYWHERE: [Pair; 27] = [
    ("autocommit", "1"),
    ("completion_type", "NO_CHAIN"),
    ("default_storage_engine", "InnoDB"),
    ("default_week_format", "0"),
    ("div_precision_increment", "4"),
    ("explicit_defaults_for_timestamp", "1"),
    ("foreign_key_checks", "1"),
    ("innodb_lock_wait_timeout", "50"),
    ("innodb_table_locks", "1"),
    ("interactive_timeout", "31536000"),
    ("lc_messages", "en_US"),
    ("lc_time_names", "en_US"),
    // The server's own can be a day, or none at all.
    ("lock_wait_timeout", "60"),
    ("max_join_size", "18446744073709551615"),
    ("max_sort_length", "1024"),
    ("net_read_timeout", "3600"),
    ("net_write_timeout", "3600"),
    ("sql_auto_is_null", "0"),
    ("sql_big_selects", "1"),
    ("sql_buffer_result", "0"),
    ("sql_notes", "1"),
    ("sql_quote_show_create", "1"),
    ("sql_safe_updates", "0"),
    ("sql_select_limit", "18446744073709551615"),
    ("sql_warnings", "0"),
    ("unique_checks", "1"),
    ("wait_timeout", "31536000"),
];

/// Variables of MariaDB, and since which version.
const MARIADB: [((u16, u16), Pair); 27] = [
    ((0, 0), ("alter_algorithm", "DEFAULT")),
    ((11, 3), ("block_encryption_mode", "aes-128-ecb")),
    ((0, 0), ("check_constraint_checks", "1")),
    ((0, 0), ("default_regex_flags", "")),
    ((0, 0), ("group_concat_max_len", "1048576")),
    ((0, 0), ("idle_readonly_transaction_timeout", "0")),
    ((0, 0), ("idle_transaction_timeout", "0")),
    ((0, 0), ("idle_write_transaction_timeout", "0")),
    // MySQL lets few accounts set it.
    ((0, 0), ("innodb_strict_mode", "1")),
    ((0, 0), ("low_priority_updates", "0")),
    ((0, 0), ("max_error_count", "64")),
    ((0, 0), ("max_session_mem_used", "9223372036854775807")),
    ((0, 0), ("max_statement_time", "0")),
    ((11, 8), ("new_mode", "")),
    ((10, 6), ("note_verbosity", "basic,explain")),
    ((0, 0), ("old", "0")),
    ((10, 6), ("old_mode", "UTF8_IS_UTF8MB3")),
    ((10, 5), ("sql_if_exists", "0")),
    ((0, 0), ("standard_compliant_cte", "1")),
    ((0, 0), ("system_versioning_alter_history", "ERROR")),
    ((10, 11), ("system_versioning_insert_history", "0")),
    // Answers of the catalog are temporary tables.
    ((10, 2), ("tmp_disk_table_size", "18446744073709551615")),
    ((0, 0), ("tx_isolation", "REPEATABLE-READ")),
    ((0, 0), ("tx_read_only", "0")),
    ((0, 0), ("updatable_views_with_limit", "YES")),
    ((0, 0), ("wsrep_dirty_reads", "0")),
    ((0, 0), ("wsrep_osu_method", "TOI")),
];

/// Variables of MySQL, and since which version. Its information_schema answers from a cache of a day
/// else, AUTO_INCREMENT included.
const MYSQL: [((u16, u16), Pair); 15] = [
    ((5, 7), ("block_encryption_mode", "aes-128-ecb")),
    ((8, 0), ("default_collation_for_utf8mb4", "utf8mb4_0900_ai_ci")),
    ((9, 6), ("enable_cascade_triggers", "0")),
    ((0, 0), ("group_concat_max_len", "1024")),
    ((8, 0), ("information_schema_stats_expiry", "0")),
    ((5, 7), ("max_execution_time", "0")),
    ((0, 0), ("old_alter_table", "0")),
    ((5, 7), ("parser_max_mem_size", "18446744073709551615")),
    ((8, 0), ("resultset_metadata", "FULL")),
    ((8, 0), ("show_create_table_skip_secondary_engine", "0")),
    ((5, 7), ("show_create_table_verbosity", "0")),
    ((8, 0), ("show_gipk_in_create_table_and_information_schema", "1")),
    ((5, 7), ("transaction_isolation", "REPEATABLE-READ")),
    ((5, 7), ("transaction_read_only", "0")),
    ((0, 0), ("updatable_views_with_limit", "YES")),
];

/// Variables of MariaDB that most accounts may not set, or that nobody can set to this: they are only
/// written where they are not so.
const SELDOM_WRITTEN: [Pair; 2] = [(ENFORCED_ENGINE, NULL), ("system_versioning_asof", "DEFAULT")];

/// The variable by which a server makes tables of one engine only.
pub(crate) const ENFORCED_ENGINE: &str = "enforce_storage_engine";

/// Variables that `SET NAMES` sets.
const NAMED: [&str; 3] =
    ["character_set_client", "character_set_connection", "character_set_results"];

/// Variables that change by themselves, or that are not read as they were set.
const MOVING: [&str; 8] = [
    "gtid_next",
    "gtid_seq_no",
    "identity",
    "insert_id",
    "last_insert_id",
    "rand_seed1",
    "rand_seed2",
    "timestamp",
];

/// Server errors of a variable that a session does not have: it is unknown, cannot be changed, or is
/// the server's.
const ER_NO_VARIABLE: [u16; 4] = [1193, 1229, 1238, 1621];

/// The values of a session's variables, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    /// Values at the beginning of the session.
    begun: BTreeMap<String, String>,
    /// Values that were set since.
    now: BTreeMap<String, String>,
    /// Variables that the server keeps as they are.
    kept: BTreeMap<String, String>,
}

impl Variables {
    /// A session that has begun with these.
    pub(crate) fn begun(values: &[(String, String)]) -> Variables {
        let begun: BTreeMap<String, String> = values.iter().cloned().collect();
        Variables { now: begun.clone(), begun, kept: BTreeMap::new() }
    }

    /// All of them, with the values that they were set to.
    pub(crate) fn all(self) -> impl Iterator<Item = (String, String)> {
        self.now.into_iter()
    }

    /// The value that a variable was set to.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.now.get(name).map(String::as_str)
    }

    /// The value that the session began with.
    pub(crate) fn begun_with(&self, name: &str) -> Option<&str> {
        self.begun.get(name).map(String::as_str)
    }

    /// A variable is set to another value.
    pub(crate) fn note(&mut self, name: &str, value: &str) {
        if MOVING.contains(&name) {
            self.forget(name);
        } else {
            self.now.insert(name.to_owned(), value.to_owned());
        }
    }

    /// A variable is no longer known.
    pub(crate) fn forget(&mut self, name: &str) {
        self.now.remove(name);
    }

    /// Forgets the variable that the server does not have, by its refusal; whether there is one.
    pub(crate) fn forget_unknown(&mut self, errno: u16, message: &str) -> bool {
        let name = message.split('\'').nth(1).filter(|_| is_no_variable(errno));
        name.is_some_and(|name| self.now.remove(name).is_some())
    }

    /// A variable has a value that the server does not change.
    pub(crate) fn keep(&mut self, name: &str, value: &str) {
        self.forget(name);
        self.begun.remove(name);
        self.kept.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn kept(&self, name: &str) -> Option<&str> {
        self.kept.get(name).map(String::as_str)
    }

    /// Columns of a SELECT that read all of them; empty if none is known.
    pub(crate) fn columns(&self) -> String {
        let columns: Vec<String> =
            self.now.keys().map(|name| format!("@@SESSION.{name}")).collect();
        columns.join(", ")
    }

    /// Those that have another value now: name, value that was set, value that was read.
    pub(crate) fn differing(&self, read: &[String]) -> Vec<(String, String, String)> {
        let pairs = self.now.iter().zip(read);
        let differing = pairs.filter(|((_, set), read)| !is_same(set, read));
        differing.map(|((name, set), read)| (name.clone(), set.clone(), read.clone())).collect()
    }
}

/// The values that a session begins with, by `SET NAMES` and the variables that follow.
pub(crate) fn to_begin(version: &Version, options: &ConnectOptions) -> Vec<(String, String)> {
    let (sql_mode, own) = match version.flavor {
        Flavor::MariaDb => (SQL_MODE, &MARIADB[..]),
        Flavor::MySql => (SQL_MODE_MYSQL, &MYSQL[..]),
    };
    let release = (version.number.0, version.number.1);
    let own = own.iter().filter(|(since, _)| *since <= release).map(|(_, pair)| *pair);
    let kind = Kind::of_version(version);
    let mut all: Vec<(String, String)> = [("sql_mode", sql_mode)]
        .into_iter()
        .chain(options.time_zone.as_deref().map(|zone| ("time_zone", zone)))
        .chain(kind.session_needs().iter().copied())
        .chain(EVERYWHERE)
        .chain(own)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if options.unchecked_keys {
        let checks = all.iter_mut().filter(|(name, _)| name == "foreign_key_checks");
        checks.for_each(|(_, value)| "0".clone_into(value));
    }
    // What somebody has asked for is set already.
    all.retain(|(name, _)| options.settings.iter().all(|(set, _)| set != name));
    all
}

/// How many of [`to_begin`] no session can do without.
pub(crate) fn needed(version: &Version, options: &ConnectOptions) -> usize {
    let engine = Kind::of_version(version).session_needs().len();
    1 + usize::from(options.time_zone.is_some()) + engine
}

/// The values of a session besides the variables that are written each time.
pub(crate) fn besides(version: &Version) -> Vec<(String, String)> {
    let is_plain = Kind::of_version(version) == Kind::Plain;
    let seldom = is_plain && version.flavor == Flavor::MariaDb;
    let named = NAMED.map(|name| (name, "utf8mb4"));
    let all = named.into_iter().chain(SELDOM_WRITTEN.into_iter().filter(|_| seldom));
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Assignments as SET takes them.
pub(crate) fn assignments<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let all: Vec<String> =
        pairs.map(|(name, value)| format!("{name}={}", literal(value))).collect();
    all.join(", ")
}

/// Which of the variables the server does not have, by its refusal.
pub(crate) fn unknown(errno: u16, message: &str, pairs: &[(String, String)]) -> Option<usize> {
    let name = message.split('\'').nth(1)?;
    pairs.iter().position(|(known, _)| is_no_variable(errno) && known == name)
}

/// True if an error says that a session has no such variable.
pub(crate) fn is_no_variable(errno: u16) -> bool {
    ER_NO_VARIABLE.contains(&errno)
}

/// A value as SET takes it: numbers without quotes, which numeric variables insist on.
fn literal(value: &str) -> String {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && digits.bytes().filter(|&b| b == b'.').count() <= 1
        && digits.bytes().any(|b| b.is_ascii_digit());
    if is_number || value == NULL { value.to_owned() } else { quote_text(value) }
}

/// True if two texts are one value: `ON` is `1`, and flags come in any order.
fn is_same(set: &str, read: &str) -> bool {
    set == read || plain(set) == plain(read)
}

fn plain(value: &str) -> Vec<String> {
    let value = value.to_ascii_lowercase();
    let value = match value.as_str() {
        "on" => "1",
        "off" => "0",
        value if value.contains('.') && value.parse::<f64>().is_ok() => {
            value.trim_end_matches('0').trim_end_matches('.')
        }
        value => value,
    };
    let mut flags: Vec<String> = value.split(',').map(str::to_owned).collect();
    flags.sort_unstable();
    flags.dedup();
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_set_without_quotes() {
        let cases = [
            (NULL, "NULL"),
            ("1", "1"),
            ("-1.5", "-1.5"),
            ("SYSTEM", "'SYSTEM'"),
            ("+02:00", "'+02:00'"),
            ("", "''"),
            ("1.2.3", "'1.2.3'"),
            (".", "'.'"),
        ];
        for (value, expected) in cases {
            assert_eq!(literal(value), expected);
        }
    }

    #[test]
    fn a_value_is_compared_however_the_server_writes_it() {
        for (set, read) in
            [("1", "ON"), ("0", "0.000000"), ("a,B", "b,A"), ("REPEATABLE-READ", "repeatable-read")]
        {
            assert!(is_same(set, read), "{set} {read}");
        }
        for (set, read) in
            [("18446744073709551615", "18446744073709551614"), ("", "0"), ("1", "10")]
        {
            assert!(!is_same(set, read), "{set} {read}");
        }
    }

    #[test]
    fn a_variable_that_a_server_lacks_is_told_by_its_refusal() {
        let pairs = [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "1".to_owned())];
        assert_eq!(unknown(1193, "Unknown system variable 'b'", &pairs), Some(1));
        assert_eq!(unknown(1193, "Unbekannte Systemvariable 'c'", &pairs), None);
        assert_eq!(unknown(1231, "Variable 'a' can't be set to the value of '1'", &pairs), None);
    }
}
