//! The common type of columns of one name in several tables that are guessed.

/// Types of texts, the shorter before the longer.
const TEXTS: [&str; 4] = ["VARCHAR(255)", "TEXT", "MEDIUMTEXT", "LONGTEXT"];
/// Most digits of a number that a DOUBLE keeps, and of a DECIMAL with those behind its point.
const DOUBLE_DIGITS: usize = 15;
const DECIMAL_DIGITS: usize = 65;
const SCALE_MAX: usize = 38;

/// A type that holds the values of both without a change.
pub(super) fn common(one: &str, other: &str) -> String {
    if one == other {
        return one.to_owned();
    }
    let length = |name: &str| TEXTS.iter().position(|text| *text == name);
    if let (None, None) = (length(one), length(other)) {
        if let (Some(one), Some(other)) = (Number::of(one), Number::of(other)) {
            return one.common(other);
        }
        if let (Some((kind, one)), Some((other_kind, other))) = (clock(one), clock(other)) {
            match (kind, other_kind) {
                ("TIME", "TIME") => return seconds("TIME", one.max(other)),
                ("TIME", _) | (_, "TIME") => {}
                _ => return seconds("DATETIME", one.max(other)),
            }
        }
    }
    TEXTS[length(one).max(length(other)).unwrap_or(0)].to_owned()
}

/// A type of numbers.
#[derive(Clone, Copy, Debug)]
struct Number {
    /// Digits before the point, and behind it.
    digits: (usize, usize),
    is_integer: bool,
    is_double: bool,
    is_unsigned: bool,
}

impl Number {
    fn of(sql_type: &str) -> Option<Number> {
        let integer = |digits| {
            let is_unsigned = sql_type.ends_with("UNSIGNED");
            Number { digits: (digits, 0), is_integer: true, is_double: false, is_unsigned }
        };
        match sql_type {
            "BOOLEAN" => Some(integer(1)),
            "INT" => Some(integer(10)),
            "BIGINT" => Some(integer(19)),
            "BIGINT UNSIGNED" => Some(integer(20)),
            "DOUBLE" => Some(Number { is_integer: false, is_double: true, ..integer(0) }),
            _ => {
                let size = sql_type.strip_prefix("DECIMAL(")?.strip_suffix(')')?;
                let (all, scale) = size.split_once(',')?;
                let (all, scale): (usize, usize) = (all.parse().ok()?, scale.parse().ok()?);
                let digits = (all.checked_sub(scale)?, scale);
                Some(Number { digits, is_integer: false, ..integer(0) })
            }
        }
    }

    fn common(self, other: Number) -> String {
        let (whole, scale) = (self.digits.0.max(other.digits.0), self.digits.1.max(other.digits.1));
        if self.is_double || other.is_double {
            let is_kept = |number: Number| {
                number.is_double || number.digits.0 + number.digits.1 <= DOUBLE_DIGITS
            };
            return match is_kept(self) && is_kept(other) {
                true => "DOUBLE".to_owned(),
                false => TEXTS[0].to_owned(),
            };
        }
        if self.is_integer && other.is_integer && !self.is_unsigned && !other.is_unsigned {
            return if whole > 10 { "BIGINT" } else { "INT" }.to_owned();
        }
        match whole + scale <= DECIMAL_DIGITS && scale <= SCALE_MAX {
            true => format!("DECIMAL({},{scale})", whole + scale),
            false => TEXTS[0].to_owned(),
        }
    }
}

/// A type of days and times of a clock, and its digits behind the seconds. A TIMESTAMP is a moment.
fn clock(sql_type: &str) -> Option<(&'static str, usize)> {
    let (name, rest) = sql_type.split_once('(').unwrap_or((sql_type, "0)"));
    let digits = rest.strip_suffix(')')?.parse().ok()?;
    ["DATE", "DATETIME", "TIME"].into_iter().find(|kind| *kind == name).map(|kind| (kind, digits))
}

fn seconds(name: &str, digits: usize) -> String {
    if digits == 0 { name.to_owned() } else { format!("{name}({digits})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_type_changes_no_value() {
        for (one, other, expected) in [
            ("INT", "INT", "INT"),
            ("INT", "BIGINT", "BIGINT"),
            ("BOOLEAN", "INT", "INT"),
            ("BIGINT", "BIGINT UNSIGNED", "DECIMAL(20,0)"),
            ("INT", "DECIMAL(8,2)", "DECIMAL(12,2)"),
            ("DECIMAL(10,1)", "DECIMAL(8,4)", "DECIMAL(13,4)"),
            ("INT", "DOUBLE", "DOUBLE"),
            ("BIGINT", "DOUBLE", "VARCHAR(255)"),
            ("DATE", "DATETIME", "DATETIME"),
            ("DATETIME(3)", "DATE", "DATETIME(3)"),
            ("TIME", "TIME(2)", "TIME(2)"),
            ("TIME", "DATE", "VARCHAR(255)"),
            ("TIMESTAMP(0) NULL DEFAULT NULL", "DATETIME", "VARCHAR(255)"),
            ("INT", "DATE", "VARCHAR(255)"),
            ("INT", "VARCHAR(255)", "VARCHAR(255)"),
            ("DATE", "TEXT", "TEXT"),
            ("VARCHAR(255)", "MEDIUMTEXT", "MEDIUMTEXT"),
        ] {
            assert_eq!(common(one, other), expected, "{one}, {other}");
            assert_eq!(common(other, one), expected, "{other}, {one}");
        }
    }
}
