//! The sent form of each column.
//!
//! A column that the input has is sent as the text of its field, so that the server makes of it what
//! LOAD DATA makes of the file. A column that it lacks is left out, and the server puts in its own
//! DEFAULT; but where that is the moment of the statement, the moment is sent: a load is many
//! statements, and all its rows have one. Values of generated columns are looked at, as LOAD DATA
//! does, and not sent.

use catalog::{self, Moment};
use encode::inspected::Inspected;
use encode::text::{self, Literal};
use job::error::Error;
use job::options::RowRules;
use schema::{Column, Table};
use server::Session;
use server::engine::Kind;
use server::identifier::quote_name;
use server::version::{Flavor, Version};
use values::{Charset, Converter, SqlMode, SqlType, Zone};

/// `sql_mode` of sessions that load, besides the flags by which values are read. Without
/// NO_BACKSLASH_ESCAPES and ANSI_QUOTES, whatever the server has.
const SQL_MODE: &str =
    "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// The one flag about values that only MySQL has.
const CUTS_FRACTIONS: &str = "TIME_TRUNCATE_FRACTIONAL";

/// Flags by which values are read.
const VALUE_FLAGS: [(SqlMode, &str); 5] = [
    (SqlMode::NO_ZERO_DATE, "NO_ZERO_DATE"),
    (SqlMode::NO_ZERO_IN_DATE, "NO_ZERO_IN_DATE"),
    (SqlMode::ALLOW_INVALID_DATES, "ALLOW_INVALID_DATES"),
    (SqlMode::TIME_ROUND_FRACTIONAL, "TIME_ROUND_FRACTIONAL"),
    (SqlMode::NO_AUTO_VALUE_ON_ZERO, "NO_AUTO_VALUE_ON_ZERO"),
];

/// Where the text of a column comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A field of the line, from 0.
    Field(usize),
    /// The same for every row, in ASCII or the character set of the input.
    Constant(Vec<u8>),
    /// AUTO_INCREMENT: the field, if the input has it, unless a value is counted.
    AutoIncrement(Option<usize>),
}

impl Origin {
    pub(crate) fn field(&self) -> Option<usize> {
        match self {
            Origin::Field(field) | Origin::AutoIncrement(Some(field)) => Some(*field),
            _ => None,
        }
    }
}

/// The sent form of NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OnNull {
    /// Nothing: the row is refused.
    Refused,
    /// NULL, whatever the server makes of it.
    Null,
    /// This text: the moment, for a TIMESTAMP that is NOT NULL.
    Text(Vec<u8>),
    /// The moment of the statement, as the server writes it with so many digits of the fraction.
    Moment(u8),
}

/// A column that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct SentColumn {
    pub(crate) column: Column,
    pub(crate) origin: Origin,
    /// Tells good values from bad ones; none where only the server can.
    pub(crate) converter: Option<Converter>,
    pub(crate) on_null: OnNull,
    pub(crate) literal: Literal,
    /// Not for a generated column.
    pub(crate) is_sent: bool,
    /// True if the input or the user says a value: rows that are there keep those of other columns.
    pub(crate) is_given: bool,
}

/// A column of the target that the load fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilledColumn {
    /// Its name.
    pub(crate) name: String,
    /// Its field, from 0; none for a constant.
    pub(crate) field: Option<usize>,
}

/// All columns that the input has a say in, in table order.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) columns: Vec<SentColumn>,
    /// Fields of a whole line, and those that it must have.
    pub(crate) fields_per_row: usize,
    pub(crate) fields_needed: usize,
    /// Character set of the input.
    pub(crate) file: Charset,
    /// The escape character of lines.
    pub(crate) escape: u8,
    /// True if the reader of lines drops a byte order mark at their beginning, also one of a value, unless it is
    /// escaped: TiDB's. Source: pkg/lightning/mydump/parser.go, `readBlock`; seen on 8.5.
    pub(crate) escapes_mark: bool,
    /// Place of the AUTO_INCREMENT column among `columns`.
    pub(crate) auto_increment: Option<usize>,
    /// Zone that moments are shown in.
    pub(crate) zone: Zone,
    sql_mode: SqlMode,
    /// True if MySQL must cut fractions of seconds instead of rounding them.
    cuts_fractions: bool,
}

impl Columns {
    /// Says for each column of the table what is sent for it.
    ///
    /// Errors: the server's.
    pub(crate) fn new(
        session: &mut Session,
        table: &Table,
        inspected: &Inspected,
    ) -> Result<Columns, Error> {
        let mut binder = Binder { session, table, inspected, moment: None };
        let mut columns = Vec::new();
        for position in 0..table.columns.len() {
            columns.extend(binder.column(position)?);
        }
        Ok(Columns {
            fields_per_row: inspected.fields.columns.len(),
            fields_needed: inspected.fields.needed(),
            file: inspected.convert.file_charset,
            escapes_mark: Kind::of_version(session.version()) == Kind::TiDb,
            escape: text::escape(inspected.convert.file_charset),
            auto_increment: columns.iter().position(|column| column.column.auto_increment),
            zone: inspected.convert.time_zone.clone(),
            sql_mode: inspected.convert.sql_mode,
            cuts_fractions: inspected.sql_mode.split(',').any(|flag| flag == CUTS_FRACTIONS),
            columns,
        })
    }

    /// Variables of the sessions that the rows are sent in.
    pub(crate) fn settings(&self, version: &Version) -> Vec<(&'static str, String)> {
        let mut settings = vec![("sql_mode", self.sql_mode())];
        // MySQL only notes that a DECIMAL lost the text behind its number, which it refuses in strict mode.
        let is_unread = |sent: &SentColumn| {
            sent.converter.is_none() && matches!(sent.column.sql_type, SqlType::Decimal { .. })
        };
        if version.flavor == Flavor::MySql && self.columns.iter().any(is_unread) {
            settings.push(("sql_notes", "1".to_owned()));
        }
        settings
    }

    /// `sql_mode` of those sessions.
    pub(crate) fn sql_mode(&self) -> String {
        let flags = VALUE_FLAGS.iter().filter(|(flag, _)| self.sql_mode.contains(*flag));
        let names =
            flags.map(|(_, name)| *name).chain(self.cuts_fractions.then_some(CUTS_FRACTIONS));
        names.fold(SQL_MODE.to_owned(), |modes, name| format!("{modes},{name}"))
    }

    /// True if rows can be written as [`super::sent_chunk::Form::Values`]: they have no expressions,
    /// and their character set can be a session's.
    pub(crate) fn are_values(&self) -> bool {
        let is_value = |column: &SentColumn| !matches!(column.on_null, OnNull::Moment(_));
        self.file.is_ascii_superset()
            && self.columns.iter().all(is_value)
            && !self.names().is_empty()
    }

    /// True if LOAD DATA refuses every row: one with a VECTOR of a file in a character set.
    pub(crate) fn are_refused_as_lines(&self) -> bool {
        let is_vector = |sent: &SentColumn| {
            sent.is_sent && matches!(sent.column.sql_type, SqlType::Vector { .. })
        };
        self.file != Charset::Binary && self.columns.iter().any(is_vector)
    }

    /// Names of the columns that are sent, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let sent = self.columns.iter().filter(|column| column.is_sent);
        sent.map(|column| column.column.name.clone()).collect()
    }

    /// Names of the columns that a row changes in one that is there, in order.
    pub(crate) fn given_names(&self) -> Vec<String> {
        let given = self.columns.iter().filter(|column| column.is_sent && column.is_given);
        given.map(|column| column.column.name.clone()).collect()
    }

    /// All columns that the rows fill, with their fields.
    pub(crate) fn filled(&self) -> Vec<FilledColumn> {
        let filled = |sent: &SentColumn| FilledColumn {
            name: sent.column.name.clone(),
            field: sent.origin.field(),
        };
        self.columns.iter().map(filled).collect()
    }

    /// The columns of LOAD DATA, in parentheses.
    pub(crate) fn load_columns(&self) -> String {
        let names: Vec<String> = self.names().iter().map(|name| quote_name(name)).collect();
        match names.is_empty() {
            // Without names LOAD DATA would fill all columns.
            true => "(@inrush)".to_owned(),
            false => format!("({})", names.join(", ")),
        }
    }
}

struct Binder<'a> {
    session: &'a mut Session,
    table: &'a Table,
    inspected: &'a Inspected,
    /// One for all rows; asked for when the first column needs it.
    moment: Option<Moment>,
}

impl Binder<'_> {
    /// The sent form of a column, if the load uses it.
    fn column(&mut self, position: usize) -> Result<Option<SentColumn>, Error> {
        let column = &self.table.columns[position];
        let field = self.inspected.fields.field_of(position);
        let is_sent = column.generated.is_none();
        let mut said = self.inspected.constants.iter();
        let constant = said.find(|constant| constant.column == position);
        let origin = match (field, catalog::default_moment_digits(column)) {
            (field, _) if column.auto_increment => Origin::AutoIncrement(field),
            (Some(field), _) => Origin::Field(field),
            (None, Some(digits)) if is_sent && constant.is_none() => {
                match self.moment()?.local(digits) {
                    Some(text) => Origin::Constant(text),
                    None => return Ok(None),
                }
            }
            (None, _) => match constant {
                Some(constant) => Origin::Constant(constant.text.clone()),
                None => return Ok(None),
            },
        };
        Ok(Some(SentColumn {
            converter: self.converter(column)?,
            on_null: self.on_null(column)?,
            literal: Literal::of(&column.sql_type),
            column: column.clone(),
            origin,
            is_sent,
            is_given: field.is_some() || constant.is_some(),
        }))
    }

    fn converter(&self, column: &Column) -> Result<Option<Converter>, Error> {
        // How other builds of MySQL convert is not known here, nor what a value for a generated column may be there;
        // but a number is a number, and rows are counted.
        let version = self.session.version();
        let is_known = version.flavor == Flavor::MariaDb
            || column.auto_increment
            || version.is_tested() && column.generated.is_none();
        if !is_known {
            return Ok(None);
        }
        let Column { name, sql_type, .. } = column;
        if !sql_type.is_convertible(self.inspected.is_zone_known) {
            return Ok(None);
        }
        let labels = sql_type
            .label_text()
            .and_then(|text| self.inspected.labels.get(&text.collation).cloned());
        Ok(Some(Converter::with_collation(name, sql_type, &self.inspected.convert, labels)?))
    }

    /// LOAD DATA gives a TIMESTAMP that is NOT NULL the time it is, and AUTO_INCREMENT a number.
    fn on_null(&mut self, column: &Column) -> Result<OnNull, Error> {
        if column.nullable || column.auto_increment {
            return Ok(OnNull::Null);
        }
        let is_insert = self.inspected.rules == RowRules::Insert;
        let SqlType::Timestamp { digits } = column.sql_type else { return Ok(OnNull::Refused) };
        if is_insert {
            return Ok(OnNull::Refused);
        }
        Ok(self.moment()?.local(digits).map_or(OnNull::Moment(digits), OnNull::Text))
    }

    fn moment(&mut self) -> Result<&Moment, Error> {
        match &mut self.moment {
            Some(moment) => Ok(moment),
            none => Ok(none.insert(Moment::now(self.session)?)),
        }
    }
}
