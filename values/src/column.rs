//! A column as the server declares it, and what a load does with it.

pub use crate::charset::Charset;

/// What a character column holds and how it compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextType {
    /// Its bytes.
    pub charset: Charset,
    /// Full collation name as the server says it: `latin1_swedish_ci`, `utf8mb4_uca1400_ai_ci`.
    pub collation: String,
}

/// SQL type of a column: everything its stored form depends on.
#[allow(missing_docs, reason = "the fields are what the variant's line says")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// TINYINT (1 byte) to BIGINT (8 bytes), BOOL.
    Integer { bytes: u8, unsigned: bool },
    /// DECIMAL(precision, scale), precision to 65, scale to 38.
    Decimal { precision: u8, scale: u8, unsigned: bool },
    /// FLOAT, FLOAT(m,d): `digits` is the (m,d) of the declaration, which rounds.
    Float { unsigned: bool, digits: Option<(u8, u8)> },
    /// DOUBLE, DOUBLE(m,d).
    Double { unsigned: bool, digits: Option<(u8, u8)> },
    /// DATE.
    Date,
    /// TIME(digits), digits of the fraction 0 to 6.
    Time { digits: u8 },
    /// DATETIME(digits).
    DateTime { digits: u8 },
    /// TIMESTAMP(digits).
    Timestamp { digits: u8 },
    /// YEAR.
    Year,
    /// BIT(bits), 1 to 64.
    Bit { bits: u8 },
    /// ENUM; labels in declared order, in UTF-8.
    Enum { labels: Vec<String>, text: TextType },
    /// SET; labels in declared order, in UTF-8.
    Set { labels: Vec<String>, text: TextType },
    /// CHAR(chars) of a character set.
    Char { chars: u32, text: TextType },
    /// VARCHAR(chars) of a character set.
    VarChar { chars: u32, text: TextType },
    /// BINARY(bytes).
    Binary { bytes: u32 },
    /// VARBINARY(bytes).
    VarBinary { bytes: u32 },
    /// TINYTEXT (255) to LONGTEXT (2^32-1).
    Text { bytes_max: u64, text: TextType },
    /// TINYBLOB to LONGBLOB.
    Blob { bytes_max: u64 },
    /// UUID.
    Uuid,
    /// INET4.
    Inet4,
    /// INET6.
    Inet6,
    /// JSON: LONGTEXT utf8mb4_bin whose value the server checks with JSON_VALID.
    Json,
    /// A type whose stored form is not known here (GEOMETRY, VECTOR, MySQL's JSON): `declared` as
    /// the server words it. No [`crate::Converter`] can be had for it; values can only be handed to
    /// the server, as text in a character set or as bytes.
    Opaque { declared: String, is_text: bool },
}

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
    /// Anything else (CURRENT_TIMESTAMP, UUID(), ...): its SQL text.
    Expression(String),
}

impl DefaultValue {
    /// Whether it is the same value for every row, and known here.
    pub fn is_value(&self) -> bool {
        !matches!(self, DefaultValue::None | DefaultValue::Expression(_))
    }
}

/// One column of the target table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether it is the AUTO_INCREMENT column.
    pub auto_increment: bool,
    /// What a row gets that does not name it.
    pub default: DefaultValue,
}
