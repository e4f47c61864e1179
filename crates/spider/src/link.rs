//! The places of a Spider table's rows, by its definition.
//!
//! ```text
//! ) ENGINE=SPIDER .. COMMENT='wrapper "mysql", table "t"'
//!  PARTITION BY HASH (`id`)
//! (PARTITION `p0` COMMENT = 'srv "s1"' ENGINE = SPIDER,        a parameter is looked for here first,
//!  PARTITION `p1` COMMENT = 'srv "s2"' ENGINE = SPIDER)        then in the table's comment
//! ```
//!
//! Source: MariaDB 10.11, storage/spider/spd_table.cc, `spider_parse_connect_info`.

use std::ops::Range;

use server::identifier::quote_text;
use sql::syntax::Syntax;
use sql::token::{Token, TokenKind, Tokens};

/// Parameters that say where rows are, by all their names.
const KNOWN: [(&str, &str); 12] = [
    ("wrapper", "wrapper"),
    ("srv", "server"),
    ("server", "server"),
    ("host", "host"),
    ("port", "port"),
    ("socket", "socket"),
    ("user", "user"),
    ("password", "password"),
    ("database", "database"),
    ("table", "table"),
    ("tbl", "table"),
    ("db", "database"),
];

/// Parameters of a comment, by their first names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters(Vec<(&'static str, String)>);

impl Parameters {
    /// Reads `srv "s1", table "t"`.
    ///
    /// Errors: what is not known here, in words.
    pub(super) fn read(text: &str) -> Result<Parameters, String> {
        let mut found = Parameters::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (word, behind) = rest.split_at(
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len()),
            );
            let known = KNOWN.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
            let Some((_, name)) = known else {
                return Err(format!("the parameter {word:?} of Spider is unsupported"));
            };
            let behind = behind.trim_start();
            let quote = behind.chars().next().filter(|c| matches!(c, '"' | '\''));
            let value = quote.and_then(|quote| behind[1..].split_once(quote));
            let Some((value, behind)) = value else {
                return Err(format!("the parameter {word} of Spider has no value in quotes"));
            };
            if value.contains(['\\', '"', '\'']) {
                return Err(format!(
                    "the parameter {word} of Spider has a value with quotes in it"
                ));
            }
            found.0.push((name, value.to_owned()));
            rest = behind.trim_start().trim_start_matches(',').trim_start();
        }
        Ok(found)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The same with another table.
    fn with_table(&self, table: &str) -> String {
        let others = self.0.iter().filter(|(name, _)| *name != "table");
        let word = |name: &str| if name == "server" { "srv" } else { name }.to_owned();
        let mut words: Vec<String> =
            others.map(|(name, value)| format!("{} \"{value}\"", word(name))).collect();
        words.push(format!("table \"{table}\""));
        words.join(", ")
    }
}

/// A partition of the definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) partition: String,
    pub(super) own: Parameters,
    /// Where its comment is in the definition, from the word COMMENT on; empty where there is none.
    place: Range<usize>,
}

/// The parameters of a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// Parameters of the whole table.
    pub(super) table: Parameters,
    pub(super) partitions: Vec<Link>,
}

impl Links {
    /// Reads a definition of [`catalog::definition`].
    ///
    /// Errors: what of it is not known here, in words.
    pub(super) fn read(definition: &str) -> Result<Links, String> {
        let begin = definition.rfind("\n) ENGINE=").ok_or("the definition is unsupported")?;
        let tail = &definition[begin + 2..];
        let tokens: Vec<Token<'_>> =
            Tokens::of_any_server(tail.as_bytes(), Syntax::default()).collect();
        let mut found = Links::default();
        for (at, token) in tokens.iter().enumerate() {
            // The server prints links of such a partition only with its subpartitions.
            if token.is("SUBPARTITION") && !token_is(&tokens, at + 1, "BY") {
                return Err("subpartitions with links of their own are unsupported".to_owned());
            }
            if token.is("PARTITION") && !token_is(&tokens, at + 1, "BY") {
                let name = tokens.get(at + 1).and_then(Token::name).unwrap_or_default();
                let partition = String::from_utf8_lossy(&name).into_owned();
                found.partitions.push(Link { partition, own: Parameters::default(), place: 0..0 });
            }
            if token.is("ENGINE")
                && let Some(link) = found.partitions.last_mut()
                && link.place.is_empty()
            {
                let place = begin + 2 + token.place.start;
                link.place = place..place;
            }
            let is_connection = token.is("CONNECTION");
            if !is_connection && !token.is("COMMENT") {
                continue;
            }
            let Some(text) = tokens
                .get(at + 2)
                .filter(|_| tokens.get(at + 1).is_some_and(|equals| equals.is_sign(b'=')))
            else {
                continue;
            };
            let value = text.value(Syntax::default()).unwrap_or_default();
            let read = Parameters::read(&String::from_utf8_lossy(&value))?;
            match found.partitions.last_mut() {
                Some(link) => {
                    link.own = read;
                    link.place = begin + 2 + token.place.start..begin + 2 + text.place.end;
                }
                None => found.table.0.extend(read.0),
            }
        }
        Ok(found)
    }

    /// The definition with other tables at the ends of its partitions.
    pub(super) fn relinked(&self, definition: &str, tables: &[String]) -> String {
        let mut text = String::with_capacity(definition.len() * 2);
        let mut copied = 0;
        for (link, table) in self.partitions.iter().zip(tables) {
            text.push_str(&definition[copied..link.place.start]);
            text.push_str("COMMENT = ");
            text.push_str(&quote_text(&link.own.with_table(table)));
            text.push_str(if link.place.is_empty() { " " } else { "" });
            copied = link.place.end;
        }
        text.push_str(&definition[copied..]);
        text
    }
}

fn token_is(tokens: &[Token<'_>], at: usize, word: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.is(word))
}

/// A definition without what its partitions are linked to: equal ones divide rows alike.
pub(super) fn without_links(definition: &str) -> Vec<String> {
    let tokens: Vec<Token<'_>> =
        Tokens::of_any_server(definition.as_bytes(), Syntax::default()).collect();
    let tail = tokens.iter().rposition(|token| token.is("ENGINE")).unwrap_or(0);
    let begin = tokens.iter().position(|token| token.is("PARTITION")).unwrap_or(tail);
    let mut words = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if at > begin && tokens[at].is("COMMENT") {
            at += 3;
            continue;
        }
        words.push(match &tokens[at].kind {
            TokenKind::Word(word) | TokenKind::Text(word) => String::from_utf8_lossy(word).into(),
            TokenKind::Name(name) => format!("`{}", String::from_utf8_lossy(name)),
            TokenKind::Sign(sign) => char::from(*sign).to_string(),
        });
        at += 1;
    }
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TABLE: &str = "  `id` int(11) NOT NULL COMMENT 'PARTITION `x` COMMENT = ''srv \"no\"''',\n  \
        PRIMARY KEY (`id`)\n) ENGINE=SPIDER DEFAULT CHARSET=latin1 COMMENT='wrapper \"mysql\", table \
        \"t\"'\n PARTITION BY RANGE (`id`)\n(PARTITION `p0` VALUES LESS THAN (10) COMMENT = 'srv \"s1\"' \
        ENGINE = SPIDER,\n PARTITION `p``1` VALUES LESS THAN MAXVALUE ENGINE = SPIDER)";

    #[test]
    fn a_definition_says_where_each_partition_is() {
        let links = Links::read(TABLE).unwrap();
        assert_eq!(links.table.get("table"), Some("t"));
        assert_eq!(links.table.get("wrapper"), Some("mysql"));
        let named = |at: usize| links.partitions[at].partition.as_str();
        assert_eq!((links.partitions.len(), named(0), named(1)), (2, "p0", "p`1"));
        assert_eq!(links.partitions[0].own.get("server"), Some("s1"));
        assert_eq!(links.partitions[1].own, Parameters::default());
    }

    #[test]
    fn another_definition_has_other_tables_and_divides_rows_alike() {
        let links = Links::read(TABLE).unwrap();
        let other = links.relinked(TABLE, &["a".to_owned(), "b".to_owned()]);
        let begin = TABLE.find("(PARTITION `p0`").unwrap();
        assert_eq!(
            &other[begin..],
            "(PARTITION `p0` VALUES LESS THAN (10) COMMENT = 'srv \"s1\", table \"a\"' ENGINE = \
             SPIDER,\n PARTITION `p``1` VALUES LESS THAN MAXVALUE COMMENT = 'table \"b\"' ENGINE = SPIDER)"
        );
        assert_eq!(other[..begin], TABLE[..begin]);
        assert_eq!(without_links(&other), without_links(TABLE));
        assert_ne!(without_links(&TABLE.replace("(10)", "(11)")), without_links(TABLE));
        let again = Links::read(&other).unwrap();
        assert_eq!(again.partitions[0].own.get("table"), Some("a"));
        assert_eq!(again.partitions[0].own.get("server"), Some("s1"));
    }

    /// Only the last subpartition's link was in the map once: exports had no rows of the others.
    #[test]
    fn subpartitions_with_links_are_refused() {
        let by = " PARTITION BY RANGE (`id`)\nSUBPARTITION BY HASH (`id`)\n";
        let begin = TABLE.find(" PARTITION BY RANGE").unwrap();
        let subpartitioned = format!(
            "{}{by}(PARTITION `p0` VALUES LESS THAN MAXVALUE\n (SUBPARTITION `s0` COMMENT = 'srv \"s1\"' \
             ENGINE = SPIDER,\n  SUBPARTITION `s1` COMMENT = 'srv \"s2\"' ENGINE = SPIDER))",
            &TABLE[..begin]
        );
        let error = Links::read(&subpartitioned).unwrap_err();
        assert!(error.contains("subpartitions"), "{error}");
        let implied = TABLE.replace(" PARTITION BY RANGE (`id`)\n", by);
        assert_eq!(Links::read(&implied).unwrap().partitions.len(), 2);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (text, expected) in [
            ("srv \"s1\", link_status \"2\"", "\"link_status\""),
            ("srv s1", "no value in quotes"),
            ("srv \"a\\\\b\"", "quotes in it"),
            ("srv", "no value in quotes"),
            ("\"x\"", "\"\""),
        ] {
            let error = Parameters::read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!(Parameters::read("srv 's1' , tbl \"t\"").unwrap().get("table"), Some("t"));
    }
}
