//! The conversion of values, and the rules for refused rows and for rows that share a key.

use std::path::PathBuf;

/// The rule for rows that have a primary or unique key in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The first that is met fails the load. The default, because it loses nothing.
    #[default]
    Fail,
    /// As LOAD DATA IGNORE: in input order, a row is left out if one that stays before it has any
    /// of its keys.
    Skip,
    /// As LOAD DATA REPLACE: in input order, a row takes the place of all rows before it that
    /// have any of its keys.
    Replace,
    /// As INSERT .. ON DUPLICATE KEY UPDATE of the columns that the input has: in input order, a
    /// row that shares a key with one that is there changes that one. By INSERT, or where it comes to
    /// the same as Replace.
    Update,
}

impl OnDuplicate {
    /// True if a row takes the place of those before it, where it may be either of the two.
    pub fn replaces(self) -> bool {
        matches!(self, OnDuplicate::Replace | OnDuplicate::Update)
    }

    /// As `--on-duplicate` has it.
    pub fn name(self) -> &'static str {
        match self {
            OnDuplicate::Fail => "fail",
            OnDuplicate::Skip => "skip",
            OnDuplicate::Replace => "replace",
            OnDuplicate::Update => "update",
        }
    }
}

/// The statement whose rules apply to a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowRules {
    /// LOAD DATA's under strict mode.
    #[default]
    LoadData,
    /// Those of INSERTs with a list of rows. NULL is refused for a TIMESTAMP that is NOT NULL, which
    /// LOAD DATA gives the time, and so are values for generated columns; generated AUTO_INCREMENT
    /// values are not reserved in chunks. Where they depend on which statement a row is in, the
    /// load fails: [`is_not_plain`](crate::Error::is_not_plain).
    Insert,
}

/// A column that has the same value in all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The name of the column, in any case.
    pub column: String,
    /// Its value.
    pub value: ConstantValue,
}

/// The origin of a constant, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstantValue {
    /// A text, which the column reads as it does fields.
    Text(String),
    /// An SQL expression that the server has not evaluated yet.
    Expression(String),
    /// The server's value of an SQL expression.
    Evaluated {
        /// The value as text.
        text: String,
        /// True if the value is a number: of an ENUM, 2 is the second label and not the label `2`.
        is_number: bool,
        /// Digest of the expression, which another run of the command has too. The value of `NOW()` differs.
        expression: u64,
    },
}

impl Constant {
    /// A column with a text.
    pub fn text(column: impl Into<String>, text: impl Into<String>) -> Constant {
        Constant { column: column.into(), value: ConstantValue::Text(text.into()) }
    }

    /// A column with the value of an SQL expression.
    pub fn expression(column: impl Into<String>, expression: impl Into<String>) -> Constant {
        Constant { column: column.into(), value: ConstantValue::Expression(expression.into()) }
    }
}

impl ConstantValue {
    /// True if an expression gave the value.
    pub fn is_evaluated(&self) -> bool {
        matches!(self, ConstantValue::Evaluated { .. })
    }
}

/// The conversion of values, and the rules for refused rows and for rows that share a key.
#[derive(Clone, Debug, Default)]
pub struct RowOptions {
    /// The statement whose rules apply to a row. Default: LOAD DATA.
    pub rules: RowRules,
    /// Columns that have the same value in all rows, which the input lacks.
    pub constants: Vec<Constant>,
    /// Flags of `sql_mode` by which values are read, besides strict mode. Default: the server's.
    pub sql_mode: Option<String>,
    /// Time zone of the input's TIMESTAMP values. Default: that of the server's sessions.
    pub time_zone: Option<String>,
    /// The rule for rows with one key. Default: they fail the load.
    pub on_duplicate: OnDuplicate,
    /// The file for rows that are left out as duplicates, byte for byte; `<file>.reasons.jsonl` says to
    /// which row each lost. Only for [`OnDuplicate::Skip`] and [`OnDuplicate::Replace`].
    pub duplicates: Option<PathBuf>,
    /// The file for refused rows, byte for byte; `<file>.reasons.jsonl` says why.
    pub rejects: Option<PathBuf>,
    /// Refused rows that are tolerated. Default 0: the first one fails the load.
    pub rejects_max: u64,
    /// The part of the input's rows that may be refused, in percent, which is judged when all of them
    /// are read and before any is published. Rows that are added go in by one transaction then.
    /// Default: `rejects_max` alone counts.
    pub rejects_max_percent: Option<f64>,
}

impl RowOptions {
    /// True if a constant gives this column its value.
    pub fn has_constant(&self, column: &str) -> bool {
        let lower = column.to_lowercase();
        self.constants.iter().any(|constant| constant.column.to_lowercase() == lower)
    }

    /// True if rows of the input can be left out of the table.
    pub fn leaves_out(&self) -> bool {
        self.on_duplicate != OnDuplicate::Fail || self.rejects_max > 0
    }
}
