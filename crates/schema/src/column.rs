//! A column as the server declares it.

use values::SqlType;

/// Value of a column that the input does not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// NOT NULL without DEFAULT: leaving it out is an error under strict mode.
    None,
    /// NULL.
    Null,
    /// A constant, as the text that LOAD DATA would have to read to store it (UTF-8 or raw bytes).
    Constant(Vec<u8>),
    /// As `Constant`, of a TIMESTAMP: a time in UTC, whatever the session's zone.
    ConstantUtc(Vec<u8>),
    /// The value that a load gives all rows instead, in stored form.
    Stored(Vec<u8>),
    /// Anything else (CURRENT_TIMESTAMP, UUID(), ...): its SQL text.
    Expression(String),
}

impl DefaultValue {
    /// True if it is the same value for every row, and known here.
    pub fn is_value(&self) -> bool {
        !matches!(self, DefaultValue::None | DefaultValue::Expression(_))
    }
}

/// How the value of a generated column comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// Computed when it is read: VIRTUAL.
    Virtual,
    /// Computed when the row is written: STORED.
    Stored,
    /// Not said.
    Unsaid,
}

/// How a column's values are kept, where that does not follow from its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// It does follow.
    #[default]
    Usual,
    /// Compressed one by one; the declaration.
    Compressed(String),
    /// In the temporal format of servers before 10.1; the declaration.
    OldTemporal(String),
    /// YEAR(2). The type is [`SqlType::Opaque`].
    TwoDigitYear,
    /// Text in a character set that is not known here, by its name. The type is
    /// [`SqlType::Opaque`].
    UnknownCharset(String),
    /// A column of an unknown type; the declaration. The type is [`SqlType::Opaque`].
    UnknownType(String),
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// True if NULL is allowed.
    pub nullable: bool,
    /// True for the AUTO_INCREMENT column.
    pub auto_increment: bool,
    /// The value of a row that does not name it.
    pub default: DefaultValue,
    /// The text of a FLOAT's DEFAULT, if the server shows fewer digits than it has: a copy that the
    /// server makes of the table has another value.
    pub rounded_default: Option<String>,
    /// INVISIBLE: a load without a column list leaves it out.
    pub is_invisible: bool,
    /// The way in which the server makes its values, if it does.
    pub generated: Option<Generated>,
    /// How its values are kept.
    pub storage: Storage,
}

impl Column {
    /// A column like most: NOT NULL, without a default, visible.
    pub fn new(name: impl Into<String>, sql_type: SqlType) -> Column {
        Column {
            name: name.into(),
            sql_type,
            nullable: false,
            auto_increment: false,
            default: DefaultValue::None,
            rounded_default: None,
            is_invisible: false,
            generated: None,
            storage: Storage::Usual,
        }
    }
}
