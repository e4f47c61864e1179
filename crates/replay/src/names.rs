//! Which tables of a dump, and into which database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use face::option::{EXCLUDE, INTO, TABLES};
use server::Session;
use sql::is_like;

use crate::error::Error;
use crate::options::ReplayOptions;

/// `--tables`, `--exclude` and `--into`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    into: Option<Vec<u8>>,
    tables: Vec<Pattern>,
    exclude: Vec<Pattern>,
    /// True if the server takes two spellings of a name for one.
    ignores_case: bool,
    /// True if all but tables wait for the end of the dump, which knows all its databases.
    is_atomic: bool,
}

/// `table` or `db.table`; `*` stands for any bytes, `?` for one.
#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    /// True if it has matched anything, in this copy or another.
    has_matched: Arc<AtomicBool>,
}

impl Names {
    /// The names selected by the options.
    ///
    /// Errors: a pattern without a table's name.
    pub(crate) fn new(options: &ReplayOptions) -> Result<Names, Error> {
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
            ignores_case: false,
            is_atomic: options.atomic,
        })
    }

    /// Reads from the server if the case of a name counts.
    pub(crate) fn read_case(&mut self, session: &mut Session) -> Result<(), Error> {
        self.ignores_case =
            session.query_row("SELECT @@lower_case_table_names")?.number::<u8>(0)? > 0;
        Ok(())
    }

    /// True if routines and events, which have no table, are replayed: not if only tables are
    /// selected. `--exclude` leaves out those that it names.
    pub(crate) fn takes_routines(&self) -> bool {
        self.tables.is_empty()
    }

    /// True if table (or view) `name`, which the dump has in `database`, is replayed.
    pub(crate) fn takes(&self, database: Option<&[u8]>, name: &[u8]) -> bool {
        // Each is asked, for what is said of those that match nothing.
        let is_in = |patterns: &[Pattern]| {
            patterns.iter().filter(|one| one.matches(database, name, self.ignores_case)).count() > 0
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
            patterns.iter().filter(is_unmatched).map(|one| one.text.clone()).collect()
        };
        let (found, excluded) = (unmatched(&self.tables), unmatched(&self.exclude));
        if found.is_empty() || found.len() < self.tables.len() {
            let found = found.iter().map(|one| TABLES.with(one).to_string());
            let excluded = excluded.iter().map(|one| EXCLUDE.with(one).to_string());
            return Ok(found.chain(excluded).collect());
        }
        Err(Error::Usage(format!(
            "nothing was replayed: the dump has no table or view that {TABLES} names ({}){}",
            found.join(", "),
            if self.ignores_case { "" } else { "; names are case-sensitive" }
        )))
    }

    /// The database that everything goes into.
    pub(crate) fn into(&self) -> Option<&[u8]> {
        self.into.as_deref()
    }

    /// Where goes what the dump has in `database`.
    pub(crate) fn database<'a>(&'a self, database: &'a [u8]) -> &'a [u8] {
        self.into.as_deref().unwrap_or(database)
    }

    /// True if all but tables wait for the end of the dump.
    pub(crate) fn are_atomic(&self) -> bool {
        self.is_atomic
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, Error> {
        if text.is_empty() || text.starts_with('.') || text.ends_with('.') {
            let text = format!("{text:?} is not a table; TABLE or DATABASE.TABLE is expected");
            return Err(Error::Usage(text));
        }
        Ok(Pattern { text: text.to_owned(), has_matched: Arc::default() })
    }

    fn matches(&self, database: Option<&[u8]>, table: &[u8], ignores_case: bool) -> bool {
        let fold = |text: &[u8]| match (ignores_case, str::from_utf8(text)) {
            (false, _) => text.to_owned(),
            (true, Ok(text)) => text.to_lowercase().into_bytes(),
            (true, Err(_)) => text.to_ascii_lowercase(),
        };
        let marks = [("\\", "\\\\"), ("%", "\\%"), ("_", "\\_"), ("*", "%"), ("?", "_")];
        let like = marks.iter().fold(self.text.clone(), |text, (from, to)| text.replace(from, to));
        let pattern = fold(like.as_bytes());
        let is_match = |name: &[u8]| is_like(&fold(name), &pattern);
        // Names may have dots, too.
        let database = database.filter(|_| self.text.contains('.'));
        let matches = is_match(table)
            || database.is_some_and(|database| is_match(&[database, b".", table].concat()));
        if matches {
            self.has_matched.store(true, Ordering::Relaxed);
        }
        matches
    }
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
    fn names_may_have_dots_and_need_no_case_on_some_servers() {
        let mut names = names(&["my.shop.t.1", "Orders"], &["T.2"]);
        assert!(names.takes(Some(b"my.shop"), b"t.1") && names.takes(Some(b"a"), b"Orders"));
        assert!(!names.takes(Some(b"a"), b"orders") && !names.takes(None, b"t.1"));
        names.ignores_case = true;
        assert!(names.takes(Some(b"MY.Shop"), b"T.1") && names.takes(Some(b"a"), b"oRDERS"));
        assert!(!names.takes(Some(b"a"), b"t.2") && !names.takes(Some(b"a"), b"\xff"));
        let umlaut = super::tests::names(&["\u{c4}"], &[]);
        let umlaut = Names { ignores_case: true, ..umlaut };
        assert!(umlaut.takes(None, "\u{e4}".as_bytes()));
    }

    #[test]
    fn stars_stand_for_any_bytes() {
        for (pattern, name, matches) in [
            ("*", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("**a", "ba", true),
            ("?", "", false),
            ("a_b", "acb", false),
            ("a%\\_?", "a%\\_x", true),
        ] {
            let names = names(&[pattern], &[]);
            assert_eq!(names.takes(None, name.as_bytes()), matches, "{pattern} {name}");
        }
        assert!(Pattern::parse("db.").is_err() && Pattern::parse("").is_err());
    }
}
