//! Files of tables that exist: options for what nobody said of how they are written.

use std::path::Path;

use load::{FileGuess, LoadOptions, shell_word};
use server::ConnectOptions;
use terminal::failure::Failure;

use crate::args::LoadArgs;
use crate::sniff::{dialect_words, says_dialect};

/// Fills in the guess at each table, as if its options were typed, and tells it. The same command guesses the same of
/// the same files.
///
/// Several tables have one dialect, and a header or none: tables whose guesses differ in that are read without.
/// With `--create` the files are known, and only the formats that a table needs are added.
pub(crate) fn guess(
    args: &LoadArgs,
    server: &ConnectOptions,
    tables: &mut [LoadOptions],
) -> Result<(), Failure> {
    let is_json = tables.iter().any(|options| options.input.dialect.json.is_some());
    let is_said = tables.iter().all(|options| says_dialect(&args.format, &options.input.files[0]));
    let is_known = is_json || (is_said && !args.create);
    if args.no_guess || args.job.is_some() || is_known {
        return Ok(());
    }
    let is_one = tables.len() == 1;
    let mut guesses: Vec<FileGuess> = Vec::new();
    for mut guess in load::guesses(server, tables)? {
        if let Some(other) = guess.other_format {
            return Err(Failure::usage(other));
        }
        if args.create {
            guess = FileGuess { formats: guess.formats, ..FileGuess::default() };
        }
        let is_other = |first: &FileGuess| file_words(first) != file_words(&guess);
        if guesses.first().is_some_and(is_other) {
            return Ok(());
        }
        guesses.push(guess);
    }
    let mut words = guesses.first().map(file_words).unwrap_or_default();
    for (options, guess) in tables.iter().zip(&guesses) {
        for (column, format) in &guess.formats {
            let table = if is_one { String::new() } else { format!("{}.", options.table) };
            words.extend(["--format-of".to_owned(), format!("{table}{column}={format}")]);
        }
    }
    if !args.quiet {
        let file = if is_one { tables[0].input.files.first() } else { None };
        tell_words(file.map(|file| file.as_path()), &words, args.create);
        guesses.iter().flat_map(|guess| &guess.ambiguous_days).for_each(|(column, format)| {
            tell!(
                "note: dates of `{column}` can be read in more than one order of day, month and year: --format-of \
                 {column}={format} sets the order"
            );
        });
        tables.iter().zip(&guesses).for_each(|(options, guess)| tell_kept(options, guess));
    }
    tables.iter_mut().zip(guesses).for_each(|(options, guess)| apply(&mut options.input, guess));
    Ok(())
}

/// The options of a guess for the cut of files.
fn file_words(guess: &FileGuess) -> Vec<String> {
    let options = guess.dialect.as_ref().map(dialect_words).unwrap_or_default();
    let words = options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
    let skipped = guess.dialect.as_ref().map_or(0, |sniffed| sniffed.skip_lines);
    let skipped = (skipped > 0).then(|| ["--skip-lines".to_owned(), skipped.to_string()]);
    let header = guess.header.then(|| "--header".to_owned());
    words.chain(skipped.into_iter().flatten()).chain(header).collect()
}

fn tell_words(file: Option<&Path>, words: &[String], creates: bool) {
    if words.is_empty() {
        return;
    }
    let what = file.map_or("the files are".to_owned(), |file| format!("{} is", file.display()));
    let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
    let off = if creates { "" } else { "; --no-guess turns guesses off" };
    tell!("note: {what} read with {}, guessed from the first rows{off}", words.join(" "));
}

/// Tells which columns a file has, that a header is a row, and that values keep the CR of CR LF, as by LOAD DATA.
fn tell_kept(options: &LoadOptions, guess: &FileGuess) {
    if let (Some(columns), Some(file)) = (&guess.columns, options.input.files.first()) {
        tell!(
            "note: {} has fields for all columns but the generated ones, as exports: {}",
            file.display(),
            columns.join(", ")
        );
    }
    if let Some(file) = &guess.later_header {
        tell!(
            "note: the first line of {} names columns and is read as a row, because the first file has no header; load \
             files with and without a header separately",
            file.display()
        );
    }
    let (Some(column), Some(file)) = (&guess.kept_return, options.input.files.first()) else {
        return;
    };
    let header = if guess.header || options.input.header { " --header" } else { "" };
    tell!(
        "note: the first line of {} ends with CR LF, and `{column}` keeps the CR; --lines-terminated-by \
         '\\r\\n'{header} leaves it out",
        file.display()
    );
}

fn apply(input: &mut load::InputOptions, guess: FileGuess) {
    if let Some(sniffed) = guess.dialect {
        input.empty_is_null = sniffed.preset.empty_is_null();
        input.escape_is_assumed = false;
        input.skip_lines = sniffed.skip_lines;
        input.dialect = sniffed.dialect;
    }
    input.header |= guess.header;
    input.columns = guess.columns.or(input.columns.take());
    input.written.columns.extend(guess.formats);
}
