//! The parts of `sql_mode` that change how a value is stored.

use crate::habits::Habits;

/// A set of `sql_mode` flags. Strict mode is not one of them: it is always on here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SqlMode(u8);

impl SqlMode {
    /// `0000-00-00` is an error.
    pub const NO_ZERO_DATE: SqlMode = SqlMode(1);
    /// Dates such as `2024-00-00` are an error.
    pub const NO_ZERO_IN_DATE: SqlMode = SqlMode(2);
    /// Days to 31 in every month: `2024-02-31` is stored.
    pub const ALLOW_INVALID_DATES: SqlMode = SqlMode(4);
    /// Fractions of a second are rounded to the column's digits rather than cut.
    pub const TIME_ROUND_FRACTIONAL: SqlMode = SqlMode(8);

    /// A 0 in an AUTO_INCREMENT column is 0: no value is generated for it.
    pub const NO_AUTO_VALUE_ON_ZERO: SqlMode = SqlMode(16);
    /// Fractions of a second are cut, on a server that rounds them otherwise.
    pub const TIME_TRUNCATE_FRACTIONAL: SqlMode = SqlMode(32);

    /// Reads the value of `@@sql_mode`. Flags that do not concern values are skipped;
    /// `TRADITIONAL` stands for the two zero-date flags.
    pub fn parse(names: &str) -> SqlMode {
        let mut mode = SqlMode::default();
        for name in names.split(',') {
            mode = mode
                | match name.trim().to_ascii_uppercase().as_str() {
                    "NO_ZERO_DATE" => SqlMode::NO_ZERO_DATE,
                    "NO_ZERO_IN_DATE" => SqlMode::NO_ZERO_IN_DATE,
                    "ALLOW_INVALID_DATES" => SqlMode::ALLOW_INVALID_DATES,
                    "TIME_ROUND_FRACTIONAL" => SqlMode::TIME_ROUND_FRACTIONAL,
                    "TIME_TRUNCATE_FRACTIONAL" => SqlMode::TIME_TRUNCATE_FRACTIONAL,
                    "NO_AUTO_VALUE_ON_ZERO" => SqlMode::NO_AUTO_VALUE_ON_ZERO,
                    "TRADITIONAL" => SqlMode::NO_ZERO_DATE | SqlMode::NO_ZERO_IN_DATE,
                    _ => SqlMode::default(),
                };
        }
        mode
    }

    /// The other flags.
    pub const fn without(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & !other.0)
    }

    /// The flags as a server with these habits takes them.
    pub(crate) fn on(self, habits: Habits) -> SqlMode {
        match habits.rounds_fractions && !self.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
            true => self | SqlMode::TIME_ROUND_FRACTIONAL,
            false => self,
        }
    }

    /// True if every flag of `other` is set.
    pub const fn contains(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for SqlMode {
    type Output = SqlMode;

    fn bitor(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_from_the_servers_list() {
        let mode = SqlMode::parse("STRICT_TRANS_TABLES,NO_ZERO_DATE,time_round_fractional");
        assert!(mode.contains(SqlMode::NO_ZERO_DATE | SqlMode::TIME_ROUND_FRACTIONAL));
        assert!(!mode.contains(SqlMode::NO_ZERO_IN_DATE));
        assert_eq!(SqlMode::parse(""), SqlMode::default());
    }
}
