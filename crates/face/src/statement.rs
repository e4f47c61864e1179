//! Statements and options in messages, without the secrets that they may hold.
//!
//! ```text
//! CREATE USER a IDENTIFIED BY 's3cret'    CREATE USER a IDENTIFIED BY '..'
//! pw=AES_ENCRYPT(@pw,'key')               pw=(not shown)
//! ```
//!
//! A text in a statement may be a password wherever it stands, so no text is shown. Messages name the file, the
//! line and the byte of a statement that stands in a file.

/// Stands for a value that is not shown.
pub const HIDDEN: &str = "(not shown)";

/// Stands for a text of a statement.
const TEXT: &str = "'..'";

/// Hexadecimal digits of a number that may be a key.
const DIGITS_MAX: usize = 8;

/// A statement in one line of at most `chars_max` characters, without its texts and comments. Costs as much as
/// is shown.
pub fn shown(sql: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let (mut rest, mut chars) = (sql, 0);
    while let Some(c) = rest.chars().next() {
        if chars >= chars_max {
            if !rest.trim_start().is_empty() {
                line.truncate(line.trim_end().len());
                line.push_str("...");
            }
            break;
        }
        let (words, after) = next(c, rest, line.chars().next_back());
        chars += words.chars().count();
        line.push_str(words);
        rest = after;
    }
    line.truncate(line.trim_end().len());
    line
}

/// The next piece of a statement as it is shown, and the text behind it.
fn next(c: char, rest: &str, before: Option<char>) -> (&str, &str) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_code = rest.starts_with("/*!") || rest.starts_with("/*M!");
    let digits = rest
        .strip_prefix("0x")
        .map_or(0, |digits| digits.bytes().take_while(u8::is_ascii_hexdigit).count());
    match c {
        '\'' | '"' => (TEXT, behind_text(rest, c).unwrap_or_default()),
        '`' => rest.split_at(rest[1..].find('`').map_or(rest.len(), |at| at + 2)),
        '/' if rest.starts_with("/*") && !is_code => {
            ("", rest.find("*/").map_or("", |at| &rest[at + 2..]))
        }
        '#' => ("", behind_line(rest)),
        '-' if is_line_comment(rest) => ("", behind_line(rest)),
        '0' if digits >= DIGITS_MAX && !before.is_some_and(is_word) => {
            ("0x..", &rest[2 + digits..])
        }
        c if c.is_whitespace() => {
            let is_needed = before.is_some_and(|before| before != ' ');
            (if is_needed { " " } else { "" }, rest.trim_start())
        }
        c => rest.split_at(c.len_utf8()),
    }
}

/// `--` and a blank.
fn is_line_comment(rest: &str) -> bool {
    rest.strip_prefix("--")
        .is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t', '\n']))
}

fn behind_line(rest: &str) -> &str {
    rest.find('\n').map_or("", |at| &rest[at..])
}

/// The statement behind a text in quotes. None where the text has no end, or none that does not depend on
/// the session: a backslash before a quote.
fn behind_text(rest: &str, quote: char) -> Option<&str> {
    let bytes = rest.as_bytes();
    let (mut at, mut backslashes) = (1, 0);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\\' => backslashes += 1,
            byte if byte != quote as u8 => backslashes = 0,
            _ if backslashes % 2 == 1 => return None,
            // A quote that is doubled is one in the text.
            _ if bytes.get(at) == Some(&byte) => (at, backslashes) = (at + 1, 0),
            _ => return Some(&rest[at..]),
        }
    }
    None
}

/// A server's message about a statement: the part of the statement in it is shown as [`shown`] does.
pub fn shown_answer(message: &str) -> String {
    const NEAR: &str = "near '";
    const LINE: &str = "' at line ";
    match (message.find(NEAR), message.rfind(LINE)) {
        (Some(at), Some(end)) if at + NEAR.len() <= end => {
            let (before, near) = (&message[..at + NEAR.len()], &message[at + NEAR.len()..end]);
            format!("{before}{}{}", shown(near, usize::MAX), &message[end..])
        }
        _ => message.to_owned(),
    }
}

/// True if a statement, or an expression, may carry a password or a key, and not only the name of a column.
pub fn holds_secret(sql: &str) -> bool {
    const STATEMENTS: [&str; 7] = [
        "set password",
        "change master",
        "change replication source",
        "create server",
        "alter server",
        "start slave",
        "start replica",
    ];
    const KEYED: [&str; 12] = [
        "aes_encrypt",
        "aes_decrypt",
        "des_encrypt",
        "des_decrypt",
        "encode",
        "decode",
        "encrypt",
        "md5",
        "sha",
        "sha1",
        "sha2",
        "kdf",
    ];
    let lower = sql.to_ascii_lowercase();
    let line = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let has_word = |word: &str| line.split(|c| !is_in_name(c)).any(|name| name == word);
    let has_address = line.contains("://");
    let is_of_spider = line.contains("spider");
    // PASSWORD('x'), password = 'x', password "x"; not `password` VARCHAR(20), nor INSERT INTO t (password).
    let is_value = |rest: &str| {
        let next = rest.trim_start();
        let is_text = next.starts_with(['\'', '"']) && (next.len() < rest.len() || is_of_spider);
        rest.starts_with('(') || next.starts_with('=') || is_text
    };
    let has_value =
        |word: &str| line.match_indices(word).any(|(at, _)| is_value(&line[at + word.len()..]));
    let words = ["password", "passwd", "secret"];
    // A row, or a condition, may have the value far from the column's name.
    let is_of_table = ["create", "alter", "drop"].iter().any(|word| line.starts_with(word));
    let has_texts = line.contains(['\'', '"']) && words.iter().any(|word| line.contains(word));
    has_word("identified")
        || (!is_of_table && has_texts)
        || has_address
        || holds_accounts(&line)
        || STATEMENTS.iter().any(|statement| line.contains(statement))
        || words.iter().any(|word| has_value(word))
        || (line.contains(['\'', '"']) || line.contains("0x"))
            && KEYED.iter().any(|word| has_word(word))
}

/// True if a statement is about the server's own tables of accounts.
pub fn holds_accounts(sql: &str) -> bool {
    let lower = sql.to_ascii_lowercase().replace('`', "");
    ["global_priv", "authentication_string", "mysql.user", "mysql.servers"]
        .iter()
        .any(|name| lower.contains(name))
}

/// An option as a journal or a report keeps it: without a value that may be a secret.
pub fn shown_argument(argument: &str) -> String {
    match argument.strip_prefix("--").and_then(|option| option.find('=').map(|at| at + 2)) {
        // The value of an option that stands behind it.
        Some(at) if holds_secret(&argument[at + 1..]) => {
            let (option, value) = argument.split_at(at + 1);
            format!("{option}{}", shown_argument(value))
        }
        _ if !holds_secret(argument) => argument.to_owned(),
        _ => match argument.split_once('=') {
            Some((column, _)) => format!("{column}={HIDDEN}"),
            None => HIDDEN.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_statements_are_not_shown() {
        for (sql, line) in [
            ("SELECT\n  1", "SELECT 1"),
            (
                "CREATE USER a IDENTIFIED BY 's3cret' REQUIRE X",
                "CREATE USER a IDENTIFIED BY '..' REQUIRE X",
            ),
            ("CREATE USER a IDENTIFIED BY 's3c", "CREATE USER a IDENTIFIED BY '..'"),
            ("SELECT 'it''s', \"s3\"\"cret\", `a``b`, x", "SELECT '..', '..', `a``b`, x"),
            // By NO_BACKSLASH_ESCAPES the first text ends at its backslash.
            ("SELECT 'a\\' , 's3cret'", "SELECT '..'"),
            ("SELECT 'a\\\\' , b", "SELECT '..' , b"),
            ("/* s3cret */ SELECT 1 -- s3cret\n, 2 # s3cret", "SELECT 1 , 2"),
            ("/*!40101 SET NAMES utf8 */", "/*!40101 SET NAMES utf8 */"),
            ("SELECT 0x7333637265742D, 0xff, a0x12345678", "SELECT 0x.., 0xff, a0x12345678"),
            ("SELECT x'733363726574', 1-1, `it's` 'x'", "SELECT x'..', 1-1, `it's` '..'"),
            ("", ""),
        ] {
            assert_eq!(shown(sql, 200), line, "{sql}");
        }
        assert_eq!(shown(&"ü".repeat(9), 4), "üüüü...");
        assert_eq!(shown("ab  ", 2), "ab");
    }

    #[test]
    fn answers_show_no_texts_of_their_statement() {
        for (message, seen) in [
            (
                "syntax error near 'IDENTIFIED BY 's3cret'' at line 1",
                "syntax error near 'IDENTIFIED BY '..'' at line 1",
            ),
            ("near ''s3cret' at line 1' at line 1", "near ''..' at line 1' at line 1"),
            ("Duplicate entry 'a' for key 'b'", "Duplicate entry 'a' for key 'b'"),
            ("' at line 1 near '", "' at line 1 near '"),
        ] {
            assert_eq!(shown_answer(message), seen);
        }
    }

    #[test]
    fn secrets_are_told_from_names_of_columns() {
        for secret in [
            "SET PASSWORD = PASSWORD('x')",
            "GRANT ALL ON *.* TO a identified\nwith x as 'x'",
            "CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='x'",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 'x')",
            "INSERT INTO users (name, password) VALUES ('ann', 'x')",
            "UPDATE users SET password  =\t'x'",
            "CREATE TABLE t (a INT) ENGINE=SPIDER COMMENT='wrapper \"mysql\", password \"x\"'",
            "CREATE TABLE t (a INT) ENGINE=SPIDER COMMENT='password\"x\"'",
            "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://u:x@h/d/t'",
            "INSERT INTO `mysql`.`user` VALUES ('a')",
            "AES_ENCRYPT(@pw, 'x')",
            "SHA2(CONCAT(@a, 'x'), 256)",
        ] {
            assert!(holds_secret(secret), "{secret}");
        }
        for plain in [
            "CREATE TABLE users (id INT, `password` VARCHAR(64), product_master_id INT, is_identified BIT)",
            "CREATE TABLE users (password varchar(64) NOT NULL COMMENT 'the password', KEY password (password))",
            "INSERT INTO users (id, password, client_secret) SELECT 1, password, client_secret FROM old",
            "CONCAT(@a, 'x')",
            "SHA2(@a, 256)",
        ] {
            assert!(!holds_secret(plain), "{plain}");
        }
    }

    #[test]
    fn options_keep_what_is_no_secret() {
        for (typed, kept) in [
            ("--into", "--into"),
            ("d.t", "d.t"),
            ("a=CONCAT(@a,'x')", "a=CONCAT(@a,'x')"),
            ("a=AES_ENCRYPT(@a,'x')", "a=(not shown)"),
            ("--set-sql=a=AES_ENCRYPT(@a,'x')", "--set-sql=a=(not shown)"),
            ("--set=password=x", "--set=password=(not shown)"),
            ("password=x", "password=(not shown)"),
            ("mysql://u:x@h", "(not shown)"),
        ] {
            assert_eq!(shown_argument(typed), kept);
        }
    }
}
