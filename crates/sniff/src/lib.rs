//! A guess at a file: how its rows are cut, the contents of its columns, and a table for them.
//!
//! ```text
//! sample -> dialect (separator, quote, escape) -> records -> charset -> header -> NULL -> types -> DDL
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
mod kind;
mod mixture;
mod preamble;
mod records;
mod row_size;
mod statistics;

pub use format::other_than_sql;

use std::path::{Path, PathBuf};

use charset::Charset;
use dialect::Guess;
use face::option::{
    COLLATION, COLUMNS, FIELDS_TERMINATED_BY, FORMAT_OF, NULL_TOKEN, ONE_COLUMN, REJECTS_MAX,
    SET_SQL, SKIP_LINES, TYPES,
};
use header::Header;
use job::error::Error;
use preamble::Preamble;
use records::Records;
use sources::{Compression, Dialect, Encoding, KeptPipes, Preset, Sample};
use statistics::{ColumnStatistics, MixedColumn, Nulls};

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Columns that a note names.
const NAMES_SHOWN: usize = 5;

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

/// The user's settings for a table that is guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSettings {
    /// Types of columns, with whatever may follow them in a CREATE TABLE.
    pub types: Vec<(String, String)>,
    /// Collation of the table.
    pub collation: Option<String>,
}

/// The guess at a file.
#[derive(Clone, Debug)]
pub struct Sniffed {
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
}

/// Looks at the input.
///
/// Errors: reading it; an input that has no rows to look at.
pub fn sniff(options: &SniffOptions) -> Result<Sniffed, Error> {
    let usage = |error: sources::Error| Error::Usage(error.to_string());
    let memory = options.memory_bytes_max / 2;
    let sample = Sample::take(&options.files, options.encoding, &options.temp_dir, memory);
    let sample = sample.map_err(usage)?;
    check_format(&sample, options)?;
    let mut notes = Vec::new();
    let ending = options.files.first().and_then(|path| dialect::ending(path));
    let mut above = match options.skip_lines {
        0 => Preamble::of(&sample, options)?,
        _ => Preamble::default(),
    };
    let mut guess = match &options.dialect {
        Some(dialect) => Guess::given(dialect.clone()),
        None => above.guess(&sample, options, ending.as_deref(), &mut notes),
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
    notes.extend(above.note(&sample));
    let charset = Charset::of(&sample, &records, options);
    if records.fields == 0 {
        let names = options.files.iter().map(|path| path.display().to_string());
        return Err(Error::Usage(format!(
            "{} has no rows to guess from",
            names.collect::<Vec<_>>().join(", ")
        )));
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
        header: false,
        skip_lines: options.skip_lines + above.lines,
        names: None,
        charset: charset.option(),
        compression: sample.compression,
        columns: Vec::new(),
        primary_key: None,
        rows: seen.rows,
        is_whole: sample.is_whole,
        ambiguous_days: Vec::new(),
        notes,
        ddl: String::new(),
        kept: sample.kept.clone(),
    };
    name_columns(&mut sniffed, found, options, &records.has_values());
    seen.columns(&mut sniffed, nulls);
    sniffed.ambiguous_days = seen.ambiguous.iter().map(|(name, _)| name.clone()).collect();
    sniffed.notes.extend(charset.note(&options.files));
    add_notes(&mut sniffed, &sample, &records, &seen, &options.wanted);
    leave_out(&mut sniffed);
    add_constants(&mut sniffed, options)?;
    overrule(&mut sniffed, &options.wanted)?;
    row_size::check(&sniffed.columns)?;
    sniffed.ddl = ddl::create_table(&options.table, &sniffed, options.wanted.collation.as_deref());
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

/// Parts of the names of types of texts and bytes, and of no others.
const TEXTS: [&str; 7] = ["CHAR", "TEXT", "BINARY", "BLOB", "ENUM", "SET", "JSON"];

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
        // A text stays what it is.
        if TEXTS.iter().any(|text| sql_type.to_ascii_uppercase().contains(text)) {
            column.format = None;
        }
    }
    Ok(())
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
                sniffed.notes.push(changed_note(&names));
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

fn add_notes(
    sniffed: &mut Sniffed,
    sample: &Sample,
    records: &Records<'_>,
    seen: &ColumnStatistics,
    wanted: &TableSettings,
) {
    let notes = &mut sniffed.notes;
    if !sample.is_whole {
        notes.push(
            "only parts of the input were read, so columns are wider than necessary, accept NULL \
             and have no key; rows that were not read may still be rejected"
                .to_owned(),
        );
        if seen.looks_unique(&sniffed.columns) {
            notes.push(format!(
                "`{}` is unique in the rows that were read; make it the PRIMARY KEY if it is \
                 unique in all rows",
                sniffed.columns[0].name
            ));
        }
    }
    if let Some((lines, text)) = records.footer() {
        let (are, it) = match lines {
            1 => ("the last line is no row".to_owned(), "it"),
            lines => (format!("the last {lines} lines are no rows"), "them"),
        };
        notes.push(format!(
            "{are}, {text:?}: delete {it}, or skip {it} by {}",
            REJECTS_MAX.with(lines)
        ));
    } else if records.odd_rows > 0 {
        notes.push(format!(
            "of {} rows that were read ({} fields expected), {} would be rejected for their number \
             of fields ({REJECTS_MAX} skips some)",
            records.odd_rows + sniffed.rows,
            records.fields,
            records.odd_rows
        ));
    }
    notes.extend(format_notes(&sniffed.columns));
    let has_type =
        |name: &str| wanted.types.iter().any(|(typed, _)| typed.eq_ignore_ascii_case(name));
    let codes = seen.codes.iter().filter(|name| !has_type(name));
    notes.extend(codes.map(|name| {
        format!(
            "`{name}` is text in a new table, because its numbers may be codes, which a number \
             would change; {} makes it a number",
            TYPES.with(format!("{name}=DOUBLE"))
        )
    }));
    notes.extend(seen.words_in_text.iter().map(|(name, word)| {
        format!(
            "`{name}` keeps {word} as text; {} reads it as NULL in all columns",
            NULL_TOKEN.with(word)
        )
    }));
    for (name, why) in &seen.ambiguous {
        notes.push(format!(
            "`{name}` is loaded as text, because {why}; {TYPES} and {FORMAT_OF} set its type and \
             format"
        ));
    }
    let mixed = seen.mixed.iter().filter(|mixed| !has_type(&mixed.name));
    notes.extend(mixed.map(|mixed| mixed_note(mixed, records)));
    if seen.decimal_commas {
        notes.push(
            "columns that mix numbers with a decimal comma and other texts are loaded as text"
                .to_owned(),
        );
    }
}

/// The formats of columns, a note for each format.
fn format_notes(columns: &[SniffedColumn]) -> Vec<String> {
    let mut formats: Vec<&str> = Vec::new();
    for format in columns.iter().filter_map(|column| column.format.as_deref()) {
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    let note = |format: &str| {
        let has_it = |column: &&SniffedColumn| column.format.as_deref() == Some(format);
        let names: Vec<&str> =
            columns.iter().filter(has_it).map(|column| column.name.as_str()).collect();
        let first = names.iter().take(NAMES_SHOWN).map(|name| format!("`{name}`"));
        let first = first.collect::<Vec<_>>().join(", ");
        let rest = match names.len().saturating_sub(NAMES_SHOWN) {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let (are, column) = match names[..] {
            [name] => ("is", name),
            _ => ("are", "COLUMN"),
        };
        let option = FORMAT_OF.with(format!("{column}={format}"));
        format!("{first}{rest} {are} read with {option}")
    };
    formats.into_iter().map(note).collect()
}

/// What became of names in the header that columns cannot have.
fn changed_note(names: &[String]) -> String {
    let left_out = names.iter().filter(|name| name.starts_with(header::LEFT_OUT)).count();
    let rest = match left_out {
        0 => String::new(),
        1 => "; the last field has neither name nor values, and is left out".to_owned(),
        fields => {
            format!("; the last {fields} fields have neither names nor values, and are left out")
        }
    };
    format!(
        "the header has names that are empty, equal or invalid for a column: these names are \
         changed, and the header is skipped; {COLUMNS} sets the names{rest}"
    )
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

/// The values that make a column text, and the type by which such rows would be rejected.
fn mixed_note(mixed: &MixedColumn, records: &Records<'_>) -> String {
    let MixedColumn { name, sql_type, values, others, first, .. } = mixed;
    let kind = if mixed.are_numbers { "number" } else { "date" };
    let are = match others {
        1 => format!("is not a {kind}"),
        _ => format!("are not {kind}s"),
    };
    let line = first.row.and_then(|row| records.line_of(row));
    let place = line.map_or(String::new(), |(_, line)| format!(", line {line}"));
    format!(
        "`{name}` is text in a new table, because {others} of {values} values {are} ({:?}{place}); {} rejects \
         such rows",
        first.text,
        TYPES.with(format!("{name}='{sql_type}'"))
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sniff_bytes(bytes: &[u8]) -> Result<Sniffed, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        std::fs::write(&path, bytes).unwrap();
        sniff_files(vec![path])
    }

    fn sniff_files(files: Vec<PathBuf>) -> Result<Sniffed, Error> {
        sniff(&SniffOptions {
            files,
            table: "t".to_owned(),
            dialect: None,
            empty_is_null: false,
            one_column: false,
            null_tokens: Vec::new(),
            null_in_quotes: false,
            header: None,
            skip_lines: 0,
            columns: None,
            encoding: Encoding::ByMark,
            charset: None,
            temp_dir: std::env::temp_dir(),
            memory_bytes_max: 4 << 30,
            trim: false,
            constants: Vec::new(),
            wanted: TableSettings::default(),
        })
    }

    fn names(sniffed: &Sniffed) -> Vec<&str> {
        sniffed.columns.iter().map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn a_header_may_leave_a_column_without_a_name_or_give_one_twice() {
        let sniffed = sniff_bytes(b",a,A\n0,1,x\n1,2,y\n").unwrap();
        assert_eq!(names(&sniffed), ["c1", "a", "Ac3"]);
        assert_eq!((sniffed.rows, sniffed.skip_lines, sniffed.header), (2, 1, false));
        assert!(
            sniffed.notes[0]
                .contains("the header has names that are empty, equal or invalid for a"),
            "{:?}",
            sniffed.notes
        );
        let sniffed = sniff_bytes(b"a,,1\n2,3,4\n").unwrap();
        assert_eq!((sniffed.rows, sniffed.skip_lines), (2, 0));
    }

    /// Names of columns, rows, lines to skip, and whether a header is matched by name.
    fn found(text: &str) -> (Vec<String>, u64, u64, bool) {
        let sniffed = sniff_bytes(text.as_bytes()).unwrap();
        let names = names(&sniffed).into_iter().map(str::to_owned).collect();
        (names, sniffed.rows, sniffed.skip_lines, sniffed.header)
    }

    #[test]
    fn a_header_is_found_whatever_its_names_are() {
        let numbers = |names: &str| format!("{names}\nA,1,2\nB,3,4\n");
        let long = "n".repeat(70);
        for (text, names, rows, skip_lines, header) in [
            (numbers("Country,2000,2001"), "Country|2000|2001", 2, 0, true),
            (numbers("Country,2020-01-22,2020-01-23"), "Country|2020-01-22|2020-01-23", 2, 0, true),
            (numbers("Country,1/22/20,1/23/20"), "Country|1/22/20|1/23/20", 2, 0, true),
            (numbers("Country,3P%,2nd place"), "Country|3P%|2nd place", 2, 0, true),
            ("A,2000,2001\nB,2002,1999\n".to_owned(), "c1|c2|c3", 2, 0, false),
            ("A,1,2\nB,3,4\n".to_owned(), "c1|c2|c3", 2, 0, false),
            ("unknown,1\n2,3\n".to_owned(), "c1|c2", 2, 0, false),
            ("Month,0\n2026-01-01,7\n".to_owned(), "Month|0", 1, 0, true),
            ("k,n,1999,2000\nA,7,2001,5\n".to_owned(), "k|n|1999|2000", 1, 0, true),
            ("town,river\nUlm,Danube\n".to_owned(), "town|river", 1, 0, true),
            ("Ulm,Danube\nYork,Ouse\n".to_owned(), "c1|c2", 2, 0, false),
            ("host,address\na,192.168.0.1\nb,10.0.0.7\n".to_owned(), "host|address", 2, 0, true),
            ("k,n\n-,--\na,1\nb,2\n".to_owned(), "k|n", 2, 2, false),
            ("k,n\na,1\nNA,2\nb,NA\nc,NULL\n".to_owned(), "k|n", 4, 0, true),
            ("k,n\na,1,\nb,2,\n".to_owned(), "k|n", 2, 0, true),
            ("  Ix,   Iy\n 1.5,  20\n 1.25, 3\n".to_owned(), "Ix|Iy", 2, 0, true),
            (numbers(" k , v ,w"), "k|v|w", 2, 0, true),
            (numbers("k,\"v\n(USD)\",w"), "k|v (USD)|w", 2, 2, false),
            (numbers("k,\u{1f600},w"), "k|_|w", 2, 1, false),
            (numbers("k,a@b,@w"), "k|a@b|w", 2, 1, false),
            (
                numbers(&format!("k,{long},{long}")),
                &format!("k|{0}|{0}c3", &long[..58]),
                2,
                1,
                false,
            ),
            ("k,v,,\nA,1,,\nB,2,,\n".to_owned(), "k|v", 2, 1, false),
            ("k,v\nA,1,,\nB,2,,\nC,3,,\nD,4,,\n".to_owned(), "k|v", 4, 1, false),
            ("k,,v\nA,,1\nB,,2\n".to_owned(), "k|c2|v", 2, 1, false),
        ] {
            let names = names.split('|').map(str::to_owned).collect();
            assert_eq!(found(&text), (names, rows, skip_lines, header), "{text}");
        }
    }

    #[test]
    fn lines_above_the_rows_are_skipped_and_said() {
        for (above, below, skip_lines, header) in [
            ("sep=;\n", "id;v\n1;a,b\n2;c\n", 1, true),
            ("sep=:\r\n", "id:v\r\n1:a\r\n2:c\r\n", 1, true),
            ("# a comment, with commas\n#\n", "id,v\n1,a\n2,c\n", 2, true),
            ("#TYPE System.Object\n", "\"id\",\"v\"\n\"1\",\"a\"\n\"2\",\"c\"\n", 1, true),
            ("# by hand, 2026\n", "id,v\n1,a\n2,c\n", 1, true),
            ("# one\n", "# id,v\n1,a\n2,c\n", 2, false),
            ("", "#id\tv\n1\ta\n2\tc\n", 1, false),
            ("Orders of September\n\n", "id;v\n1;a\n2;c\n", 2, true),
            ("Orders of September;\n;\n", "id;v\n1;a\n2;c\n", 2, true),
            ("\n\n", "id;v\n1;a\n2;c\n", 2, true),
            ("Account:;DE12\n\n", "id;v;w\n1;a;x\n2;c;x\n", 2, true),
            ("# one\nA title\n", "id;v\n1;a\n2;c\n", 2, true),
        ] {
            let text = format!("{above}{below}");
            let names = ["id", "v", "w"][..2 + usize::from(below.contains('w'))].to_vec();
            let names = names.into_iter().map(str::to_owned).collect();
            assert_eq!(found(&text), (names, 2, skip_lines, header), "{text:?}");
            let notes = sniff_bytes(text.as_bytes()).unwrap().notes.join("\n");
            let is_said = above.trim().is_empty() || notes.contains("above the rows");
            assert!(is_said, "{text:?}: {notes}");
        }
        // Rows that only look like comments.
        for (text, rows) in [
            ("#one\n#two\nthree\n", 3),
            ("#one,1\n#two,2\nthree,3\n", 3),
            ("#only\n", 1),
            ("Total\nid\n1\n", 3),
        ] {
            let (_, seen, skip_lines, header) = found(text);
            assert_eq!((seen + u64::from(header), skip_lines), (rows, 0), "{text:?}");
        }
    }

    #[test]
    fn a_last_line_that_is_no_row_is_named() {
        let rows: String = (0..20).map(|row| format!("{row},a\n")).collect();
        for (footer, said) in [
            (
                "\n(20 rows affected)\n",
                "the last 2 lines are no rows, \"(20 rows affected)\": delete them, or skip them by --rejects-max 2",
            ),
            (
                "Total: 20",
                "the last line is no row, \"Total: 20\": delete it, or skip it by --rejects-max 1",
            ),
            (
                "x\n20,a\n",
                "of 22 rows that were read (2 fields expected), 1 would be rejected for their number of fields (--rejects-max skips some)",
            ),
        ] {
            let notes = sniff_bytes(format!("id,v\n{rows}{footer}").as_bytes()).unwrap().notes;
            assert_eq!(notes, [said]);
        }
    }

    #[test]
    fn files_with_other_comments_are_refused_together() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let a = write("a.csv", "# one\nid,v\n1,x\n");
        let b = write("b.csv", "id,v\n2,y\n");
        let said = sniff_files(vec![a.clone(), b]).unwrap_err().to_string();
        assert!(said.contains("equally many comment lines: load them separately"), "{said}");
        assert_eq!(sniff_files(vec![a.clone(), a]).unwrap().rows, 2);
    }

    #[test]
    fn values_that_make_a_column_text_are_named() {
        let mut text = String::from("id,amount,day,zip,word\n");
        for row in 0..1000 {
            let amount = if row == 316 { "12.5O".to_owned() } else { format!("{row}.50") };
            let day = if row == 741 { "2026-02-30" } else { "2026-02-28" };
            text += &format!("{row},{amount},{day},{:05},{}\n", row * 90, ["a", "7"][row % 2]);
        }
        let notes = sniff_bytes(text.as_bytes()).unwrap().notes;
        assert_eq!(
            notes,
            [
                "`amount` is text in a new table, because 1 of 1000 values is not a number (\"12.5O\", line 318); \
                 --types amount='DECIMAL(11,2)' rejects such rows",
                "`day` is text in a new table, because 1 of 1000 values is not a date (\"2026-02-30\", line 743); \
                 --types day='DATE' rejects such rows",
            ]
        );
    }

    #[test]
    fn blank_lines_say_nothing_of_the_others() {
        for text in ["id,v\n1,a\n\n2,b\n\n", "id,v\n\n1,a\n\n2,b\n\n\n\n"] {
            let sniffed = sniff_bytes(text.as_bytes()).unwrap();
            assert_eq!((names(&sniffed), sniffed.rows), (vec!["id", "v"], 2), "{text:?}");
            assert!(
                sniffed.notes[0].contains("rejected for their number of fields"),
                "{:?}",
                sniffed.notes
            );
        }
        assert!(sniff_bytes(b"\n\n\n").is_err());
    }

    #[test]
    fn a_file_is_utf_8_but_for_some_rows_or_latin1() {
        let charset = |rows: &[&[u8]]| {
            let text: Vec<u8> =
                rows.iter().enumerate().fold(b"id,name\n".to_vec(), |text, (at, row)| {
                    [&text[..], at.to_string().as_bytes(), b",", row, b"\n"].concat()
                });
            let sniffed = sniff_bytes(&text).unwrap();
            (sniffed.charset, sniffed.notes.join(" "))
        };
        let (good, bad, ascii) = ("H\u{f6}he".as_bytes(), &b"H\xf6he"[..], &b"low"[..]);
        let garbage = &b"\xff\xfe\xff\xff\x80\x80"[..];
        let utf8: [(&[&[u8]], &str); 3] = [
            (&[good, bad, good, ascii, bad], "2 rows are not, the first in line 3"),
            (&[ascii, good, bad], "1 row is not, the first in line 4"),
            (&[good, good, ascii, garbage], "1 row is not, the first in line 5"),
        ];
        for (rows, note) in utf8 {
            let (name, notes) = charset(rows);
            assert_eq!(name, None, "{notes}");
            assert!(notes.contains(note) && notes.contains("--rejects-max"), "{notes}");
        }
        let latin1: [&[&[u8]]; 3] =
            [&[ascii, bad], &[bad, bad, good], &[b"x\xe4\xfc", ascii, ascii, ascii]];
        for rows in latin1 {
            let (name, notes) = charset(rows);
            assert_eq!(name.as_deref(), Some("latin1"), "{notes}");
            assert!(
                notes.contains("the file is not UTF-8; it is read as Western European (latin1"),
                "{notes}"
            );
        }
        assert_eq!(charset(&[good, ascii]), (None, String::new()));
    }

    #[test]
    fn a_header_in_latin1_names_columns() {
        let sniffed = sniff_bytes(b"id,Stra\xdfe\n1,x\n2,H\xf6he\n").unwrap();
        assert_eq!(names(&sniffed), ["id", "Stra\u{df}e"]);
        assert!(sniffed.header);
        assert_eq!(sniffed.charset.as_deref(), Some("latin1"));
    }

    /// Values as a writer of CSV writes them.
    fn csv(rows: &[Vec<String>], separator: &str, end: &str) -> String {
        let field = |value: &String| format!("\"{}\"", value.replace('"', "\"\""));
        let row =
            |row: &Vec<String>| row.iter().map(field).collect::<Vec<_>>().join(separator) + end;
        rows.iter().map(row).collect()
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_table_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok(sniffed) = sniff_bytes(&bytes) {
                prop_assert!(!sniffed.columns.is_empty());
            }
        }

        #[test]
        fn bytes_that_mean_something_are_a_table_or_an_error(
            tokens in prop::collection::vec(
                prop::sample::select(vec![
                    "\"", "'", ",", ";", "\t", "|", "\n", "\r\n", "\r", "\\", "\\N", "NULL", "1",
                    "2.5", "2024-01-01", "id", "\u{feff}", "", "\u{e9}", "\0", "12:00:00",
                ]),
                0..60,
            ),
        ) {
            if let Ok(sniffed) = sniff_bytes(tokens.concat().as_bytes()) {
                prop_assert!(sniffed.columns.iter().all(|column| !column.sql_type.is_empty()));
                let is_column = |name: &&String| !name.starts_with(header::LEFT_OUT);
                let named = sniffed.names.map(|names| names.iter().filter(is_column).count());
                prop_assert!(named.is_none_or(|named| named == sniffed.columns.len()));
            }
        }

        #[test]
        fn the_separator_of_quoted_fields_is_found(
            fields in 2usize..5, separator in prop::sample::select(vec![",", ";", "\t", "|"]),
            end in prop::sample::select(vec!["\n", "\r\n"]),
            values in prop::collection::vec("[a-z,;|\t\"\n ]{0,8}", 4..40),
        ) {
            let rows: Vec<Vec<String>> = values.chunks_exact(fields).map(<[_]>::to_vec).collect();
            prop_assume!(!rows.is_empty());
            let sniffed = sniff_bytes(csv(&rows, separator, end).as_bytes()).unwrap();
            prop_assert_eq!(&sniffed.dialect.fields_terminated_by, separator.as_bytes());
            prop_assert_eq!(sniffed.dialect.enclosed_by, Some(b'"'));
            prop_assert_eq!(sniffed.columns.len(), fields);
            let header = usize::from(sniffed.header || sniffed.skip_lines > 0);
            prop_assert_eq!(sniffed.rows, (rows.len() - header) as u64);
        }
    }

    #[test]
    fn types_take_what_was_seen() {
        let text = "n,big,price,when,note\n\
            127,9223372036854775807,1234.50,2024-01-01 00:00:00,NULL\n\
            -128,1,0.25,2024-12-31 23:59:59,x\n";
        let sniffed = sniff_bytes(text.as_bytes()).unwrap();
        let types = |sniffed: &Sniffed| {
            let types = sniffed.columns.iter().map(|column| column.sql_type.clone());
            types.collect::<Vec<_>>()
        };
        let expected = ["INT", "BIGINT", "DECIMAL(12,2)", "DATETIME", "VARCHAR(255)"];
        assert_eq!(types(&sniffed), expected);
        let ids = sniff_bytes(b"id,order_id,OrderId,paid\n1,2,3,4\n2,2,4,5\n").unwrap();
        assert_eq!(types(&ids), ["BIGINT", "BIGINT", "BIGINT", "INT"]);
        for (values, sql_type) in [
            ([".5", "-1.", "+3"], "DECIMAL(8,1)"),
            (["1.50", "12.25", "3"], "DECIMAL(10,2)"),
            (["1.5", "12.25", "3"], "DECIMAL(14,6)"),
            (["+3", "-1", "0"], "INT"),
            (["+4930123", "+4930124", "+1"], "VARCHAR(255)"),
            (["09:03", "23:59", "00:00"], "TIME"),
            (["09:03", "23:59:00", "00:00"], "VARCHAR(255)"),
            (["1:05:09", "10:00:00", "0:00:01"], "TIME"),
            (["2014-01-01 01:15", "2014-01-01 01:15:30.25", "2014-01-01 00:00"], "DATETIME(2)"),
            (["2012/01/01", "2012/1/2", "2012/12/31"], "DATE"),
            ([" 9.63", "12.50 ", "  "], "DECIMAL(10,2)"),
            (["Jan 1 2000", "Dec 31 2000", " Jun 1 2000"], "DATE"),
            (["-0", "5", "7"], "VARCHAR(255)"),
            (["-0", "5.5", "7"], "DECIMAL(8,1)"),
            (["FALSE", "FALSE", "False"], "BOOLEAN"),
            (["t", "f", "T"], "BOOLEAN"),
            (["f", "f", "f"], "VARCHAR(255)"),
            (["\"1,234\"", "\"12,500\"", "7"], "DECIMAL(11,0)"),
            (["\"1,234\"", "\"12,50\"", "7"], "DECIMAL(11,3)"),
        ] {
            let text = format!("id,v\na,{}\nb,{}\nc,{}\n", values[0], values[1], values[2]);
            assert_eq!(types(&sniff_bytes(text.as_bytes()).unwrap())[1], sql_type, "{values:?}");
        }
        let padded = sniff_bytes(b"k,v,w\na, 1,x\nb,  , y\n").unwrap();
        let formats: Vec<_> =
            padded.columns.iter().map(|column| column.format.as_deref()).collect();
        assert_eq!(formats, [None, Some("trim+null:"), None]);
        assert_eq!(padded.notes, ["`v` is read with --format-of v=trim+null:"]);
        let padded = sniff_bytes(b"a,b,c,d,e,f,g\n 1, 2, 3, 4, 5, 6, 7\n").unwrap();
        let said = "`a`, `b`, `c`, `d`, `e` and 2 more are read with --format-of COLUMN=trim";
        assert_eq!(padded.notes, [said]);
        let wide = format!("{}\n", vec!["x"; 1018].join(","));
        let said = sniff_bytes(wide.as_bytes()).unwrap_err().to_string();
        assert!(
            said.contains("1018 fields, but an InnoDB table has at most 1017 columns"),
            "{said}"
        );
        let text = "k;v\na;1,234\nb;12,500\n";
        let ambiguous = sniff_bytes(text.as_bytes()).unwrap();
        assert_eq!(types(&ambiguous)[1], "VARCHAR(255)");
        assert!(ambiguous.notes[0].contains("before a fraction or between thousands"));
        let long = format!("a\tb\n{}\t1\n", "x".repeat(70_000));
        assert_eq!(sniff_bytes(long.as_bytes()).unwrap().columns[0].sql_type, "MEDIUMTEXT");
    }
}
