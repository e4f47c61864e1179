//! Facts that only SHOW CREATE TABLE shows, and CREATE_OPTIONS of information_schema.TABLES.

use schema::{Column, CreateOption, DefaultValue, TableName};

use server::error::Result;
use server::identifier::quoted_name;
use server::session::{Row, Session};

/// The tablespace of MySQL's that stands for a file of the table's own.
const OWN_FILE: &str = "innodb_file_per_table";

/// SHOW CREATE TABLE without the table's name and its AUTO_INCREMENT counter.
pub fn definition(session: &mut Session, name: &TableName) -> Result<String> {
    let row = session.query_row(&format!("SHOW CREATE TABLE {}", name.quoted()))?;
    // Not always UTF-8: a default of a TEXT column is shown in the bytes it was written in.
    Ok(without_name(&row.text_lossy(1)))
}

/// [`definition`] of many tables, by one request.
pub fn definitions(session: &mut Session, names: &[&TableName]) -> Result<Vec<String>> {
    let show = |name: &&TableName| format!("SHOW CREATE TABLE {}", name.quoted());
    let answers = session.query_all(&names.iter().map(show).collect::<Vec<_>>())?;
    let text = |rows: &Vec<Row>| rows.first().map(|row| without_name(&row.text_lossy(1)));
    Ok(answers.iter().map(|rows| text(rows).unwrap_or_default()).collect())
}

fn without_name(text: &str) -> String {
    // The name may have line breaks.
    let head = lines(text).next().map_or(0, str::len);
    let body = text.get(head + 1..).unwrap_or_default();
    let Some((columns, options)) = split_options(body) else { return body.to_owned() };
    let (line, rest) = options.split_at(options.find('\n').unwrap_or(options.len()));
    // Quotes hold a text.
    let parts = line.split('\'').enumerate();
    let parts =
        parts.map(|(at, part)| if at % 2 == 0 { without_counters(part) } else { part.into() });
    format!("{columns}\n) {}{rest}", parts.collect::<Vec<_>>().join("'"))
}

/// The text before and behind the last line that starts with a parenthesis: texts in between escape their line
/// ends. MySQL names a tablespace there, and how a file grows, before the engine.
fn split_options(body: &str) -> Option<(&str, &str)> {
    let begins = |options: &str| options.starts_with("ENGINE=") || options.starts_with("/*!");
    let mut ends =
        body.rmatch_indices("\n) ").map(|(at, end)| (&body[..at], &body[at + end.len()..]));
    ends.find(|(_, options)| begins(options))
}

/// Options without the counters. TiDB has them behind the collation, the one for AUTO_RANDOM in a comment.
/// Source: TiDB 8.5, pkg/executor/show.go, `constructResultOfShowCreateTable`.
fn without_counters(options: &str) -> String {
    let mut options = options.to_owned();
    for (name, end) in
        [(" AUTO_INCREMENT=", ""), (" /*T![auto_rand_base] AUTO_RANDOM_BASE=", " */")]
    {
        if let Some((before, rest)) = options.split_once(name) {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            options = format!("{before}{}", rest.strip_prefix(end).unwrap_or(rest));
        }
    }
    options
}

/// The lines of a definition. A line break within a name in backquotes ends none; within other texts it is escaped.
pub fn lines(definition: &str) -> impl Iterator<Item = &str> {
    let (mut rest, bytes) = (0, definition.as_bytes());
    std::iter::from_fn(move || {
        let start = rest;
        let (mut quote, mut at) = (None, start);
        while at < bytes.len() && (quote == Some(b'`') || bytes[at] != b'\n') {
            match (quote, bytes[at]) {
                (None, byte @ (b'`' | b'\'')) => quote = Some(byte),
                (Some(b'\''), b'\\') => at += 1,
                (Some(open), byte) if byte == open => quote = None,
                _ => {}
            }
            at += 1;
        }
        let end = at.min(bytes.len());
        rest = end + 1;
        (start < bytes.len()).then(|| &definition[start..end])
    })
}

/// The options of the table's file in CREATE_OPTIONS and in its definition.
pub(super) fn options(options: &str, definition: &str) -> Vec<CreateOption> {
    let mut found = Vec::new();
    let lower = plain(options);
    for option in lower.split_whitespace() {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let on = !matches!(value, "0" | "no" | "off" | "default");
        match name {
            "page_compressed" if on => found.push(CreateOption::PageCompressed(option.to_owned())),
            "encrypted" if on => found.push(CreateOption::Encrypted(option.to_owned())),
            // MySQL names its options so.
            "compression" if on && value != "none" => {
                found.push(CreateOption::PageCompressed(option.to_owned()));
            }
            "encryption" if value == "y" => {
                found.push(CreateOption::Encrypted(option.to_owned()));
            }
            _ => {}
        }
    }
    if lower.contains("data directory=") {
        found.push(CreateOption::DataDirectory(options.to_owned()));
    } else {
        found.extend(defined(definition));
    }
    found
}

/// The options that MySQL tells in the definition alone, in the line behind the columns. It doubles quotes in a comment.
fn defined(definition: &str) -> impl Iterator<Item = CreateOption> {
    let line = lines(definition).find(|line| line.starts_with(')')).unwrap_or_default();
    let path = line.split_once(" DATA DIRECTORY='/").and_then(|(_, rest)| rest.split('\'').next());
    let directory =
        path.map(|path| CreateOption::DataDirectory(format!("DATA DIRECTORY='/{path}'")));
    let space = line.strip_prefix(") /*!50100 TABLESPACE ").and_then(quoted_name);
    let space = space.map(|(name, _)| name).filter(|name| name != OWN_FILE);
    let step =
        line.split_once(" /*!80023 AUTOEXTEND_SIZE=").and_then(|(_, rest)| rest.split_once(" */"));
    let step = step.map(|(bytes, _)| CreateOption::AutoExtend(bytes.to_owned()));
    space.map(CreateOption::Tablespace).into_iter().chain(directory).chain(step)
}

/// True if CREATE_OPTIONS shows that the table is partitioned.
pub(super) fn is_partitioned(options: &str) -> bool {
    let lower = plain(options);
    lower.split_whitespace().any(|option| option.split('=').next() == Some("partitioned"))
}

/// CREATE_OPTIONS in lower case, without quotes.
fn plain(options: &str) -> String {
    options.to_lowercase().replace(['`', '\'', '"'], "")
}

/// The line of the application-time period, if there is one.
///
/// Lines of columns start with a backquote, so no name or comment is taken for it.
pub(super) fn period(definition: &str) -> Option<String> {
    let is_it = |line: &&str| {
        line.starts_with("PERIOD FOR ") && !line.starts_with("PERIOD FOR SYSTEM_TIME")
    };
    elements(definition).find(is_it).map(str::to_owned)
}

/// Gives the column of TiDB that only its definition calls AUTO_RANDOM a default of the server's: it may be left out.
pub(super) fn fill_auto_random(definition: &str, columns: &mut [Column]) {
    let line = elements(definition).find(|line| line.contains(" /*T![auto_rand] AUTO_RANDOM("));
    let Some((name, _)) = line.and_then(quoted_name) else { return };
    let column = columns.iter_mut().find(|column| column.name == name);
    if let Some(column) = column.filter(|column| column.default == DefaultValue::None) {
        column.default = DefaultValue::Expression("AUTO_RANDOM".to_owned());
    }
}

/// Names and lines of the keys that are WITHOUT OVERLAPS.
pub(super) fn keys_without_overlaps(definition: &str) -> impl Iterator<Item = (String, &str)> {
    elements(definition).filter(|line| line.contains(" WITHOUT OVERLAPS)")).filter_map(|line| {
        if line.starts_with("PRIMARY KEY") {
            return Some(("PRIMARY".to_owned(), line));
        }
        let (name, _) = quoted_name(line.strip_prefix("UNIQUE KEY ")?)?;
        Some((name, line))
    })
}

/// The lines between the parentheses of a definition, and the others too.
fn elements(definition: &str) -> impl Iterator<Item = &str> {
    lines(definition).map(|line| line.trim_start().trim_end_matches(','))
}

#[cfg(test)]
mod tests {
    use values::SqlType;

    use super::*;

    #[test]
    fn a_definition_is_compared_without_name_and_counter() {
        let a = "CREATE TABLE `a` (\n  `x` int(11)\n) ENGINE=InnoDB AUTO_INCREMENT=77 \
                 DEFAULT CHARSET=latin1 COMMENT='c'";
        let b = "CREATE TABLE `b` (\n  `x` int(11)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 \
                 COMMENT='c'";
        assert_eq!(without_name(a), without_name(b));
        let comment = "CREATE TABLE `b` (\n  `x` int(11)\n) ENGINE=InnoDB DEFAULT \
                       CHARSET=latin1 COMMENT=' AUTO_INCREMENT=5'";
        assert!(without_name(comment).contains(" AUTO_INCREMENT=5"));
        let of_tidb = "CREATE TABLE `b` (\n  `x` int(11)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 \
                       AUTO_INCREMENT=30001 /*T![auto_rand_base] AUTO_RANDOM_BASE=7 */ COMMENT='c'";
        assert_eq!(without_name(a), without_name(of_tidb));
        let broken = b.replace("`b`", "`a\n``b\nc`");
        assert_eq!(without_name(a), without_name(&broken));
    }

    #[test]
    fn counters_behind_a_tablespace_are_left_out() {
        let text = |options: &str, counter: &str| {
            format!(
                "CREATE TABLE `t` (\n  `a` int COMMENT ') ENGINE='\n) {options}ENGINE=InnoDB{counter} COMMENT=' AUTO_INCREMENT=5'"
            )
        };
        let space = "/*!50100 TABLESPACE `s` */ ";
        for options in ["", space, &format!("{space}/*!80023 AUTOEXTEND_SIZE=4194304 */ ")] {
            let counted = without_name(&text(options, " AUTO_INCREMENT=501"));
            assert_eq!(counted, without_name(&text(options, "")));
            assert!(counted.contains(options), "{counted}");
        }
    }

    #[test]
    fn a_line_break_in_a_name_ends_no_line() {
        let text = "CREATE TABLE `a\nb` (\n  `x\n'y` int DEFAULT 'it''s `\\'',\n\n) ENGINE=`";
        let expected =
            ["CREATE TABLE `a\nb` (", "  `x\n'y` int DEFAULT 'it''s `\\'',", "", ") ENGINE=`"];
        assert_eq!(lines(text).collect::<Vec<_>>(), expected);
        assert_eq!(lines("").count(), 0);
    }

    #[test]
    fn options_that_matter() {
        let text = |text: &str| text.to_owned();
        let compressed = CreateOption::PageCompressed(text("page_compressed=1"));
        assert_eq!(options("`page_compressed`='1'", ""), [compressed]);
        let encrypted = CreateOption::Encrypted(text("encrypted=yes"));
        assert_eq!(options("`PAGE_COMPRESSED`=ON `encrypted`=YES", "")[1], encrypted);
        let directory = "DATA DIRECTORY='/x/'";
        assert_eq!(options(directory, ""), [CreateOption::DataDirectory(text(directory))]);
        assert!(options("row_format=COMPACT stats_persistent=1 `encrypted`=no", "").is_empty());
        let encrypted = CreateOption::Encrypted(text("encryption=y"));
        assert_eq!(options("row_format=DYNAMIC ENCRYPTION='Y'", ""), [encrypted]);
        let compressed = CreateOption::PageCompressed(text("compression=zlib"));
        assert_eq!(options("COMPRESSION=\"zlib\"", ""), [compressed]);
        assert!(options("ENCRYPTION='N' COMPRESSION=\"none\"", "").is_empty());
        let plain = "CREATE TABLE `t` (\n  `a` int COMMENT ' DATA DIRECTORY=''/x/'''\n) ENGINE=InnoDB \
                     COMMENT=' DATA DIRECTORY=''/y/'''";
        assert!(options("", plain).is_empty());
        let directory = CreateOption::DataDirectory(text("DATA DIRECTORY='/z/'"));
        assert_eq!(options("", &format!("{plain} DATA DIRECTORY='/z/'")), [directory]);
        let within = |space: &str| {
            let space = format!(") /*!50100 TABLESPACE `{space}` */ ENGINE");
            options("", &plain.replace(") ENGINE", &space))
        };
        assert_eq!(within("t``s"), [CreateOption::Tablespace(text("t`s"))]);
        assert!(within("innodb_file_per_table").is_empty());
        let steps = plain.replace(") ENGINE", ") /*!80023 AUTOEXTEND_SIZE=4194304 */ ENGINE");
        assert_eq!(options("", &steps), [CreateOption::AutoExtend(text("4194304"))]);
    }

    #[test]
    fn a_column_with_auto_random_may_be_left_out() {
        let mut columns = ["a", "b"].map(|name| Column::new(name, SqlType::Year));
        let definition = "  `a` bigint NOT NULL /*T![auto_rand] AUTO_RANDOM(5) */,\n  `b` int NOT NULL\n) ENGINE=InnoDB";
        fill_auto_random(definition, &mut columns);
        let defaults = columns.iter().map(|column| column.default != DefaultValue::None);
        assert_eq!(defaults.collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn partitions_are_told_by_the_options() {
        assert!(
            is_partitioned("partitioned") && is_partitioned("row_format=COMPACT PARTITIONED=1")
        );
        assert!(!is_partitioned("row_format=COMPACT"));
    }

    #[test]
    fn periods_and_their_keys_are_found() {
        let definition = "  `PERIOD FOR x` date COMMENT ' WITHOUT OVERLAPS)',\n  \
            PERIOD FOR SYSTEM_TIME (`a`, `b`),\n  UNIQUE KEY `u``x` (`c`,`p` WITHOUT OVERLAPS),\n  \
            KEY `k` (`c`),\n  PERIOD FOR `p` (`s`, `e`)\n) ENGINE=InnoDB";
        assert_eq!(period(definition).as_deref(), Some("PERIOD FOR `p` (`s`, `e`)"));
        let keys: Vec<_> = keys_without_overlaps(definition).collect();
        let line = "UNIQUE KEY `u``x` (`c`,`p` WITHOUT OVERLAPS)";
        assert_eq!(keys, [("u`x".to_owned(), line)]);
    }
}
