//! Definitions as SHOW CREATE TABLE has them, from the columns on: a column a line. Names and texts escape their line
//! ends.

/// A definition of MySQL whose columns name no collation that is the table's. MySQL shows it with each column, and a
/// column that is made with one shows its character set from then on.
/// Source: MySQL 9.7, sql/sql_show.cc, `store_create_info`; tried on 9.7.4.
pub fn without_default_collations(definition: &[u8]) -> Vec<u8> {
    const COLLATE: &[u8] = b" COLLATE=";
    let end = definition.windows(3).rposition(|three| three == b"\n) ").unwrap_or(0);
    let options = &definition[end..];
    let Some(at) = options.windows(COLLATE.len()).position(|window| window == COLLATE) else {
        return definition.to_vec();
    };
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let name: Vec<u8> = options[at + COLLATE.len()..].iter().take_while(is_word).copied().collect();
    let shown = [b" COLLATE ", &*name].concat();
    let lines = definition.split_inclusive(|&byte| byte == b'\n').map(|line| {
        let at = column_type_end(line).filter(|&at| line[at..].starts_with(&shown));
        let at = at.filter(|at| !line.get(at + shown.len()).is_some_and(|byte| is_word(&byte)));
        at.map_or(line.to_vec(), |at| [&line[..at], &line[at + shown.len()..]].concat())
    });
    lines.collect::<Vec<_>>().concat()
}

/// The end of the type in the line of a column; none of another line. Names and texts escape their line ends.
fn column_type_end(line: &[u8]) -> Option<usize> {
    let rest = line.strip_prefix(b"  `")?;
    let mut at = 3 + quoted_len(rest, b'`')?;
    at +=
        line[at..].strip_prefix(b" ")?.iter().take_while(|byte| byte.is_ascii_lowercase()).count()
            + 1;
    if line.get(at) != Some(&b'(') {
        return Some(at);
    }
    loop {
        match *line.get(at)? {
            b')' => return Some(at + 1),
            b'\'' => at += 1 + quoted_len(&line[at + 1..], b'\'')?,
            _ => at += 1,
        }
    }
}

/// Bytes up to the end of what is quoted, the last quote included. A quote in it is doubled.
fn quoted_len(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].iter().position(|&byte| byte == quote)? + 1;
        if text.get(at) != Some(&quote) {
            return Some(at);
        }
        at += 1;
    }
}

/// The engine of a definition: behind the last line that begins with a parenthesis, since texts in
/// between escape their line ends.
pub fn engine(definition: &[u8]) -> String {
    const BEFORE: &[u8] = b"\n) ";
    const ENGINE: &[u8] = b"ENGINE=";
    let ends = definition.windows(BEFORE.len()).enumerate().rev();
    let mut lines = ends
        .filter(|(_, window)| *window == BEFORE)
        .map(|(at, _)| &definition[at + BEFORE.len()..])
        // MySQL names a tablespace before the engine.
        .filter(|line| line.starts_with(ENGINE) || line.starts_with(b"/*!"));
    let line = lines.next().unwrap_or_default();
    let at = line.windows(ENGINE.len()).position(|window| window == ENGINE);
    let rest = at.map_or(&[][..], |at| &line[at + ENGINE.len()..]);
    let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    String::from_utf8_lossy(&word.copied().collect::<Vec<u8>>()).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn collations_of_the_table_are_not_those_of_columns() {
        let of = |columns: &str, options: &str| {
            let text = format!("(\n{columns}\n) ENGINE=InnoDB {options}");
            let text = String::from_utf8(without_default_collations(text.as_bytes())).unwrap();
            text[2..text.rfind("\n) ").unwrap()].to_owned()
        };
        let options = "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT=' COLLATE=x'";
        for (shown, made) in [
            ("  `a` text COLLATE utf8mb4_bin,", "  `a` text,"),
            (
                "  `a``b` varchar(9) COLLATE utf8mb4_bin DEFAULT 'x'",
                "  `a``b` varchar(9) DEFAULT 'x'",
            ),
            ("  `a` enum('a''),','b') COLLATE utf8mb4_bin", "  `a` enum('a''),','b')"),
            ("  `a` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,", ""),
            ("  `a` text COLLATE utf8mb4_bin2", ""),
            ("  `a` int COMMENT ' COLLATE utf8mb4_bin',", ""),
            ("  `a` enum(' COLLATE utf8mb4_bin') CHARACTER SET latin1", ""),
            ("  KEY ` COLLATE utf8mb4_bin` (`a`)", ""),
        ] {
            assert_eq!(of(shown, options), if made.is_empty() { shown } else { made });
            assert_eq!(of(shown, "DEFAULT CHARSET=latin1"), shown);
        }
    }

    #[test]
    fn the_engine_is_read_behind_the_columns() {
        let text = b"(\n  `a` int COMMENT ') ENGINE=CSV'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
        assert_eq!(engine(text), "InnoDB");
        let text =
            b"(\n  `a` int\n) /*!50100 TABLESPACE `s` */ ENGINE=InnoDB COMMENT=') ENGINE=CSV'";
        assert_eq!(engine(text), "InnoDB");
        assert_eq!(engine(b"("), "");
    }
}
