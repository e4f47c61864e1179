//! DEFAULT expressions with one value for all rows of a statement.
//!
//! The server prints expressions in one form (names of functions in lower case right before
//! their parenthesis, columns in backquotes), so words are enough to tell. A function counts as
//! constant when it is known to be; the moment of the statement is one moment to all of them.

use super::column_type::parse_literal;

/// Functions whose value depends on their arguments and the statement's moment alone, and types that CAST and CONVERT name.
#[rustfmt::skip]
const CONSTANT: &[&str] = &[
    "abs", "acos", "adddate", "addtime", "ascii", "asin", "atan", "atan2", "bin", "binary",
    "bit_length", "bit_count", "cast", "ceil", "ceiling", "char", "char_length", "character_length",
    "charset", "chr", "coalesce", "coercibility", "collation", "concat", "concat_ws", "conv",
    "convert", "cos", "cot", "crc32", "crc32c", "curdate", "current_date", "current_time",
    "current_timestamp", "curtime", "date", "date_add", "date_format", "date_sub", "datediff",
    "datetime", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear", "decimal", "degrees",
    "double", "elt", "exp", "export_set", "extract", "field", "find_in_set", "float", "floor",
    "format", "format_pico_time", "from_base64", "from_days", "from_unixtime", "greatest", "hex",
    "hour", "if", "ifnull", "inet6_aton", "inet6_ntoa", "inet_aton", "inet_ntoa", "insert", "instr",
    "interval", "isnull", "json_array", "json_compact", "json_extract", "json_object", "json_quote",
    "json_unquote", "json_valid", "json_value", "last_day", "lcase", "least", "left", "length",
    "ln", "localtime", "localtimestamp", "locate", "log", "log10", "log2", "lower", "lpad", "ltrim",
    "make_set", "makedate", "maketime", "md5", "microsecond", "mid", "minute", "mod", "month",
    "monthname", "natural_sort_key", "nchar", "now", "nullif", "nvl", "nvl2", "oct", "octet_length",
    "ord", "period_add", "period_diff", "pi", "position", "pow", "power", "quarter", "quote",
    "radians", "regexp_instr", "regexp_replace", "regexp_substr", "repeat", "replace", "reverse",
    "right", "round", "rpad", "rtrim", "sec_to_time", "second", "sformat", "sha", "sha1", "sha2",
    "sign", "sin", "soundex", "space", "sqrt", "str_to_date", "strcmp", "subdate", "substr",
    "substring", "substring_index", "subtime", "tan", "time", "time_format", "time_to_sec",
    "timediff", "timestamp", "timestampadd", "timestampdiff", "to_base64", "to_char", "to_days",
    "to_seconds", "trim", "truncate", "ucase", "unhex", "unix_timestamp", "upper", "utc_date",
    "utc_time", "utc_timestamp", "varchar", "week", "weekday", "weekofyear", "weight_string",
    "year", "yearweek",
];

/// The part of an expression that may differ from row to row, or from LOAD DATA's value; None if there is none.
pub(super) fn variable_part(expression: &str) -> Option<String> {
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        match first {
            '\'' => match parse_literal(rest) {
                Some((_, after)) => rest = after,
                None => return Some("an unfinished string".to_owned()),
            },
            '`' => return Some(format!("{} (another column)", quoted_name(rest))),
            '@' | '"' | '#' => return Some(format!("{first} (a variable or similar)")),
            first if first.is_alphabetic() || first == '_' => {
                let word = |c: char| !(c.is_alphanumeric() || c == '_' || c == '$');
                let (name, after) = rest.split_at(rest.find(word).unwrap_or(rest.len()));
                let known = CONSTANT.contains(&name.to_ascii_lowercase().as_str());
                if after.starts_with('(') && !known {
                    return Some(format!("{name}()"));
                }
                rest = after;
            }
            first => rest = &rest[first.len_utf8()..],
        }
    }
    None
}

/// The name in backquotes at the start of `text`, with them.
fn quoted_name(text: &str) -> &str {
    let end = text[1..].find('`').map_or(text.len(), |end| end + 2);
    &text[..end]
}

/// Digits of the fraction of `current_timestamp()`, `current_timestamp(3)`; None for another expression.
pub(super) fn current_timestamp_digits(expression: &str) -> Option<u8> {
    // MySQL writes CURRENT_TIMESTAMP, and CURRENT_TIMESTAMP(3).
    let lower = expression.to_ascii_lowercase();
    let rest = lower.strip_prefix("current_timestamp")?;
    if rest.is_empty() {
        return Some(0);
    }
    let digits = rest.strip_prefix('(')?.strip_suffix(')')?;
    if digits.is_empty() { Some(0) } else { digits.parse().ok().filter(|&digits| digits <= 6) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_expressions() {
        for text in [
            "(1 + 2)",
            "concat('a`@','b''c')",
            "curdate()",
            "(current_timestamp() + interval 1 day)",
            "cast('2020-01-01' as date)",
            "(cast(1.5 as decimal(5,2)))",
            "(case when 1 > 2 then 3 else 4 end)",
            "trim(both 'x' from 'xax')",
            "('a' in ('b','c'))",
            "_latin1'abc'",
        ] {
            assert_eq!(variable_part(text), None, "{text}");
        }
    }

    #[test]
    fn what_differs_is_named() {
        for (text, part) in [
            ("uuid()", "uuid()"),
            ("(floor(rand() * 10))", "rand()"),
            ("(`a` + 1)", "`a` (another column)"),
            ("nextval(`d`.`s`)", "nextval()"),
            ("sysdate()", "sysdate()"),
            ("(@x + 1)", "@ (a variable or similar)"),
            ("concat('a", "an unfinished string"),
            ("load_file('x')", "load_file()"),
        ] {
            assert_eq!(variable_part(text).as_deref(), Some(part), "{text}");
        }
    }

    #[test]
    fn the_statements_moment() {
        assert_eq!(current_timestamp_digits("current_timestamp()"), Some(0));
        assert_eq!(current_timestamp_digits("current_timestamp(3)"), Some(3));
        assert_eq!(current_timestamp_digits("CURRENT_TIMESTAMP"), Some(0));
        assert_eq!(current_timestamp_digits("CURRENT_TIMESTAMP(6)"), Some(6));
        assert_eq!(current_timestamp_digits("(current_timestamp() + interval 1 day)"), None);
    }
}
