//! How the files of a table that exists are written, where no option says it.
//!
//! A guess never takes the place of a reading that works: a header is one if each of its names is a column, another
//! dialect is used if the first line does not fit the table without it, and a format of values if the server would
//! refuse these values.

use std::iter::repeat_with;
use std::path::PathBuf;
use std::slice;

use job::options::{InputOptions, LoadOptions};
use schema::{Column, TableName};
use server::{ConnectOptions, Session};
use sniff::{SniffOptions, Sniffed, TableSettings};
use sources::{Dialect, FileSource, FoundInput, MultiByte, SourceOptions, remote};
use values::{Family, SqlType};

/// The word of a format without other changes.
const TRIM: &str = "trim";
/// Memory for a look at the start of a file.
const LOOK_BYTES: u64 = 1 << 20;
/// Files whose first line is looked at: each is opened for it.
const FILES_MAX: usize = 100;

/// Readings that are guessed, where they differ from the options.
#[derive(Clone, Debug, Default)]
pub struct FileGuess {
    /// The guess that has the dialect; none if that of the options fits.
    pub dialect: Option<Sniffed>,
    /// The sentence that the file is no delimited text; none if it is.
    pub other_format: Option<String>,
    /// The first line names columns of the table.
    pub header: bool,
    /// The columns of lines as exports write them: with a field for each column that is not generated.
    pub columns: Option<Vec<String>>,
    /// Columns with the formats of their values.
    pub formats: Vec<(String, String)>,
    /// Columns of days that may be read in two ways, each with a format for one. They stay as they are.
    pub ambiguous_days: Vec<(String, String)>,
    /// The last column of lines that end with CR LF, of which the CR belongs to the value.
    pub kept_return: Option<String>,
    /// A later file whose first line names columns, where that of the first file is a row.
    pub later_header: Option<PathBuf>,
}

/// The guesses at the first files of loads into tables of one database, each made when it is asked for. A table that
/// does not exist has none. The loads keep the first bytes of pipes.
///
/// Errors: no connection. Whatever else is wrong with files, tables or server is told by the load.
pub fn guesses(
    connect: &ConnectOptions,
    tables: &mut [LoadOptions],
) -> Result<impl Iterator<Item = FileGuess>, server::Error> {
    let are_texts: Vec<bool> = tables.iter().map(may_be_guessed).collect();
    let texts = tables.iter_mut().zip(&are_texts).filter(|(_, is_text)| **is_text);
    texts.for_each(|(options, _)| keep_pipes(options));
    let tables = &*tables;
    let known = if are_texts.contains(&true) { known(connect, tables)? } else { Vec::new() };
    let known = known.into_iter().chain(repeat_with(|| None));
    Ok(tables.iter().zip(are_texts).zip(known).map(|((options, is_text), columns)| {
        let guess = |columns: Vec<Column>| FirstFile { options, columns: &columns }.guess();
        columns.filter(|_| is_text).and_then(guess).unwrap_or_default()
    }))
}

/// True if the files of a load are text.
fn may_be_guessed(options: &LoadOptions) -> bool {
    !options.input.kind().is_ok_and(|kind| kind.is_some())
}

/// Keeps the pipes of a load, which reads the bytes of the guess once more.
fn keep_pipes(options: &mut LoadOptions) {
    let InputOptions { files, kept, .. } = &mut options.input;
    let pipes = files.iter().filter(|file| remote::plain_bytes(file).is_none());
    let pipes: Vec<_> = pipes.cloned().collect();
    let found = FoundInput::find(&pipes, None, kept, &options.limits.temp_dir);
    found.iter().flatten().for_each(|input| input.keep(kept));
}

/// The columns of the tables of loads, as far as these exist.
fn known(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
) -> Result<Vec<Option<Vec<Column>>>, server::Error> {
    let Some(first) = tables.first() else { return Ok(Vec::new()) };
    let mut session = Session::connect(connect)?;
    let wanted: Vec<TableName> = tables.iter().map(LoadOptions::target).collect();
    let Ok(spelled) = catalog::spellings(&mut session, &first.database, &wanted) else {
        return Ok(Vec::new());
    };
    let names: Vec<TableName> = spelled.iter().flatten().cloned().collect();
    let mut columns = catalog::columns_of(&mut session, &names).unwrap_or_default().into_iter();
    session.keep();
    Ok(spelled.iter().map(|name| name.as_ref().and_then(|_| columns.next()?.ok())).collect())
}

/// The first file of a load, and the columns of its table.
struct FirstFile<'a> {
    options: &'a LoadOptions,
    columns: &'a [Column],
}

impl FirstFile<'_> {
    fn guess(&self) -> Option<FileGuess> {
        let input = &self.options.input;
        let mut line = self.first_line(&input.dialect, input.skip_lines)?;
        let mut guess = FileGuess::default();
        let mut sniffed = None;
        let fits = self.fits(&line);
        guess.other_format = self.other_format(&line, fits);
        if guess.other_format.is_some() {
            return Some(guess);
        }
        if !fits {
            if let Some((found, first)) = self.fitting_dialect() {
                line = first;
                guess.dialect = Some(found.clone());
                sniffed = Some(found);
            } else {
                guess.columns = Some(self.exported(&line)?);
            }
        }
        guess.header = !input.header && input.columns.is_none() && self.is_header(&line);
        let columns = self.columns_by_field(&line, &guess)?;
        guess.kept_return = kept_return(&line, &columns);
        if !guess.header && !input.header && input.columns.is_none() {
            guess.later_header = self.later_header(&guess);
        }
        let are_texts = columns.iter().flatten().all(|column| is_text(column));
        if are_texts || (guess.dialect.is_none() && self.is_plain(&columns, guess.header)) {
            return Some(guess);
        }
        let is_known = |sniffed: &Sniffed| sniffed.header || !guess.header;
        let sniffed = match sniffed.filter(is_known) {
            Some(sniffed) => Some(sniffed),
            None => self.sniff(guess.header || input.header),
        };
        let dialect = guess.dialect.as_ref().map_or(&input.dialect, |found| &found.dialect);
        let is_cut_alike = |sniffed: &Sniffed| {
            sniffed.dialect.fields_terminated_by == dialect.fields_terminated_by
                && sniffed.columns.len() == columns.len()
        };
        if let Some(sniffed) = sniffed.filter(is_cut_alike) {
            guess.formats = self.formats(&sniffed, &columns, guess.dialect.is_some());
            guess.ambiguous_days = self.ambiguous_days(&sniffed, &columns);
        }
        Some(guess)
    }

    /// Another dialect in which the first line fits the table, with that line.
    fn fitting_dialect(&self) -> Option<(Sniffed, Vec<String>)> {
        let found = self.sniff(self.options.input.header)?;
        let line = self.first_line(&found.dialect, found.skip_lines)?;
        // A header with other names is none of this table's, and above rows there may be a row.
        let has_names = found.header || found.skip_lines != self.options.input.skip_lines;
        let fits = self.fits(&line) && (!has_names || self.is_header(&line));
        fits.then_some((found, line))
    }

    /// The columns that an export writes, if the line has as many fields.
    fn exported(&self, line: &[String]) -> Option<Vec<String>> {
        let LoadOptions { input, rows, .. } = self.options;
        let is_written =
            |column: &&Column| column.generated.is_none() && !rows.has_constant(&column.name);
        let names = self.columns.iter().filter(is_written).map(|column| column.name.clone());
        let names: Vec<String> = names.collect();
        let may_be = input.columns.is_none() && !input.header && names.len() == line.len();
        may_be.then_some(names)
    }

    /// The sentence that the file is no text in bytes; none if it is.
    fn other_format(&self, line: &[String], fits: bool) -> Option<String> {
        let look = || self.look(self.options.input.header);
        match fits {
            false => sniff::other_format(&look()?),
            // Columns of text would take UTF-16 with a NUL beside each letter.
            true if line.iter().any(|field| field.contains('\0')) => {
                sniff::unmarked_utf16(&look()?)
            }
            true => None,
        }
    }

    fn later_header(&self, guess: &FileGuess) -> Option<PathBuf> {
        let input = &self.options.input;
        let (dialect, skip_lines) = match &guess.dialect {
            Some(found) => (&found.dialect, found.skip_lines),
            None => (&input.dialect, input.skip_lines),
        };
        let is_header = |file: &&PathBuf| {
            let line = self.first_line_of(slice::from_ref(*file), dialect, skip_lines);
            line.is_some_and(|line| self.is_header(&line))
        };
        // The writer of a later pipe may wait for the end of an earlier one.
        let plain = |file: &&PathBuf| remote::plain_bytes(file).is_some();
        input.files.iter().take(FILES_MAX).skip(1).filter(plain).find(is_header).cloned()
    }

    /// The first line behind those that are skipped.
    fn first_line(&self, dialect: &Dialect, skip_lines: u64) -> Option<Vec<String>> {
        self.first_line_of(self.options.input.files.get(..1)?, dialect, skip_lines)
    }

    fn first_line_of(
        &self,
        files: &[PathBuf],
        dialect: &Dialect,
        skip_lines: u64,
    ) -> Option<Vec<String>> {
        let InputOptions { encoding, .. } = &self.options.input;
        let source_options = SourceOptions {
            header: true,
            skip_lines,
            encoding: *encoding,
            temp_dir: self.options.limits.temp_dir.clone(),
            kept: self.options.input.kept.clone(),
            stop: self.options.interrupt.flag(),
            // Names of a longer line are no guess, and take many times its memory.
            record_bytes_max: LOOK_BYTES as usize,
            ..SourceOptions::default()
        };
        let dialect = self.in_charset(dialect);
        FileSource::new(files, &dialect, source_options).ok()?.header().ok()?
    }

    /// A dialect in the character set of the files.
    fn in_charset(&self, dialect: &Dialect) -> Dialect {
        let charset = MultiByte::of_charset(&self.options.input.charset);
        Dialect { charset, ..dialect.clone() }
    }

    fn sniff(&self, header: bool) -> Option<Sniffed> {
        sniff::sniff(&self.look(header)?).ok()
    }

    /// The look at the first file, of which nothing is known but what options say.
    fn look(&self, header: bool) -> Option<SniffOptions> {
        let InputOptions { files, kept, charset, encoding, skip_lines, columns, written, .. } =
            &self.options.input;
        let Dialect { null_tokens, null_in_quotes, .. } = &self.options.input.dialect;
        let text = |token: &Vec<u8>| String::from_utf8_lossy(token).into_owned();
        Some(SniffOptions {
            files: files.first().map(slice::from_ref)?.to_vec(),
            table: self.options.table.clone(),
            columnar: None,
            pointers: Vec::new(),
            matching: self.options.input.matching,
            sheet: None,
            dialect: None,
            empty_is_null: false,
            one_column: false,
            null_tokens: null_tokens.iter().map(text).collect(),
            null_in_quotes: *null_in_quotes,
            header: header.then_some(true),
            skip_lines: *skip_lines,
            columns: columns.clone(),
            encoding: *encoding,
            charset: Some(charset.clone()),
            kept: kept.clone(),
            temp_dir: self.options.limits.temp_dir.clone(),
            memory_bytes_max: LOOK_BYTES,
            trim: written.trim,
            constants: Vec::new(),
            wanted: TableSettings::default(),
        })
    }

    /// True if the values of all fields whose format no option has are ones that the server reads, cut as options say.
    fn is_plain(&self, columns: &[Option<&Column>], has_header: bool) -> bool {
        let input = &self.options.input;
        let Some(look) = self.look(has_header || input.header) else { return false };
        let is_guessed = |column: &&Column| !is_text(column) && !self.is_typed(column);
        let families =
            columns.iter().map(|column| Some(column.filter(is_guessed)?.sql_type.family()));
        let families: Vec<_> = families.collect();
        !input.written.trim
            && sniff::is_plain(&look, &self.in_charset(&input.dialect), &families).unwrap_or(false)
    }

    fn column(&self, name: &str) -> Option<&Column> {
        let lower = name.trim().to_lowercase();
        self.columns.iter().find(|column| column.name.to_lowercase() == lower)
    }

    /// True if each field is the name of a column, and of another one.
    fn is_header(&self, line: &[String]) -> bool {
        let mut names: Vec<&str> = Vec::new();
        let is_next = |name: &String| {
            let column = self.column(name).filter(|column| !names.contains(&column.name.as_str()));
            names.extend(column.map(|column| column.name.as_str()));
            column.is_some()
        };
        !line.is_empty() && line.iter().all(is_next)
    }

    /// True if the first line may be the first of the table's: a header or a row.
    fn fits(&self, line: &[String]) -> bool {
        let input = &self.options.input;
        let is_row = |fields: usize| {
            let is_trailing = line.len() == fields + 1 && line.last().is_some_and(String::is_empty);
            line.len() == fields || is_trailing
        };
        match (&input.columns, input.header && !input.is_by_position()) {
            (Some(columns), _) => is_row(columns.len()),
            (None, true) => {
                let leaves_out = input.ignore_unknown_columns && line.len() > 1;
                self.is_header(line) || leaves_out
            }
            (None, false) => self.is_header(line) || is_row(self.by_position().count()),
        }
    }

    /// The columns that fields go to where nothing names them.
    fn by_position(&self) -> impl Iterator<Item = &Column> {
        let rows = &self.options.rows;
        let columns = self.columns.iter();
        columns.filter(|column| !column.is_invisible && !rows.has_constant(&column.name))
    }

    /// The column of each field.
    fn columns_by_field(&self, line: &[String], guess: &FileGuess) -> Option<Vec<Option<&Column>>> {
        let input = &self.options.input;
        let has_header = guess.header || input.header;
        let names = match guess.columns.as_ref().or(input.columns.as_ref()) {
            Some(columns) => Some(columns.as_slice()),
            None => (has_header && !input.is_by_position()).then_some(line),
        };
        match names {
            Some(names) => Some(names.iter().map(|name| self.column(name)).collect()),
            None => Some(self.by_position().map(Some).collect()),
        }
    }

    /// True if an option has the format of a column.
    fn is_typed(&self, column: &Column) -> bool {
        let formats = &self.options.input.written.columns;
        formats.iter().any(|(name, _)| name.to_lowercase() == column.name.to_lowercase())
    }

    /// Columns of dates whose days may be read in two ways, if no option says how.
    ///
    /// The server takes the first number for the year if years have two digits.
    fn ambiguous_days(
        &self,
        sniffed: &Sniffed,
        columns: &[Option<&Column>],
    ) -> Vec<(String, String)> {
        let fields = columns.iter().zip(&sniffed.columns);
        let ambiguous = fields.filter_map(|(column, sniffed_column)| {
            let column = column.filter(|column| !self.is_typed(column))?;
            let found = sniffed_column.format.as_deref().and_then(form);
            let format = match found {
                Some(form) => form.contains("%y").then_some(form)?,
                None if sniffed.ambiguous_days.contains(&sniffed_column.name) => "%d/%m/%Y",
                None => return None,
            };
            let is_day = self.is_format_of("%d/%m/%Y", &column.sql_type);
            is_day.then(|| (column.name.clone(), format.to_owned()))
        });
        ambiguous.collect()
    }

    /// The formats of columns whose values the server would refuse.
    fn formats(
        &self,
        sniffed: &Sniffed,
        columns: &[Option<&Column>],
        is_guessed: bool,
    ) -> Vec<(String, String)> {
        let trim = if self.options.input.written.trim { "trim+" } else { "" };
        let fields = columns.iter().zip(&sniffed.columns);
        let formats = fields.filter_map(|(column, sniffed)| {
            let column = column.filter(|column| !self.is_typed(column))?;
            let format = sniffed.format.as_deref().or(sniffed.weak_format.as_deref())?;
            let format = self.format(format, column, is_guessed)?;
            Some((column.name.clone(), format!("{trim}{format}")))
        });
        formats.collect()
    }

    /// The words of a format that a column needs.
    fn format(&self, format: &str, column: &Column, is_guessed: bool) -> Option<String> {
        let is_needed = |word: &&str| match word.strip_prefix("null:") {
            // An empty field is no NULL to LOAD DATA.
            Some("") => is_guessed && column.nullable,
            Some(_) => column.nullable,
            None if *word == TRIM => format.len() > TRIM.len(),
            None => self.is_format_of(word, &column.sql_type),
        };
        if is_text(column) {
            return None;
        }
        let words: Vec<&str> = format.split('+').filter(is_needed).collect();
        let has_form = form(format).is_none_or(|form| words.contains(&form));
        (has_form && !words.is_empty()).then(|| words.join("+"))
    }

    /// True if values in a format are those of a type, without a loss, and no option says how they are written.
    fn is_format_of(&self, word: &str, sql_type: &SqlType) -> bool {
        let written = &self.options.input.written;
        match (word, sql_type.family()) {
            (
                "decimal-comma" | "decimal-point",
                Family::Integer | Family::Decimal | Family::Real,
            ) => !written.decimal_comma,
            ("yes-no", Family::Integer) => {
                matches!(sql_type, SqlType::Integer { bytes: 1, .. }) && !written.yes_no
            }
            ("yes-no", Family::Bits) => {
                matches!(sql_type, SqlType::Bit { bits: 1 }) && !written.yes_no
            }
            // The clock of a DATETIME may be another than that of the file.
            ("iso", Family::Moment) => written.dates.is_none(),
            (pattern, Family::Temporal | Family::Moment) if pattern.contains('%') => {
                let has_time = pattern.to_lowercase().contains("%h");
                // The server reads some dates itself that begin with a year, or have one of two digits.
                let is_refused = !pattern.contains("%y")
                    && (!pattern.starts_with("%Y") || pattern.contains("%p"));
                let is_lossless = match sql_type {
                    SqlType::Date => !has_time,
                    SqlType::Time { .. } => false,
                    _ => true,
                };
                is_refused && is_lossless && written.dates.is_none()
            }
            _ => false,
        }
    }
}

/// The word of a format that is no text of NULL.
fn form(format: &str) -> Option<&str> {
    format.split('+').find(|word| !word.starts_with("null:"))
}

/// The column of text that the CR of the line's end would be stored in.
fn kept_return(line: &[String], columns: &[Option<&Column>]) -> Option<String> {
    let column = columns.last().copied().flatten().filter(|column| is_text(column))?;
    let is_kept = line.len() == columns.len() && line.last()?.ends_with('\r');
    is_kept.then(|| column.name.clone())
}

/// True if the text of a value is its value.
fn is_text(column: &Column) -> bool {
    match column.sql_type.family() {
        Family::Integer | Family::Decimal | Family::Real | Family::Year => false,
        Family::Temporal | Family::Moment | Family::Bits => false,
        Family::Labels(_) | Family::Text(_) | Family::Json(_) | Family::Bytes => true,
        Family::Document | Family::Formatted | Family::CheckedBytes => true,
        Family::OpaqueText | Family::OpaqueBytes => true,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use schema::Column;

    use super::*;

    const VALUES: [&str; 24] = [
        "0",
        "-17",
        "1.5",
        "0.25",
        "1.234",
        "12.345",
        "1,5",
        "1.234,50",
        "1e5",
        "",
        "NULL",
        "NA",
        "yes",
        "no",
        "2024-01-02",
        "2024-01-02 03:04:05",
        "2024-01-02T03:04:05Z",
        "01/02/2024",
        "13/02/2024",
        "02.01.24",
        "10:30",
        " 7",
        "007",
        "$5",
    ];

    /// The names of a long line would take many times its memory.
    #[test]
    fn a_line_that_does_not_end_is_not_guessed_at() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.csv");
        std::fs::write(&file, ",".repeat(2 * LOOK_BYTES as usize)).unwrap();
        let options = LoadOptions::new(vec![file], "d", "t");
        let first = FirstFile { options: &options, columns: &[] };
        assert!(first.first_line(&Dialect::csv(), 0).is_none());
    }

    proptest! {
        /// Values that pass for plain have no format, and no day of theirs has two meanings.
        #[test]
        fn plain_values_need_no_guess(
            // Most columns have values of few kinds.
            kinds in prop::collection::vec(0..VALUES.len(), 1..4),
            rows in prop::collection::vec((0..4_usize, 0..4_usize), 1..6),
            family in 0..4_usize,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("t.tsv");
            let value = |nth: usize| VALUES[kinds[nth % kinds.len()]];
            let lines = rows.iter().map(|&(a, b)| format!("{}\t{}\n", value(a), value(b)));
            std::fs::write(&file, lines.collect::<String>()).unwrap();
            let sql_type = [
                SqlType::Integer { bytes: 4, unsigned: false },
                SqlType::Decimal { precision: 10, scale: 3, unsigned: false },
                SqlType::Date,
                SqlType::DateTime { digits: 0 },
            ][family].clone();
            let columns = ["a", "b"].map(|name| Column::new(name.to_owned(), sql_type.clone()));
            let options = LoadOptions::new(vec![file], "d", "t");
            let first = FirstFile { options: &options, columns: &columns };
            let fields = [Some(&columns[0]), Some(&columns[1])];
            let sniffed = first.sniff(false).filter(|found| found.columns.len() == fields.len());
            if let Some(sniffed) = sniffed.filter(|_| first.is_plain(&fields, false)) {
                prop_assert_eq!(first.formats(&sniffed, &fields, false), []);
                prop_assert_eq!(first.ambiguous_days(&sniffed, &fields), []);
            }
        }
    }
}
