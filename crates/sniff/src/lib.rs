//! A guess at a file: how its rows are cut, the contents of its columns, and a table for them.
//!
//! ```text
//! sample -> dialect (separator, quote, escape) -> records -> charset -> header -> NULL -> types -> DDL
//! sample of JSON -> fields, kinds of their values -> types -> DDL
//! ```
//!
//! Everything is a guess from the rows that were read, and says so if it did not read all. Properties that a
//! sample cannot show are left out of the table: a key that the unread rows might break, a NOT NULL.

#![forbid(unsafe_code)]

mod charset;
mod ddl;
mod dialect;
mod format;
mod habits;
mod header;
mod json;
mod kind;
mod mixture;
mod notes;
mod plain;
mod preamble;
mod records;
mod row_size;
mod statistics;
mod typed;
mod usual_names;

pub use format::other_than_sql;
pub use plain::is_plain;

use std::path::{Path, PathBuf};

use charset::Charset;
use columnar::{ColumnMatching, Kind};
use dialect::Guess;
use face::option::{
    CHARSET, COLLATION, DDL, FIELDS_TERMINATED_BY, LINES_TERMINATED_BY, ONE_COLUMN, SET_SQL,
    SKIP_LINES, TYPES,
};
use header::Header;
use job::error::Error;
use preamble::Preamble;
use records::Records;
use sources::{Compression, Dialect, Encoding, KeptPipes, Part, Pointer, Preset, Sample};
use statistics::{ColumnStatistics, Nulls};

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Most columns of a table.
///
/// Source: `REC_MAX_N_USER_FIELDS` in the server's `storage/innobase/include/rem0types.h`.
const COLUMNS_MAX: usize = 1017;

/// The files, and the facts about them that are known already.
#[derive(Clone, Debug)]
pub struct SniffOptions {
    /// The input, as for a load.
    pub files: Vec<PathBuf>,
    /// Name of the table to be made.
    pub table: String,
    /// The format of typed columns, if that is known; files are recognised without it.
    pub columnar: Option<Kind>,
    /// How columns of several files of typed columns belong together.
    pub matching: ColumnMatching,
    /// The sheet of workbooks; None: the first one.
    pub sheet: Option<String>,
    /// Columns that have pointers into records of JSON.
    pub pointers: Vec<(String, Pointer)>,
    /// How fields are cut, if that is known.
    pub dialect: Option<Dialect>,
    /// True if that dialect has empty fields NULL in columns of numbers and dates.
    pub empty_is_null: bool,
    /// True if lines that nothing cuts evenly are rows of one text.
    pub one_column: bool,
    /// Fields that mean NULL, as far as they are known.
    pub null_tokens: Vec<String>,
    /// True if they mean NULL in quotes, too.
    pub null_in_quotes: bool,
    /// True if there is a header, if that is known.
    pub header: Option<bool>,
    /// Lines to leave out at the start of each file.
    pub skip_lines: u64,
    /// Names of the fields, if they are known.
    pub columns: Option<Vec<String>>,
    /// How the files are encoded; [`Encoding::ByMark`] finds out.
    pub encoding: Encoding,
    /// The files' character set, if it is known.
    pub charset: Option<String>,
    /// Pipes among the files that were read before.
    pub kept: KeptPipes,
    /// Where a pipe is kept.
    pub temp_dir: PathBuf,
    /// Memory of the whole process: with little of it, less of the input is looked at.
    pub memory_bytes_max: u64,
    /// True if blanks at the ends of values do not count.
    pub trim: bool,
    /// Columns that have one value in all rows, which the input lacks; of an SQL expression the value is unknown.
    pub constants: Vec<(String, Option<String>)>,
    /// Properties of the table that are set, and not guessed.
    pub wanted: TableSettings,
}

impl SniffOptions {
    fn sample(&self) -> sources::Result<Sample> {
        let SniffOptions { files, kept, encoding, temp_dir, memory_bytes_max, .. } = self;
        Sample::take(files, kept, *encoding, temp_dir, memory_bytes_max / 2)
    }
}

/// The user's settings for a table that is guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSettings {
    /// Types of columns, with whatever may follow them in a CREATE TABLE.
    pub types: Vec<(String, String)>,
    /// Collation of the table.
    pub collation: Option<String>,
}

/// The guess at a file.
#[derive(Clone, Debug, Default)]
pub struct Sniffed {
    /// The format, if the files have typed columns and are no text.
    pub columnar: Option<Kind>,
    /// How fields are cut.
    pub dialect: Dialect,
    /// The preset that is nearest to it.
    pub preset: Preset,
    /// The first line names the columns, and the table has these names.
    pub header: bool,
    /// Lines to leave out: those that were asked for, and a header whose names no column can have.
    pub skip_lines: u64,
    /// Names for the fields, where neither the table's order nor a header says them.
    pub names: Option<Vec<String>>,
    /// Name of the character set, as `--charset` takes it; none where none must be given.
    pub charset: Option<String>,
    /// How the first file is compressed.
    pub compression: Option<Compression>,
    /// Columns of the table.
    pub columns: Vec<SniffedColumn>,
    /// Index of the column that is the primary key.
    pub primary_key: Option<usize>,
    /// Rows that were looked at.
    pub rows: u64,
    /// True if these are all rows.
    pub is_whole: bool,
    /// Names of columns whose days may be read in two ways.
    pub ambiguous_days: Vec<String>,
    /// Notes on the reliability of the guess, a sentence each.
    pub notes: Vec<String>,
    /// The statement that makes the table.
    pub ddl: String,
    /// The same for servers without the type UUID, if the table has such columns.
    pub ddl_without_uuid: Option<String>,
    /// The pipes among the files, whose bytes were read.
    pub kept: KeptPipes,
}

/// A column of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SniffedColumn {
    /// Its name.
    pub name: String,
    /// Its type in SQL.
    pub sql_type: String,
    /// True if it has empty fields that are NULL.
    pub empty_is_null: bool,
    /// True if it has no values: each field is empty or NULL.
    pub is_empty: bool,
    /// How its values are written, as `--format-of` has it, where not as the server reads them.
    pub format: Option<String>,
    /// A format that its values have, too few of them to make a type of it: `yes` alone, or words such as NA alone.
    pub weak_format: Option<String>,
    /// True if values that its type would change are refused, because the type is a guess from a part of the rows.
    pub is_exact: bool,
}

impl SniffedColumn {
    /// The words of `--format-of` for it, if it needs any.
    pub fn format_words(&self) -> Option<String> {
        let exact = self.is_exact.then(|| EXACT.to_owned());
        let words: Vec<String> = self.format.iter().cloned().chain(exact).collect();
        (!words.is_empty()).then(|| words.join("+"))
    }
}

/// Looks at the input.
///
/// Errors: reading it; an input that has no rows to look at.
pub fn sniff(options: &SniffOptions) -> Result<Sniffed, Error> {
    let usage = |error: sources::Error| Error::Usage(error.to_string());
    let recognised = || Kind::of_files(&options.files).map_err(usage);
    if let Some(kind) = options.columnar.map_or_else(recognised, |kind| Ok(Some(kind)))? {
        return typed::sniff(kind, options);
    }
    let sample = options.sample().map_err(usage)?;
    check_format(&sample, options)?;
    if let Some(json) = options.dialect.as_ref().and_then(|dialect| dialect.json) {
        return json::sniff(json, &sample, options);
    }
    let ending = options.files.first().and_then(|path| dialect::ending(path));
    let mut above = match options.skip_lines {
        0 => Preamble::of(&sample, options)?,
        _ => Preamble::default(),
    };
    let mut guess = match &options.dialect {
        Some(dialect) => Guess::given(dialect.clone()),
        None => above.guess(&sample, options, ending.as_deref()),
    };
    if options.dialect.is_none() {
        let tokens = options.null_tokens.iter().map(|token| token.clone().into_bytes());
        guess.dialect.null_tokens.extend(tokens);
        guess.dialect.null_in_quotes = options.null_in_quotes;
    }
    if guess.is_uneven && !options.one_column {
        return Err(uneven(&options.files[0]));
    }
    guess.dialect.check().map_err(usage)?;
    if guess.dialect.needs_fields() {
        return Err(Error::Usage(
            "rows of fixed size can only be read with the columns of an existing table, so no \
             table can be guessed from them"
                .to_owned(),
        ));
    }
    let records = Records::new(&sample, &guess.dialect, options.skip_lines + above.lines);
    let mut records = above.settle(records, &sample, &guess.dialect, options);
    records.trim = options.trim;
    let mut notes = guess.notes;
    notes.extend(above.note(&sample));
    let charset = Charset::of(&sample, &records, options);
    if records.fields == 0 {
        return Err(rowless(&sample, options));
    }
    if records.fields > COLUMNS_MAX {
        return Err(too_wide(&options.files[0], records.fields));
    }
    let found = header::find(&mut records, options.header, &charset);
    if let Some(Header { can_be_matched: false, other: Some(other), .. }) = &found {
        return Err(no_header(&options.files, *other));
    }
    let comma_separates = guess.dialect.fields_terminated_by == b",";
    let mut seen = ColumnStatistics::new(records.fields, comma_separates);
    records.each(|values| seen.row(values));
    let nulls = Nulls {
        words: !guess.is_given && options.null_tokens.is_empty(),
        empty: !guess.is_given || options.empty_is_null,
        empty_is_rule: match guess.is_given {
            true => options.empty_is_null,
            false => guess.preset.empty_is_null(),
        },
    };
    let mut sniffed = Sniffed {
        dialect: guess.dialect,
        preset: guess.preset,
        skip_lines: options.skip_lines + above.lines,
        charset: charset.option(),
        compression: sample.compression,
        rows: seen.rows,
        is_whole: sample.is_whole,
        notes,
        kept: sample.kept.clone(),
        ..Sniffed::default()
    };
    name_columns(&mut sniffed, found, options, &records.has_values());
    seen.columns(&mut sniffed, nulls);
    sniffed.ambiguous_days = seen.ambiguous.iter().map(|(name, _)| name.clone()).collect();
    sniffed.notes.extend(charset.note(&options.files));
    notes::add(&mut sniffed, &sample, &records, &seen, &options.wanted);
    leave_out(&mut sniffed);
    refuse_changes(&mut sniffed);
    completed(sniffed, options)
}

/// The table with what the options say of it, and its statement.
fn completed(mut sniffed: Sniffed, options: &SniffOptions) -> Result<Sniffed, Error> {
    add_constants(&mut sniffed, options)?;
    overrule(&mut sniffed, &options.wanted)?;
    row_size::check(&sniffed.columns)?;
    let collation = options.wanted.collation.as_deref();
    sniffed.ddl = ddl::create_table(&options.table, &sniffed, collation);
    sniffed.ddl_without_uuid = ddl::without_uuid(options, &sniffed);
    Ok(sniffed)
}

/// Adds the columns whose value the options say.
fn add_constants(sniffed: &mut Sniffed, options: &SniffOptions) -> Result<(), Error> {
    for (name, value) in &options.constants {
        let is_same = |known: &str| known.to_lowercase() == name.to_lowercase();
        let is_typed = options.wanted.types.iter().any(|(typed, _)| is_same(typed));
        if sniffed.columns.iter().any(|column| is_same(&column.name)) {
            continue;
        }
        let sql_type = match value {
            Some(value) => statistics::type_of(value),
            None if is_typed => String::new(),
            None => {
                return Err(Error::Usage(format!(
                    "{} needs the type of its column in the new table: {}",
                    SET_SQL.with(format!("{name}=..")),
                    TYPES.with(format!("{name}=DATETIME"))
                )));
            }
        };
        let name = name.clone();
        sniffed.columns.push(SniffedColumn { name, sql_type, ..SniffedColumn::default() });
    }
    Ok(())
}

/// The word of `--format-of` that refuses values which a column would change.
const EXACT: &str = "exact";
/// How the names of types begin whose columns change values.
const EXACT_TYPES: [&str; 7] = ["INT", "BIGINT", "TINYINT", "DECIMAL", "DOUBLE", "DATE", "TIME"];
/// Parts of the names of types of texts and bytes, and of no others.
const TEXTS: [&str; 7] = ["CHAR", "TEXT", "BINARY", "BLOB", "ENUM", "SET", "JSON"];

/// Has numbers, dates and times refuse values that their type would change, if not all rows were read.
fn refuse_changes(sniffed: &mut Sniffed) {
    for column in &mut sniffed.columns {
        let is_type = |name: &&str| column.sql_type.starts_with(*name);
        column.is_exact = !sniffed.is_whole && EXACT_TYPES.iter().any(is_type);
    }
}

/// Gives columns the types that they are wanted to have.
fn overrule(sniffed: &mut Sniffed, wanted: &TableSettings) -> Result<(), Error> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(name) = &wanted.collation
        && (name.is_empty() || !name.chars().all(is_name))
    {
        return Err(Error::Usage(format!(
            "{} is not the name of a collation",
            COLLATION.with(format!("{name:?}"))
        )));
    }
    for (name, sql_type) in &wanted.types {
        let lower = name.to_lowercase();
        let column = sniffed.columns.iter_mut().find(|column| column.name.to_lowercase() == lower);
        let Some(column) = column else {
            let names: Vec<&str> = sniffed.columns.iter().map(|column| &*column.name).collect();
            return Err(Error::Usage(format!(
                "{TYPES} names `{name}`, but the columns are {}",
                names.join(", ")
            )));
        };
        column.sql_type.clone_from(sql_type);
        column.is_exact = false;
        // A text stays what it is.
        if TEXTS.iter().any(|text| sql_type.to_ascii_uppercase().contains(text)) {
            column.format = None;
        }
    }
    Ok(())
}

/// The sentence that files are no delimited text; none if they are.
pub fn other_format(options: &SniffOptions) -> Option<String> {
    let sample = options.sample().ok()?;
    let other = check_format(&sample, options).err().map(|error| error.to_string());
    other.or_else(|| unmarked(&sample, options))
}

/// The sentence that files are in UTF-16, which neither an option nor a byte order mark says; none if they are not.
pub fn unmarked_utf16(options: &SniffOptions) -> Option<String> {
    unmarked(&options.sample().ok()?, options)
}

fn unmarked(sample: &Sample, options: &SniffOptions) -> Option<String> {
    let charset = match (options.encoding, sample.encoding) {
        (Encoding::ByMark, Encoding::Utf16) => "utf16",
        (Encoding::ByMark, Encoding::Utf16Le) => "utf16le",
        _ => return None,
    };
    let name = options.files.first()?.display();
    Some(format!(
        "{name} is in UTF-16 without a byte order mark; {} reads it",
        CHARSET.with(charset)
    ))
}

/// Refuses files that are no delimited text.
fn check_format(sample: &Sample, options: &SniffOptions) -> Result<(), Error> {
    for part in sample.parts.iter().filter(|part| part.is_start) {
        let other = format::other_than_text(&part.bytes);
        let other = other.or_else(|| match options.dialect {
            None => format::other_than_rows(&part.bytes),
            Some(_) => None,
        });
        if let Some(what) = other {
            let name = options.files[part.file].display();
            return Err(Error::Usage(format!("{name} is {what}")));
        }
    }
    Ok(())
}

/// Header lines that no column can be named by are skipped, so all files must have one.
fn no_header(files: &[PathBuf], other: usize) -> Error {
    let name =
        |file: usize| files.get(file).map_or(String::new(), |path| path.display().to_string());
    Error::Usage(format!(
        "{} does not begin with the header of {}, so it is unknown which files have a header: load \
         files with a header and files without one separately",
        name(other),
        name(0)
    ))
}

/// Files without rows; or whose first line goes on behind all that is read of it.
fn rowless(sample: &Sample, options: &SniffOptions) -> Error {
    let names = options.files.iter().map(|path| path.display().to_string());
    let names = names.collect::<Vec<_>>().join(", ");
    let is_cut = |part: &&Part| part.is_start && !part.is_end && !part.bytes.is_empty();
    Error::Usage(match sample.parts.iter().find(is_cut) {
        Some(part) => format!(
            "{}: no line ends in the first {} bytes, more than a guess reads: \
             {LINES_TERMINATED_BY} names another line end, {DDL} makes the table without a guess",
            options.files[part.file].display(),
            part.bytes.len()
        ),
        None => format!("{names} has no rows to guess from"),
    })
}

/// No table has so many columns.
fn too_wide(file: &Path, fields: usize) -> Error {
    Error::Usage(format!(
        "{}: the lines have {fields} fields, but an InnoDB table has at most {COLUMNS_MAX} columns",
        file.display()
    ))
}

/// Lines with separators that do not make columns would be rows of one long text.
fn uneven(file: &Path) -> Error {
    Error::Usage(format!(
        "{}: no separator cuts most lines into the same number of fields: {} names the separator, \
         {SKIP_LINES} skips lines above the rows, {ONE_COLUMN} loads each line as one text",
        file.display(),
        FIELDS_TERMINATED_BY.with("TEXT")
    ))
}

/// Names of the columns: those that were given, the header's, or numbers.
fn name_columns(
    sniffed: &mut Sniffed,
    found: Option<Header>,
    options: &SniffOptions,
    has_values: &[bool],
) {
    let fields = has_values.len();
    let numbered = || (1..=fields).map(|number| format!("c{number}")).collect::<Vec<_>>();
    let has_header = found.is_some();
    let names = match (&options.columns, found) {
        (Some(names), _) => {
            sniffed.header = has_header;
            sniffed.names = Some(names.clone());
            let rest = numbered().into_iter().skip(names.len());
            names.iter().cloned().chain(rest).take(fields).collect()
        }
        (None, Some(found)) if found.can_be_matched => {
            sniffed.header = true;
            found.names
        }
        (None, Some(found)) => {
            // Names that no column can have are changed, so the header cannot say them.
            let names = header::changed(&found.names, has_values);
            sniffed.skip_lines += found.lines;
            sniffed.names = Some(names.clone());
            if names != found.names {
                sniffed.notes.push(notes::changed(&names));
            }
            if found.is_underlined {
                let note = "the line of dashes below the header is skipped".to_owned();
                sniffed.notes.push(note);
            }
            names
        }
        (None, None) => numbered(),
    };
    let column = |name| SniffedColumn { name, ..SniffedColumn::default() };
    sniffed.columns = names.into_iter().map(column).collect();
}

/// Takes fields that no column gets out of the table.
fn leave_out(sniffed: &mut Sniffed) {
    let is_left_out = |column: &SniffedColumn| column.name.starts_with(header::LEFT_OUT);
    let key = sniffed.primary_key.and_then(|at| Some(sniffed.columns.get(at)?.name.clone()));
    if sniffed.columns.iter().all(is_left_out) {
        return;
    }
    sniffed.columns.retain(|column| !is_left_out(column));
    sniffed.primary_key =
        sniffed.columns.iter().position(|column| Some(&column.name) == key.as_ref());
}

#[cfg(test)]
mod tests;
