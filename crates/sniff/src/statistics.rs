//! Statistics of each column, and the type that holds its values.

use super::habits::{Habit, HabitFormat, Habits};
use super::kind::{self, Forms};
use super::mixture::{Majority, Mixture, OddValue};
use super::records::RawValue;
use super::{Sniffed, SniffedColumn};

/// Fields that stand for NULL in files of others.
const TOKENS: [&str; 8] = ["", "NULL", "null", "NA", "N/A", "NaN", "None", "\\N"];
/// Most digits of a DECIMAL, and most behind its point.
const DIGITS_MAX: usize = 65;
const SCALE_MAX: usize = 38;
/// Characters of a VARCHAR; the first that leaves room for half as much again is taken.
const WIDTHS: [usize; 12] = [10, 20, 40, 64, 100, 160, 255, 500, 1000, 2000, 4000, 8000];
/// Bytes of a row in which VARCHAR columns count in full: the server's limit less some room.
const ROW_BYTES_MAX: usize = 60_000;
/// Bytes of the longest UTF-8 character.
const CHARACTER_BYTES: usize = 4;

/// Statistics so far.
pub(super) struct ColumnStatistics {
    columns: Vec<Column>,
    /// Whole numbers of the first column, while it has nothing else.
    first: Option<Vec<i64>>,
    pub(super) rows: u64,
    pub(super) decimal_commas: bool,
    /// Names of columns whose days may be read in two ways.
    pub(super) ambiguous: Vec<String>,
    /// Columns that a few values make text.
    pub(super) mixed: Vec<MixedColumn>,
    habits: Habits,
}

/// A column that a few values make text.
pub(super) struct MixedColumn {
    pub(super) name: String,
    /// The type of the other values.
    pub(super) sql_type: String,
    /// True if the other values are numbers; else they are dates.
    pub(super) are_numbers: bool,
    /// All its values, and those that make it text.
    pub(super) values: u64,
    pub(super) others: u64,
    /// The first of these.
    pub(super) first: OddValue,
}

/// One column.
#[derive(Clone, Debug, Default)]
struct Column {
    /// Values, without NULL and what may stand for it.
    values: u64,
    nulls: u64,
    tokens: [u64; TOKENS.len()],
    chars_max: usize,
    bytes_max: usize,
    not_integer: bool,
    not_decimal: bool,
    not_double: bool,
    not_date: bool,
    not_datetime: bool,
    not_time: bool,
    least: i128,
    most: i128,
    whole_digits: usize,
    scale: usize,
    datetime_digits: usize,
    time_digits: usize,
    decimal_commas: u64,
    /// How people may have written its values.
    habit: Habit,
    mixture: Mixture,
}

impl ColumnStatistics {
    pub(super) fn new(fields: usize) -> ColumnStatistics {
        let columns = vec![Column::default(); fields];
        ColumnStatistics {
            columns,
            first: Some(Vec::new()),
            rows: 0,
            decimal_commas: false,
            ambiguous: Vec::new(),
            mixed: Vec::new(),
            habits: Habits::new(),
        }
    }

    /// A row.
    pub(super) fn row(&mut self, values: &[RawValue<'_>]) {
        for (column, given) in self.columns.iter_mut().zip(values) {
            column.take(self.rows, *given, &mut self.habits);
        }
        self.rows += 1;
        let first = values.first().and_then(|given| kind::integer(given.value?));
        match (&mut self.first, first.and_then(|value| i64::try_from(value).ok())) {
            (Some(numbers), Some(number)) => numbers.push(number),
            _ => self.first = None,
        }
    }

    /// The field that stands for NULL, if columns that else hold numbers or dates have one.
    pub(super) fn null_token(&self) -> Option<&'static str> {
        let typed = || self.columns.iter().filter(|column| column.values > 0 && column.has_form());
        let votes = |index: usize| typed().filter(|column| column.tokens[index] > 0).count();
        let best = (0..TOKENS.len()).max_by_key(|&index| (votes(index), TOKENS.len() - index))?;
        (votes(best) > 0).then_some(TOKENS[best])
    }

    /// Gives the columns their types, and the table its key.
    pub(super) fn columns(&mut self, sniffed: &mut Sniffed) {
        let token = sniffed.null_token.as_deref();
        let token = token.and_then(|token| TOKENS.iter().position(|known| *known == token));
        let mut widths = Vec::new();
        for (column, sniffed_column) in self.columns.iter_mut().zip(&mut sniffed.columns) {
            column.settle(token);
            self.decimal_commas |= column.decimal_commas > 0 && !column.has_form();
            if column.values > 0 && column.is_text() && column.habit.is_ambiguous() {
                self.ambiguous.push(sniffed_column.name.clone());
            }
            self.mixed.extend(column.mixed(&sniffed_column.name, sniffed.is_whole));
            sniffed_column.format = column.found().map(|found| found.format);
            let width = column.width(sniffed.is_whole);
            widths.push(width);
            sniffed_column.sql_type = column.sql_type(sniffed.is_whole, width);
            sniffed_column.nullable = column.nulls > 0 || !sniffed.is_whole || column.values == 0;
        }
        self.narrow(sniffed, &mut widths);
        if sniffed.is_whole && self.looks_unique(&sniffed.columns) {
            sniffed.primary_key = Some(0);
        }
        widen_ids(sniffed);
    }

    /// Makes TEXT of the longest VARCHAR columns until a row fits the server's limit.
    fn narrow(&self, sniffed: &mut Sniffed, widths: &mut [Option<usize>]) {
        let total =
            |widths: &[Option<usize>]| widths.iter().flatten().sum::<usize>() * CHARACTER_BYTES;
        while total(widths) > ROW_BYTES_MAX {
            let longest = (0..widths.len()).max_by_key(|&index| widths[index]);
            let Some(index) = longest else { return };
            widths[index] = None;
            sniffed.columns[index].sql_type = self.columns[index].text_type().to_owned();
        }
    }

    /// True if the first column has a distinct number in each row, and a name like one.
    pub(super) fn looks_unique(&self, columns: &[SniffedColumn]) -> bool {
        let (Some(numbers), Some(column)) = (&self.first, columns.first()) else { return false };
        let name = column.name.to_ascii_lowercase();
        let endings = ["id", "key", "_no", "_nr", "number"];
        let is_named = name == "c1" || endings.iter().any(|ending| name.ends_with(ending));
        if !is_named || numbers.len() < 2 || !column.sql_type.contains("INT") {
            return false;
        }
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] < pair[1])
    }
}

impl Column {
    fn take(&mut self, row: u64, given: RawValue<'_>, habits: &mut Habits) {
        let Some(value) = given.value else {
            self.nulls += 1;
            return;
        };
        self.bytes_max = self.bytes_max.max(value.len());
        if value.len() > self.chars_max {
            self.chars_max = self.chars_max.max(characters(value));
        }
        if !given.is_quoted
            && let Some(token) = TOKENS.iter().position(|token| token.as_bytes() == value)
        {
            self.tokens[token] += 1;
            return;
        }
        self.values += 1;
        self.habit.take(value, habits);
        if self.is_text() && !self.mixture.is_open() {
            return;
        }
        let forms = Forms::of(value);
        self.mixture.take(row, value, &forms);
        self.not_integer |= !forms.integer;
        self.not_decimal |= forms.decimal.is_none();
        self.not_double |= !forms.double;
        self.not_date |= !forms.date;
        self.not_datetime |= forms.datetime.is_none();
        self.not_time |= forms.time.is_none();
        self.decimal_commas += u64::from(forms.decimal_comma);
        if let Some(number) = kind::integer(value).filter(|_| forms.integer) {
            self.least = self.least.min(number);
            self.most = self.most.max(number);
        }
        if let Some((whole, scale)) = forms.decimal {
            self.whole_digits = self.whole_digits.max(whole);
            self.scale = self.scale.max(scale);
        }
        self.datetime_digits = self.datetime_digits.max(forms.datetime.unwrap_or(0));
        self.time_digits = self.time_digits.max(forms.time.unwrap_or(0));
    }

    /// Only text can take what was seen.
    fn is_text(&self) -> bool {
        self.not_integer
            && self.not_decimal
            && self.not_double
            && self.not_date
            && self.not_datetime
            && self.not_time
    }

    fn is_typed(&self) -> bool {
        !self.is_text()
    }

    /// The values that make a column of numbers or dates text, if they are few.
    fn mixed(&self, name: &str, is_whole: bool) -> Option<MixedColumn> {
        let is_known = !self.is_text() || self.found().is_some() || self.habit.is_ambiguous();
        if is_known || self.decimal_commas > 0 {
            return None;
        }
        let (majority, others, first) = self.mixture.majority()?;
        let sql_type = match majority {
            Majority::Integers => self.integer_type(is_whole),
            Majority::Decimals => self.decimal_type(is_whole),
            Majority::Doubles => "DOUBLE".to_owned(),
            Majority::Dates => "DATE".to_owned(),
            Majority::Datetimes => seconds("DATETIME", self.datetime_digits, is_whole),
        };
        Some(MixedColumn {
            name: name.to_owned(),
            sql_type,
            are_numbers: !matches!(majority, Majority::Dates | Majority::Datetimes),
            values: self.mixture.values(),
            others,
            first: first.clone(),
        })
    }

    /// How all values are written, where they are text to SQL.
    fn found(&self) -> Option<HabitFormat> {
        self.habit.found().filter(|_| self.values > 0 && self.is_text())
    }

    /// Something else than text can take it.
    fn has_form(&self) -> bool {
        self.is_typed() || self.found().is_some()
    }

    /// Counts what stands for NULL: `token` does; the others are text.
    fn settle(&mut self, token: Option<usize>) {
        for (index, count) in self.tokens.iter().enumerate() {
            match *count {
                0 => {}
                count if Some(index) == token => self.nulls += count,
                count => {
                    self.values += count;
                    self.mixture.take_token(count, TOKENS[index]);
                    self.habit = Habit::none();
                    self.not_integer = true;
                    self.not_decimal = true;
                    self.not_double = true;
                    self.not_date = true;
                    self.not_datetime = true;
                    self.not_time = true;
                }
            }
        }
    }

    /// Characters of a VARCHAR for it; None if it is none.
    fn width(&self, is_whole: bool) -> Option<usize> {
        if self.values > 0 && self.has_form() {
            return None;
        }
        let room = if is_whole { self.chars_max / 2 } else { self.chars_max };
        WIDTHS.into_iter().find(|&width| width >= self.chars_max + room)
    }

    fn sql_type(&self, is_whole: bool, width: Option<usize>) -> String {
        match width {
            _ if self.values == 0 => "VARCHAR(255)".to_owned(),
            Some(width) => format!("VARCHAR({width})"),
            None if self.is_text() => match self.found() {
                Some(found) => self.format_type(found, is_whole),
                None => self.text_type().to_owned(),
            },
            None if !self.not_integer => self.integer_type(is_whole),
            None if !self.not_decimal => self.decimal_type(is_whole),
            None if !self.not_double => "DOUBLE".to_owned(),
            None if !self.not_date => "DATE".to_owned(),
            None if !self.not_datetime => seconds("DATETIME", self.datetime_digits, is_whole),
            None => seconds("TIME", self.time_digits, is_whole),
        }
    }

    /// The smallest type for what was seen; where not all was, INT at least, with room for a
    /// thousand times as much.
    fn integer_type(&self, is_whole: bool) -> String {
        let types: [(&str, i128, i128); 5] = [
            ("TINYINT", i8::MIN as i128, i8::MAX as i128),
            ("SMALLINT", i16::MIN as i128, i16::MAX as i128),
            ("INT", i32::MIN as i128, i32::MAX as i128),
            ("BIGINT", i64::MIN as i128, i64::MAX as i128),
            ("BIGINT UNSIGNED", 0, u64::MAX as i128),
        ];
        let room = if is_whole { 1 } else { 1000 };
        let fits = |(_, least, most): &&(&str, i128, i128)| {
            let most = *most / if *most > i64::MAX as i128 / 2 { 1 } else { room };
            let least = *least / if *least < i64::MIN as i128 / 2 { 1 } else { room };
            self.least >= least && self.most <= most
        };
        let skipped = if is_whole { 0 } else { 2 };
        match types.iter().skip(skipped).find(fits) {
            Some((name, ..)) => (*name).to_owned(),
            None => self.decimal_type(is_whole),
        }
    }

    fn decimal_type(&self, is_whole: bool) -> String {
        decimal_type((self.whole_digits, self.scale), is_whole)
    }

    /// The type of a column that is read by a format.
    fn format_type(&self, found: HabitFormat, is_whole: bool) -> String {
        let number = || decimal_type(self.habit.digits, is_whole);
        self.habit.sql_type(found).unwrap_or_else(number)
    }

    fn text_type(&self) -> &'static str {
        // Four times: other characters, and room.
        match self.bytes_max.saturating_mul(4) {
            0..=0xffff => "TEXT",
            0x1_0000..=0xff_ffff => "MEDIUMTEXT",
            _ => "LONGTEXT",
        }
    }
}

/// A type with so many digits behind the seconds, or with as many as can be if not all rows were read.
fn seconds(name: &str, digits: usize, is_whole: bool) -> String {
    match (is_whole, digits) {
        (true, 0) => name.to_owned(),
        (true, digits) => format!("{name}({digits})"),
        (false, _) => format!("{name}(6)"),
    }
}

/// A DECIMAL for numbers of so many digits before and after the point.
fn decimal_type((whole_digits, scale_seen): (usize, usize), is_whole: bool) -> String {
    let room = if is_whole { (2, 0) } else { (6, 4) };
    let scale = if scale_seen == 0 && is_whole { 0 } else { scale_seen + room.1 };
    let (whole, scale) = (whole_digits + room.0, scale);
    let fits = whole_digits + scale_seen <= DIGITS_MAX && scale_seen <= SCALE_MAX;
    if !fits {
        return "DOUBLE".to_owned();
    }
    let scale = scale.min(SCALE_MAX).min(DIGITS_MAX - whole_digits);
    format!("DECIMAL({},{scale})", (whole + scale).min(DIGITS_MAX))
}

/// Numbers of things go on: a key, and what is called an id, gets the largest type.
fn widen_ids(sniffed: &mut Sniffed) {
    for (index, column) in sniffed.columns.iter_mut().enumerate() {
        let name = column.name.to_ascii_lowercase();
        let is_id = name == "id" || name.ends_with("_id") || sniffed.primary_key == Some(index);
        if is_id && ["TINYINT", "SMALLINT", "INT"].contains(&column.sql_type.as_str()) {
            column.sql_type = "BIGINT".to_owned();
        }
    }
}

/// Characters of a value: of UTF-8 where it is, else bytes.
fn characters(value: &[u8]) -> usize {
    std::str::from_utf8(value).map_or(value.len(), |text| text.chars().count())
}
