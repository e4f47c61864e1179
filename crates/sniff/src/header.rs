//! Detection of a header in the first row.

use super::Charset;
use super::kind::{self, Forms};
use super::records::{RawValue, Records};
use super::statistics::is_null_word;
use super::usual_names;

/// Longest name of a column, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Rows that are searched for usual names of columns.
const LISTED_ROWS: usize = 10_000;

/// Begins the name of a field that is left out.
pub(super) const LEFT_OUT: char = '@';

/// The names in a first row.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) names: Vec<String>,
    /// Columns can have these names.
    pub(super) can_be_matched: bool,
    /// Lines that they stand on: a quoted name may have a line break.
    pub(super) lines: u64,
    /// A line of dashes below it belongs to it.
    pub(super) is_underlined: bool,
    /// Number of a file that does not begin with it.
    pub(super) other: Option<usize>,
}

/// The first row, if it holds names, which is then left out of `records`, of each file that has it.
/// `known` is what the user says.
pub(super) fn find(
    records: &mut Records<'_>,
    known: Option<bool>,
    charset: &Charset,
) -> Option<Header> {
    if known == Some(false) {
        return None;
    }
    let first = records.first()?;
    let other = records.begins_otherwise(&first);
    let is_repeated = records.files() > 1 && other.is_none();
    records.drop_headers(&first);
    // Clients of servers underline the names.
    let underlines = records.drop_underlines();
    let found = names(records, &first, known, is_repeated, charset);
    if found.is_none() {
        records.keep_headers();
    }
    let mut names: Vec<String> = found?.iter().map(|name| name.trim().to_owned()).collect();
    let bare = names.first().and_then(|name| name.strip_prefix('#')).map(str::trim);
    let bare = bare.filter(|name| !name.is_empty()).map(str::to_owned);
    let is_marked = bare.is_some();
    if let (Some(bare), Some(first)) = (bare, names.first_mut()) {
        *first = bare;
    }
    let can_be_matched =
        !is_marked && underlines == 0 && names.len() == records.fields && are_columns(&names);
    let lines = records.header_lines() + underlines;
    Some(Header { names, can_be_matched, lines, is_underlined: underlines > 0, other })
}

/// The names in the first row, which `records` are without. `is_repeated` says that it is that of
/// several files.
fn names(
    records: &Records<'_>,
    first: &[Option<Vec<u8>>],
    known: Option<bool>,
    is_repeated: bool,
    charset: &Charset,
) -> Option<Vec<String>> {
    let names: Option<Vec<String>> =
        first.iter().map(|value| charset.text(value.as_deref()?)).collect();
    let lossy = |value: &Option<Vec<u8>>| {
        String::from_utf8_lossy(value.as_deref().unwrap_or_default()).into_owned()
    };
    if known.is_some() {
        return Some(names.unwrap_or_else(|| first.iter().map(lossy).collect()));
    }
    let are_names = |names: &Vec<String>| {
        let is_table = names.len() > 1 && are_distinct(names);
        look_like_names(names)
            && (is_repeated && is_table && names.iter().all(|name| is_identifier(name))
                || differ(records, names))
            || are_series(records, names)
    };
    let mut names = names?;
    if names.len() < records.fields && records.are_empty_from(names.len()) {
        names.resize(records.fields, String::new());
    }
    Some(names).filter(|names| names.len() == records.fields).filter(are_names)
}

fn look_like_names(names: &[String]) -> bool {
    // Writers of tables leave the column of row numbers without a name, and fill lines with empty fields.
    let is_blank = |name: &&String| name.trim().is_empty();
    let named = names.iter().rposition(|name| !is_blank(&name)).map_or(0, |last| last + 1);
    let unnamed = names[..named].iter().filter(is_blank).count();
    unnamed <= named / 2
        && names.iter().all(|name| !is_value(name.as_bytes()) && !name.contains('\0'))
}

/// True if a text in the place of a name says that nothing is there: blanks, a sign, or a word for NULL in any case.
fn is_missing(name: &str) -> bool {
    const WORDS: [&str; 7] = ["null", "nil", "na", "n/a", "n.a", "nan", "none"];
    let word = name.trim_matches(|c: char| !c.is_alphanumeric());
    word.is_empty()
        || is_null_word(name.trim().as_bytes())
        || WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// A number, a date or a time.
fn is_value(text: &[u8]) -> bool {
    let forms = Forms::of(text);
    forms.double
        || forms.decimal_comma
        || is_date(&forms)
        || forms.time.is_some()
        || forms.short_time
}

fn is_date(forms: &Forms) -> bool {
    forms.date || forms.datetime.is_some()
}

/// Years that a column may be called by.
const YEARS: std::ops::RangeInclusive<i128> = 1000..=2999;

/// True if some names are years, dates or numbers from 0 on, and the others are words. Either no value below these
/// names is like them, or a word is the name of numbers or dates.
fn are_series(records: &Records<'_>, names: &[String]) -> bool {
    let is_year = |value: &[u8]| kind::integer(value).is_some_and(|year| YEARS.contains(&year));
    let is_day = |value: &[u8]| is_date(&Forms::of(value));
    let (series, others): (Vec<usize>, Vec<usize>) =
        (0..names.len()).partition(|&at| is_value(names[at].as_bytes()));
    let is_word = |at: &usize| is_identifier(&names[*at]);
    if series.is_empty() || !are_distinct(names) || !others.iter().any(is_word) {
        return false;
    }
    let all = |is: &dyn Fn(&[u8]) -> bool| series.iter().all(|&at| is(names[at].as_bytes()));
    let (are_years, are_days) = (all(&is_year), all(&is_day));
    let are_numbered =
        series.iter().enumerate().all(|(number, &at)| names[at] == number.to_string());
    let mut is_continued = false;
    let mut typed: Vec<bool> = vec![true; names.len()];
    let mut values_below = vec![0; names.len()];
    records.each(|values| {
        for (at, value) in values.iter().enumerate() {
            let value = value.value.unwrap_or_default().trim_ascii();
            if !is_null_word(value) {
                typed[at] &= is_value(value);
                values_below[at] += 1;
                is_continued |= series.contains(&at) && (is_year(value) || is_day(value));
            }
        }
    });
    let is_proof = |at: &usize| is_word(at) && typed[*at] && values_below[*at] > 0;
    let has_proof = others.iter().any(is_proof);
    let has_values = series.iter().any(|&at| values_below[at] > 0);
    match has_proof {
        true => are_years || are_days || are_numbered,
        false => series.len() > 1 && (are_years || are_days) && has_values && !is_continued,
    }
}

/// The evidence of one column about the first row.
#[derive(Clone, Debug, Default)]
struct Column {
    values: u64,
    /// All values are numbers, dates or times.
    typed: bool,
    /// The name is a value in other rows too.
    repeats: bool,
    /// Bytes of all values, if they have equally many.
    size: Option<usize>,
    all_digits: bool,
    all_spaces: bool,
    all_upper: bool,
    /// All values begin with a digit.
    all_numbered: bool,
    has_underscores: bool,
}

/// True if the rows after it are of another kind than it: typed where it is text, of one length
/// that it has not, of words where it has one; or if two of its texts are what people call columns. Other rows of
/// text alone are taken for rows.
fn differ(records: &Records<'_>, names: &[String]) -> bool {
    let fresh = Column {
        typed: true,
        all_digits: true,
        all_spaces: true,
        all_upper: true,
        all_numbered: true,
        ..Column::default()
    };
    let mut columns = vec![fresh; names.len()];
    records.each(|values| {
        for ((column, given), name) in columns.iter_mut().zip(values).zip(names) {
            let value = given.value.unwrap_or_default().trim_ascii();
            if is_null_word(value) {
                continue;
            }
            column.typed &= is_value(value);
            column.repeats |= value == name.as_bytes();
            column.size = match column.values {
                0 => Some(value.len()),
                _ => column.size.filter(|&size| size == value.len()),
            };
            column.all_digits &= value.iter().any(u8::is_ascii_digit);
            column.all_spaces &= value.contains(&b' ');
            let first = value[0];
            column.all_upper &= first.is_ascii_uppercase();
            column.all_numbered &= first.is_ascii_digit();
            column.has_underscores |= value.contains(&b'_');
            column.values += 1;
        }
    });
    let is_proof =
        |(column, name): (&Column, &String)| column.values > 2 && column.typed && !is_missing(name);
    if columns.iter().zip(names).any(is_proof) {
        return true;
    }
    if columns.iter().any(|column| column.repeats) {
        return false;
    }
    if columns.iter().all(|column| column.values == 0) {
        // Nothing follows: a row of names alone is a header if there are several.
        return names.len() > 1 && names.iter().all(|name| is_identifier(name));
    }
    let is_table = names.len() > 1 && are_distinct(names);
    // Names begin with small letters where all values begin with capital ones or digits.
    let is_smaller = |(column, name): (&Column, &String)| {
        column.values > 0
            && (column.all_upper || column.all_numbered)
            && is_identifier(name)
            && !name.contains(char::is_uppercase)
    };
    if is_table && columns.iter().zip(names).all(is_smaller) {
        return true;
    }
    // A few rows of words say nothing about the first one.
    let differs = |column: &Column, name: &str| {
        (column.values > 1 && column.all_numbered && !name.contains(|c: char| c.is_ascii_digit()))
            || column.values > 2
                && (column.size.is_some_and(|size| size != name.len())
                    || (column.all_digits && !name.bytes().any(|byte| byte.is_ascii_digit()))
                    || (column.all_spaces && !name.contains(' '))
                    || (column.all_upper && name.starts_with(char::is_lowercase)))
    };
    // One alone may be a value: the first key of a list, a code with an underscore.
    let is_key = |(column, name): &(&Column, &String)| {
        let is_known = ["id", "name"].iter().any(|known| known.eq_ignore_ascii_case(name));
        let is_joined = name.contains('_') && column.values > 0 && !column.has_underscores;
        is_identifier(name) && (is_known || is_joined)
    };
    let are_keys = columns.iter().zip(names).filter(is_key).count() > 1;
    let are_usual = names.iter().filter(|name| usual_names::contains(name)).count() > 1;
    if is_table && (are_keys || are_usual && !has_row_of_usual_names(records)) {
        return true;
    }
    let says_so = |(column, name): (&Column, &String)| {
        column.values > 0
            && ((column.typed && !is_missing(name))
                || (is_table && is_identifier(name) && differs(column, name)))
    };
    columns.iter().zip(names).any(says_so)
}

/// True if one of the first rows has two texts that columns are called by: lists of columns and translations have
/// such rows.
fn has_row_of_usual_names(records: &Records<'_>) -> bool {
    let is_usual = |given: &&RawValue<'_>| {
        let value = std::str::from_utf8(given.value.unwrap_or_default());
        value.is_ok_and(usual_names::contains)
    };
    let (mut rows, mut has_row) = (0, false);
    records.each(|values| {
        rows += 1;
        has_row |= rows <= LISTED_ROWS && values.iter().filter(is_usual).count() > 1;
    });
    has_row
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || "_- .".contains(c))
        && !is_missing(name)
}

/// True if columns can have these names, and a header can have them.
pub(super) fn are_columns(names: &[String]) -> bool {
    names.iter().all(|name| {
        !name.is_empty()
            && name.chars().count() <= NAME_CHARS_MAX
            && !name.ends_with(char::is_whitespace)
            && !name.starts_with('@')
            && name.chars().all(|c| !c.is_control() && u32::from(c) < 0x1_0000)
    }) && are_distinct(names)
}

fn are_distinct(names: &[String]) -> bool {
    let mut lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    lower.sort();
    lower.dedup();
    lower.len() == names.len()
}

/// Names as near to these as columns can have, and `--columns` can say. The last fields of a line that have neither
/// a name nor a value get no column: `has_values` says which have any.
pub(super) fn changed(names: &[String], has_values: &[bool]) -> Vec<String> {
    let name_of = |at: usize| names.get(at).map_or("", |name| name.trim());
    let last = (0..has_values.len()).rposition(|at| has_values[at] || !name_of(at).is_empty());
    let columns = last.map_or(1, |last| last + 1);
    let mut changed: Vec<String> = Vec::new();
    for index in 0..has_values.len() {
        let number = index + 1;
        let kept: String = name_of(index)
            .trim_start_matches('@')
            .chars()
            .map(|c| if c.is_whitespace() { ' ' } else { c })
            .map(|c| if c == ',' || c.is_control() || u32::from(c) > 0xffff { '_' } else { c })
            .take(NAME_CHARS_MAX - 6)
            .collect();
        let kept = kept.trim().to_owned();
        let is_free = |name: &str| !changed.iter().any(|c| c.to_lowercase() == name.to_lowercase());
        let name = match kept.is_empty() || !is_free(&kept) {
            _ if index >= columns => format!("{LEFT_OUT}c{number}"),
            true => format!("{kept}c{number}"),
            false => kept,
        };
        changed.push(name);
    }
    changed
}
