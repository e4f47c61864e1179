//! Statistics of each column, and the type that holds its values.

use written::is_exact_double;

use super::habits::{Habit, HabitFormat, Habits};
use super::kind::{self, Forms};
use super::mixture::{Majority, Mixture, OddValue};
use super::records::RawValue;
use super::row_size;
use super::{Sniffed, SniffedColumn};

/// Fields that stand for NULL in files of others.
const TOKENS: [&str; 8] = ["", "NULL", "null", "NA", "N/A", "NaN", "None", "\\N"];
/// The first of these.
const EMPTY: usize = 0;
/// Most digits of a DECIMAL, and most behind its point.
const DIGITS_MAX: usize = 65;
const SCALE_MAX: usize = 38;
/// Characters of a VARCHAR that leaves room for as much again; longer texts are TEXT.
const WIDTH: usize = 255;
/// True for a text that stands for NULL in files of others.
pub(super) fn is_null_word(value: &[u8]) -> bool {
    TOKENS.iter().any(|token| token.as_bytes() == value)
}

/// Statistics so far.
pub(super) struct ColumnStatistics {
    columns: Vec<Column>,
    /// Whole numbers of the first column, while it has nothing else.
    first: Option<Vec<i64>>,
    pub(super) rows: u64,
    pub(super) decimal_commas: bool,
    /// Columns whose values may be read in two ways, and why.
    pub(super) ambiguous: Vec<(String, &'static str)>,
    /// Columns that a few values make text.
    pub(super) mixed: Vec<MixedColumn>,
    /// Columns whose numbers with an exponent, or with more digits than a DOUBLE keeps, may be codes.
    pub(super) codes: Vec<String>,
    /// Columns of text with a word that is NULL in another column.
    pub(super) words_in_text: Vec<(String, &'static str)>,
    habits: Habits,
    comma_separates: bool,
}

/// Which texts may stand for NULL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nulls {
    /// Words such as NA, in columns that else hold numbers or dates.
    pub(super) words: bool,
    /// Empty fields, in the same columns.
    pub(super) empty: bool,
    /// Nobody has to say so of empty fields.
    pub(super) empty_is_rule: bool,
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
    tokens: [u64; TOKENS.len()],
    chars_max: usize,
    bytes_max: usize,
    not_integer: bool,
    not_decimal: bool,
    not_double: bool,
    not_date: bool,
    not_datetime: bool,
    not_time: bool,
    not_short_time: bool,
    /// A number has a plus in front, or is `-0`.
    has_plus: bool,
    has_minus_zero: bool,
    /// A number has an exponent.
    has_exponent: bool,
    /// A number has a point or a minus, as measurements have.
    is_measured: bool,
    /// A DOUBLE would change a number.
    is_inexact: bool,
    least: i128,
    most: i128,
    whole_digits: usize,
    scale: usize,
    /// Fractions of other lengths than the longest were seen, so longer ones are to be expected.
    scale_varies: bool,
    datetime_digits: usize,
    time_digits: usize,
    decimal_commas: u64,
    /// A value has blanks at its ends, or is only blanks.
    has_blanks: bool,
    has_blank_values: bool,
    /// How people may have written its values.
    habit: Habit,
    mixture: Mixture,
}

impl ColumnStatistics {
    /// Statistics of so many fields, which commas separate or not.
    pub(super) fn new(fields: usize, comma_separates: bool) -> ColumnStatistics {
        let columns = vec![Column::default(); fields];
        ColumnStatistics {
            columns,
            first: Some(Vec::new()),
            rows: 0,
            decimal_commas: false,
            ambiguous: Vec::new(),
            mixed: Vec::new(),
            codes: Vec::new(),
            words_in_text: Vec::new(),
            habits: Habits::new(),
            comma_separates,
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

    /// Says that a column has texts, so that it is none of numbers, whatever its values look like.
    pub(super) fn has_texts(&mut self, at: usize) {
        let column = &mut self.columns[at];
        (column.not_integer, column.not_decimal, column.not_double) = (true, true, true);
    }

    /// Gives the columns their types, and the table its key.
    pub(super) fn columns(&mut self, sniffed: &mut Sniffed, nulls: Nulls) {
        let mut widths = Vec::new();
        let mut words = Vec::new();
        for (column, sniffed_column) in self.columns.iter_mut().zip(&mut sniffed.columns) {
            column.habit.settle(self.comma_separates);
            if column.settle_codes() {
                self.codes.push(sniffed_column.name.clone());
            }
            let nulls_format = column.null_format(nulls);
            sniffed_column.is_empty = column.is_empty();
            sniffed_column.empty_is_null = column.tokens[EMPTY] > 0 && column.is_null(EMPTY, nulls);
            sniffed_column.weak_format = column.weak_format();
            words.extend(column.settle(nulls));
            let ambiguity = column.habit.ambiguity().filter(|_| column.is_text());
            self.ambiguous.extend(ambiguity.map(|why| (sniffed_column.name.clone(), why)));
            self.decimal_commas |=
                column.decimal_commas > 0 && !column.has_form() && ambiguity.is_none();
            self.mixed.extend(column.mixed(&sniffed_column.name, sniffed.is_whole));
            sniffed_column.format = column.format(nulls_format);
            let width = column.width();
            widths.push(width);
            sniffed_column.sql_type = column.sql_type(sniffed.is_whole, width);
        }
        words.sort_unstable();
        words.dedup();
        for (column, sniffed_column) in self.columns.iter().zip(&sniffed.columns) {
            let mut kept = words.iter().filter(|&&word| column.has_word(word));
            if !column.has_form()
                && let Some(&word) = kept.next()
            {
                self.words_in_text.push((sniffed_column.name.clone(), TOKENS[word]));
            }
        }
        self.narrow(sniffed, &mut widths);
        if sniffed.is_whole && self.looks_unique(&sniffed.columns) {
            sniffed.primary_key = Some(0);
        }
        widen_ids(sniffed);
    }

    /// Makes TEXT of the longest VARCHAR columns until a row fits the server's limit.
    fn narrow(&self, sniffed: &mut Sniffed, widths: &mut [Option<usize>]) {
        while !row_size::fits_server(&sniffed.columns, widths) {
            let longest = (0..widths.len()).max_by_key(|&index| widths[index]);
            let Some(index) = longest.filter(|&index| widths[index].is_some()) else { return };
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

/// The type of a column that has this value in all rows.
pub(super) fn type_of(value: &str) -> String {
    let mut statistics = ColumnStatistics::new(1, false);
    statistics.row(&[RawValue { value: Some(value.as_bytes()), is_quoted: false }]);
    let column = &mut statistics.columns[0];
    column.settle_codes();
    match column.values > 0 && column.is_text() {
        true if column.width().is_none() => column.text_type().to_owned(),
        true => format!("VARCHAR({WIDTH})"),
        false => column.sql_type(true, column.width()),
    }
}

impl Column {
    fn take(&mut self, row: u64, given: RawValue<'_>, habits: &mut Habits) {
        let Some(whole) = given.value else { return };
        self.bytes_max = self.bytes_max.max(whole.len());
        if whole.len() > self.chars_max {
            self.chars_max = self.chars_max.max(characters(whole));
        }
        let value = whole.trim_ascii();
        self.has_blanks |= value.len() < whole.len();
        let is_blank = value.is_empty() && !whole.is_empty();
        if (!given.is_quoted || is_blank)
            && let Some(token) = TOKENS.iter().position(|token| token.as_bytes() == value)
        {
            self.has_blank_values |= is_blank;
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
        if forms.double {
            self.has_exponent |= forms.decimal.is_none();
            self.has_plus |= value[0] == b'+';
            self.has_minus_zero |= value == b"-0";
            self.is_measured |= value[0] == b'-' || value.contains(&b'.');
            self.is_inexact |= !is_exact_double(value);
        }
        self.not_date |= !forms.date;
        self.not_datetime |= forms.datetime.is_none();
        self.not_time |= forms.time.is_none();
        self.not_short_time |= !forms.short_time;
        self.decimal_commas += u64::from(forms.decimal_comma);
        if let Some(number) = kind::integer(value).filter(|_| forms.integer) {
            self.least = self.least.min(number);
            self.most = self.most.max(number);
        }
        if let Some((whole, scale)) = forms.decimal {
            self.whole_digits = self.whole_digits.max(whole);
            self.scale_varies |= scale > 0 && self.scale > 0 && scale != self.scale;
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
            && self.not_short_time
    }

    fn is_typed(&self) -> bool {
        !self.is_text()
    }

    /// The values that make a column of numbers or dates text, if they are few.
    fn mixed(&self, name: &str, is_whole: bool) -> Option<MixedColumn> {
        let is_known =
            !self.is_text() || self.found().is_some() || self.habit.ambiguity().is_some();
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

    /// Makes text of numbers that may be codes: `1E5`, `+4930123`, or more digits than a DOUBLE keeps where nothing
    /// else holds them. Gives whether that was so.
    fn settle_codes(&mut self) -> bool {
        let is_sign_lost = self.has_minus_zero && self.scale == 0;
        let is_phone = self.has_plus && !self.is_measured;
        if self.values > 0 && !self.not_double && (is_sign_lost || is_phone) {
            self.be_text();
            return true;
        }
        let fits_decimal = fits_decimal(self.whole_digits, self.scale);
        let is_exact_type = !self.not_integer || !self.not_decimal;
        if self.values == 0 || self.not_double || (is_exact_type && fits_decimal) {
            return false;
        }
        let are_codes = self.is_inexact || (self.has_exponent && !self.is_measured);
        if are_codes {
            self.be_text();
        }
        are_codes
    }

    /// True if it has no values and no words.
    fn is_empty(&self) -> bool {
        self.values == 0 && (0..TOKENS.len()).all(|word| !self.has_word(word))
    }

    /// The format of words that say too little alone.
    fn weak_format(&self) -> Option<String> {
        if self.values > 0 {
            return self.habit.has_one_word().then(|| "yes-no".to_owned());
        }
        let words = (0..TOKENS.len()).filter(|&word| self.has_word(word));
        let words: Vec<String> = words.map(|word| format!("null:{}", TOKENS[word])).collect();
        (!words.is_empty()).then(|| words.join("+"))
    }

    /// True if a word may stand for NULL in it.
    fn is_null(&self, word: usize, nulls: Nulls) -> bool {
        let may_be = if word == EMPTY { nulls.empty } else { nulls.words };
        may_be && self.values > 0 && self.has_form()
    }

    /// True if it has a word that may stand for NULL, and is not empty.
    fn has_word(&self, word: usize) -> bool {
        word != EMPTY && self.tokens[word] > 0
    }

    /// The words of the format of its values and its NULLs; none if they are as the server reads them.
    fn format(&self, nulls: Option<String>) -> Option<String> {
        let found = self.found().map(|found| found.format.to_owned());
        let is_typed = self.values > 0 && self.is_typed();
        let trimmed = (self.has_blanks && is_typed).then(|| "trim".to_owned());
        let words: Vec<String> = found.or(trimmed).into_iter().chain(nulls).collect();
        (!words.is_empty()).then(|| words.join("+"))
    }

    /// The words of a format for the texts that stand for NULL, if anybody has to say so.
    fn null_format(&self, nulls: Nulls) -> Option<String> {
        let is_said = |&word: &usize| {
            let is_rule = word == EMPTY && nulls.empty_is_rule && !self.has_blank_values;
            self.tokens[word] > 0 && self.is_null(word, nulls) && !is_rule
        };
        let words: Vec<String> = (0..TOKENS.len())
            .filter(is_said)
            .map(|word| format!("null:{}", TOKENS[word]))
            .collect();
        (!words.is_empty()).then(|| words.join("+"))
    }

    /// Takes the words that do not stand for NULL as text, and gives those that do, but for the empty field.
    fn settle(&mut self, nulls: Nulls) -> Vec<usize> {
        let has_nulls: Vec<usize> = (0..TOKENS.len())
            .filter(|&word| self.tokens[word] > 0 && self.is_null(word, nulls))
            .collect();
        for (word, text) in TOKENS.iter().enumerate() {
            if self.tokens[word] > 0 && !has_nulls.contains(&word) {
                self.take_text(self.tokens[word], text);
            }
        }
        has_nulls.into_iter().filter(|&word| word != EMPTY).collect()
    }

    /// A word that could stand for NULL is text, so often.
    fn take_text(&mut self, count: u64, word: &str) {
        self.values += count;
        self.mixture.take_token(count, word);
        self.be_text();
    }

    /// No other type than text is left.
    fn be_text(&mut self) {
        self.habit = Habit::none();
        self.not_integer = true;
        self.not_decimal = true;
        self.not_double = true;
        self.not_date = true;
        self.not_datetime = true;
        self.not_time = true;
        self.not_short_time = true;
    }

    /// Characters of a VARCHAR for it; None if it is none.
    fn width(&self) -> Option<usize> {
        if self.values > 0 && self.has_form() {
            return None;
        }
        (self.chars_max * 2 <= WIDTH).then_some(WIDTH)
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
            None if !self.not_time => seconds("TIME", self.time_digits, is_whole),
            None => "TIME".to_owned(),
        }
    }

    /// INT, or a larger type, with room for ten times as much as was seen; for a thousand times where not all
    /// rows were.
    fn integer_type(&self, is_whole: bool) -> String {
        let types: [(&str, i128, i128); 3] = [
            ("INT", i32::MIN as i128, i32::MAX as i128),
            ("BIGINT", i64::MIN as i128, i64::MAX as i128),
            ("BIGINT UNSIGNED", 0, u64::MAX as i128),
        ];
        let room = if is_whole { 10 } else { 1000 };
        let fits = |(_, least, most): &&(&str, i128, i128)| {
            let most = *most / if *most > i64::MAX as i128 / 2 { 1 } else { room };
            let least = *least / if *least < i64::MIN as i128 / 2 { 1 } else { room };
            self.least >= least && self.most <= most
        };
        match types.iter().find(fits) {
            Some((name, ..)) => (*name).to_owned(),
            None => self.decimal_type(is_whole),
        }
    }

    fn decimal_type(&self, is_whole: bool) -> String {
        decimal_type(self.whole_digits, self.scale, is_whole && !self.scale_varies)
    }

    /// The type of a column that is read by a format.
    fn format_type(&self, found: HabitFormat, is_whole: bool) -> String {
        self.habit.sql_type(found, |(whole, scale)| decimal_type(whole, scale, is_whole))
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

/// True if a DECIMAL holds numbers of so many digits before and after the point.
fn fits_decimal(whole_digits: usize, scale: usize) -> bool {
    whole_digits + scale <= DIGITS_MAX && scale <= SCALE_MAX
}

/// A DECIMAL for numbers of so many digits before and after the point, with room for more before it, and behind it
/// unless all have the same number there: a server rounds longer fractions without an error.
fn decimal_type(whole_digits: usize, scale_seen: usize, has_one_scale: bool) -> String {
    let whole = whole_digits + 6;
    let scale = if has_one_scale { scale_seen } else { scale_seen + 4 };
    if !fits_decimal(whole_digits, scale_seen) {
        return "DOUBLE".to_owned();
    }
    let scale = scale.min(SCALE_MAX).min(DIGITS_MAX - whole_digits);
    format!("DECIMAL({},{scale})", (whole + scale).min(DIGITS_MAX))
}

/// Numbers of things go on: a key, and what is called an id, gets the largest type.
fn widen_ids(sniffed: &mut Sniffed) {
    for (index, column) in sniffed.columns.iter_mut().enumerate() {
        let is_id = is_id(&column.name) || sniffed.primary_key == Some(index);
        if is_id && column.sql_type == "INT" {
            column.sql_type = "BIGINT".to_owned();
        }
    }
}

/// True for `id`, `_id`, `order_id`, `orderID`, `OrderId`, and not for `paid`.
fn is_id(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower == "id" || lower.ends_with("_id") || name.ends_with("ID") || name.ends_with("Id")
}

/// Characters of a value: of UTF-8 where it is, else bytes.
fn characters(value: &[u8]) -> usize {
    std::str::from_utf8(value).map_or(value.len(), |text| text.chars().count())
}
