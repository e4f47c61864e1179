//! Which tables of a dump, and into which database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use face::option::{EXCLUDE, INTO, TABLES};

use crate::error::Error;
use crate::options::ReplayOptions;

/// `--tables`, `--exclude` and `--into`.
#[derive(Clone, Debug, Default)]
pub struct Names {
    into: Option<Vec<u8>>,
    tables: Vec<Pattern>,
    exclude: Vec<Pattern>,
    /// True if all but tables wait for the end of the dump, which knows all its databases.
    is_atomic: bool,
}

/// `table` or `db.table`; `*` stands for any bytes, `?` for one.
#[derive(Clone, Debug)]
struct Pattern {
    database: Option<Vec<u8>>,
    table: Vec<u8>,
    /// True if it has matched anything, in this copy or another.
    has_matched: Arc<AtomicBool>,
}

impl Names {
    /// The names selected by the options.
    ///
    /// Errors: a pattern without a table's name.
    pub fn new(options: &ReplayOptions) -> Result<Names, Error> {
        if let Some(into) = options.into.as_ref().filter(|into| schema::is_system_schema(into)) {
            return Err(Error::Usage(format!(
                "{}: the database belongs to the server itself; name another one",
                INTO.with(into)
            )));
        }
        let patterns = |given: &[String]| -> Result<Vec<Pattern>, Error> {
            given.iter().map(|text| Pattern::parse(text)).collect()
        };
        Ok(Names {
            into: options.into.as_ref().map(|name| name.clone().into_bytes()),
            tables: patterns(&options.tables)?,
            exclude: patterns(&options.exclude)?,
            is_atomic: options.atomic,
        })
    }

    /// True if routines and events, which have no table, are replayed: not if only tables are
    /// selected. `--exclude` leaves out those that it names.
    pub(crate) fn takes_routines(&self) -> bool {
        self.tables.is_empty()
    }

    /// True if table (or view) `name`, which the dump has in `database`, is replayed.
    pub fn takes(&self, database: Option<&[u8]>, name: &[u8]) -> bool {
        // Each is asked, for what is said of those that match nothing.
        let is_in = |patterns: &[Pattern]| {
            patterns.iter().filter(|one| one.matches(database, name)).count() > 0
        };
        let (is_asked, is_excluded) = (is_in(&self.tables), is_in(&self.exclude));
        (self.tables.is_empty() || is_asked) && !is_excluded
    }

    /// True if some of the dump's tables may be left out.
    pub(crate) fn select(&self) -> bool {
        !(self.tables.is_empty() && self.exclude.is_empty())
    }

    /// Options whose pattern has matched nothing so far.
    ///
    /// Errors: all of `--tables`, so that nothing is replayed.
    pub(crate) fn unmatched(&self) -> Result<Vec<String>, Error> {
        let unmatched = |patterns: &[Pattern]| -> Vec<String> {
            let is_unmatched = |one: &&Pattern| !one.has_matched.load(Ordering::Relaxed);
            patterns.iter().filter(is_unmatched).map(Pattern::text).collect()
        };
        let (found, excluded) = (unmatched(&self.tables), unmatched(&self.exclude));
        if found.is_empty() || found.len() < self.tables.len() {
            let found = found.iter().map(|one| TABLES.with(one).to_string());
            let excluded = excluded.iter().map(|one| EXCLUDE.with(one).to_string());
            return Ok(found.chain(excluded).collect());
        }
        Err(Error::Usage(format!(
            "nothing was replayed: the dump has no table or view that {TABLES} names ({}); names \
             are case-sensitive",
            found.join(", ")
        )))
    }

    /// The database that everything goes into.
    pub fn into(&self) -> Option<&[u8]> {
        self.into.as_deref()
    }

    /// Where goes what the dump has in `database`.
    pub fn database<'a>(&'a self, database: &'a [u8]) -> &'a [u8] {
        self.into.as_deref().unwrap_or(database)
    }

    /// True if all but tables wait for the end of the dump.
    pub(crate) fn are_atomic(&self) -> bool {
        self.is_atomic
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, Error> {
        let (database, table) = match text.split_once('.') {
            Some((database, table)) => (Some(database.as_bytes().to_vec()), table),
            None => (None, text),
        };
        if table.is_empty() || database.as_ref().is_some_and(Vec::is_empty) {
            let text = format!("{text:?} is not a table; TABLE or DATABASE.TABLE is expected");
            return Err(Error::Usage(text));
        }
        let has_matched = Arc::default();
        Ok(Pattern { database, table: table.as_bytes().to_vec(), has_matched })
    }

    fn matches(&self, database: Option<&[u8]>, table: &[u8]) -> bool {
        let of_database = match (&self.database, database) {
            (None, _) => true,
            (Some(pattern), Some(database)) => is_match(pattern, database),
            (Some(_), None) => false,
        };
        let matches = of_database && is_match(&self.table, table);
        if matches {
            self.has_matched.store(true, Ordering::Relaxed);
        }
        matches
    }

    /// As it was typed.
    fn text(&self) -> String {
        let table = String::from_utf8_lossy(&self.table);
        match &self.database {
            Some(database) => format!("{}.{table}", String::from_utf8_lossy(database)),
            None => table.into_owned(),
        }
    }
}

/// True if `name` matches `pattern`. Goes back to the last `*` only.
fn is_match(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((before, begun)) = star else { return false };
                star = Some((before, begun + 1));
                at = before + 1;
                place = begun + 1;
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_match_nothing_are_told() {
        let names = names(&["orders", "shop.*", "order_"], &["shop.log"]);
        assert!(names.unmatched().unwrap_err().to_string().contains("orders, shop.*, order_"));
        // Also one that is left out again.
        assert!(!names.takes(Some(b"shop"), b"log"));
        assert_eq!(names.unmatched().unwrap(), ["--tables orders", "--tables order_"]);
        assert!(names.clone().takes(Some(b"other"), b"orders"));
        assert_eq!(names.unmatched().unwrap(), ["--tables order_"]);
        let names = super::tests::names(&["orders"], &["log", "lag"]);
        assert!(names.takes(None, b"orders") && !names.takes(None, b"log"));
        assert_eq!(names.unmatched().unwrap(), ["--exclude lag"]);
        assert_eq!(Names::default().unmatched().unwrap(), [""; 0]);
    }

    fn names(tables: &[&str], exclude: &[&str]) -> Names {
        let patterns =
            |given: &[&str]| given.iter().map(|one| Pattern::parse(one).unwrap()).collect();
        Names { tables: patterns(tables), exclude: patterns(exclude), ..Names::default() }
    }

    #[test]
    fn tables_are_taken_and_left_out_by_pattern() {
        let names = names(&["order*", "shop.?"], &["orders_old", "x.*"]);
        let takes =
            |database: &str, table: &str| names.takes(Some(database.as_bytes()), table.as_bytes());
        assert!(takes("a", "orders") && takes("shop", "t"));
        assert!(!takes("a", "t") && !takes("shop", "tt") && !takes("a", "orders_old"));
        assert!(!takes("x", "orders"));
        assert!(names.takes(None, b"orders") && !names.takes(None, b"t"));
        assert!(!names.takes_routines());
    }

    #[test]
    fn stars_stand_for_any_bytes() {
        for (pattern, name, matches) in [
            ("*", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("**a", "ba", true),
            ("?", "", false),
            ("", "", true),
        ] {
            assert_eq!(is_match(pattern.as_bytes(), name.as_bytes()), matches, "{pattern} {name}");
        }
        assert!(Pattern::parse("db.").is_err() && Pattern::parse("").is_err());
    }
}
