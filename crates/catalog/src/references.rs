//! Foreign keys as SHOW CREATE TABLE has them.
//!
//! ```text
//!   CONSTRAINT `fk` FOREIGN KEY (`a`, `b`) REFERENCES `d`.`p` (`x`, `y`) ON DELETE CASCADE
//! ```
//!
//! Lines of columns start with a backquote and those of indexes with KEY, so no name or comment is
//! taken for one; line ends within texts are escaped.
//! Source: MariaDB 10.11, storage/innobase/dict/dict0dict.cc, `dict_print_info_on_foreign_key_in_create_format`.

use schema::{Reference, TableName};

use super::create_table::lines;
use server::identifier::quoted_name;

/// The foreign keys of a table of `database`, in the order in which they are shown.
pub fn references(definition: &str, database: &str) -> Vec<Reference> {
    lines(definition).filter_map(|line| reference(line, database)).collect()
}

/// A definition without its foreign keys: that of a copy, which CREATE TABLE .. LIKE leaves them out of.
pub fn without_references(definition: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    for line in lines(definition) {
        if reference(line, "").is_some() {
            continue;
        }
        // The last of the elements has no comma.
        if line.starts_with(") ENGINE=")
            && let Some(last) = kept.last_mut()
            && last.ends_with(',')
        {
            last.pop();
        }
        kept.push(line.to_owned());
    }
    kept.join("\n")
}

/// Names and lines of the indexes that are not unique, in order.
pub fn plain_keys(definition: &str) -> Vec<(String, &str)> {
    let keys = lines(definition).filter_map(|line| {
        let line = line.strip_prefix("  ")?.trim_end_matches(',');
        let (name, _) = quoted_name(line.strip_prefix("KEY ")?)?;
        Some((name, line))
    });
    keys.collect()
}

fn reference(line: &str, database: &str) -> Option<Reference> {
    let line = line.strip_prefix("  CONSTRAINT ")?.trim_end_matches(',');
    let (name, rest) = quoted_name(line)?;
    let (columns, rest) = names(rest.strip_prefix(" FOREIGN KEY ")?)?;
    let (first, rest) = quoted_name(rest.strip_prefix(" REFERENCES ")?)?;
    let (parent, rest) = match rest.strip_prefix('.') {
        Some(rest) => {
            let (table, rest) = quoted_name(rest)?;
            (TableName::new(first, table), rest)
        }
        None => (TableName::new(database, first), rest),
    };
    let (parent_columns, rules) = names(rest.strip_prefix(' ')?)?;
    Some(Reference { name, columns, parent, parent_columns, rules: rules.trim_start().to_owned() })
}

/// `` (`a`, `b`) `` and what follows.
fn names(text: &str) -> Option<(Vec<String>, &str)> {
    let mut rest = text.strip_prefix('(')?;
    let mut found = Vec::new();
    loop {
        let (name, after) = quoted_name(rest)?;
        found.push(name);
        match after.strip_prefix(')') {
            Some(after) => return Some((found, after)),
            None => rest = after.strip_prefix(',')?.trim_start(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: &str = "  `a` int(11) COMMENT 'CONSTRAINT `x` FOREIGN KEY (`a`) REFERENCES `p` (`i`)',\n  \
        `CONSTRAINT ``c``` int(11),\n  KEY `f` (`a`,`b,)`),\n  \
        CONSTRAINT `f``1` FOREIGN KEY (`a`, `b,)`) REFERENCES `d-2`.`p.q` (`x`, `y`) ON DELETE CASCADE,\n  \
        CONSTRAINT `self` FOREIGN KEY (`a`) REFERENCES `t` (`i`)\n\
        ) ENGINE=InnoDB DEFAULT CHARSET=latin1";

    #[test]
    fn foreign_keys_are_taken_apart() {
        let found = references(DEFINITION, "d");
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            found,
            [
                Reference {
                    name: "f`1".to_owned(),
                    columns: names(&["a", "b,)"]),
                    parent: TableName::new("d-2", "p.q"),
                    parent_columns: names(&["x", "y"]),
                    rules: "ON DELETE CASCADE".to_owned(),
                },
                Reference {
                    name: "self".to_owned(),
                    columns: names(&["a"]),
                    parent: TableName::new("d", "t"),
                    parent_columns: names(&["i"]),
                    rules: String::new(),
                },
            ]
        );
        let clause = "CONSTRAINT `f``1` FOREIGN KEY (`a`, `b,)`) REFERENCES `d-2`.`p.q` (`x`, `y`) \
                      ON DELETE CASCADE";
        assert_eq!(found[0].clause(&found[0].parent), clause);
    }

    #[test]
    fn a_definition_without_them_is_whole() {
        let without = without_references(DEFINITION);
        assert!(without.ends_with("  KEY `f` (`a`,`b,)`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1"));
        assert!(references(&without, "d").is_empty());
        assert_eq!(plain_keys(DEFINITION), [("f".to_owned(), "KEY `f` (`a`,`b,)`)")]);
        assert_eq!(without_references(&without), without);
        // A CHECK is shown behind them.
        let checked = DEFINITION.replace("(`i`)\n)", "(`i`),\n  CONSTRAINT `k` CHECK (`a` > 1)\n)");
        assert!(
            without_references(&checked)
                .contains("(`a`,`b,)`),\n  CONSTRAINT `k` CHECK (`a` > 1)\n)")
        );
    }
}
