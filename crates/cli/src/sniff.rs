//! `inrush sniff`: what files hold, as a command that loads them; and `load --create`, which runs it.

mod common_type;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use columnar::Kind;
use load::sniff::{SniffOptions, Sniffed, TableSettings};
use load::{Constant, ConstantValue, LoadOptions, shell_word};
use sources::{Dialect, KeptPipes, Pointer, Preset};
use terminal::failure::Failure;
use terminal::size::{self, count};

use crate::args::{FormatArgs, GuessedArgs, LoadArgs, SniffArgs, WatchArgs, WrittenArgs, said_of};
use crate::input::{DialectArg, FormatArg};
use crate::{connect, dialect, files, input, print};

/// Database of a table that nobody named.
const DATABASE: &str = "test";

/// Prints a command that loads the files, with the CREATE TABLE in it.
pub(crate) fn run(args: &SniffArgs) -> Result<u8, Failure> {
    let files = input::files(&args.files)?;
    files::check_inputs(&files, &WatchArgs::default(), &args.connect)?;
    let into = args.into.clone().unwrap_or_else(|| default_target(&files[0]));
    let target = connect::target(&into)?;
    let memory = args.memory.as_deref().map(|text| size::of_option("--memory", text));
    let memory = memory.transpose().map_err(Failure::usage)?;
    let memory = memory.unwrap_or_else(::load::options::default_memory_bytes);
    let temp_dir = ::load::options::default_temp_dir();
    let (format, guessed) = (&args.format, &args.guessed);
    let options = sniff_options(&files, &target.table, format, guessed, &temp_dir, memory)?;
    let sniffed = ::load::sniff::sniff(&options)?;
    let command = command(args, &files, &into, &sniffed)?;
    let mut out = terminal::out();
    if args.json {
        print::json(&mut out, &json(&sniffed, &command, &into))?;
    } else {
        script(&mut out, &files, &sniffed, &command)?;
    }
    Ok(0)
}

/// Fills in what `load --create` finds out about each table and the options do not say.
pub(crate) fn create(args: &LoadArgs, tables: &mut [LoadOptions]) -> Result<(), Failure> {
    let WrittenArgs { decimal_comma, date_format, format_of, .. } = &args.written;
    let is_typed = |(column, _): &(String, String)| {
        args.guessed.types.iter().any(|(typed, _)| typed.eq_ignore_ascii_case(column))
    };
    let is_fit = |option: &(String, String)| Pointer::is_meant(&option.1) || is_typed(option);
    if *decimal_comma || date_format.is_some() || !format_of.iter().all(is_fit) {
        return Err(Failure::usage(
            "--create detects decimal commas and formats of dates: leave out --decimal-comma and --date-format; \
             --format-of COLUMN=FORMAT needs --types COLUMN=TYPE",
        ));
    }
    let is_one = tables.len() == 1;
    let mut guesses: Vec<Sniffed> = Vec::new();
    for options in tables.iter() {
        // With several tables it is known afterwards which have the columns.
        let types = if is_one { args.guessed.types.clone() } else { Vec::new() };
        let sniffed = guess_table(args, options, types)?;
        if !args.quiet {
            let prefix = if is_one { String::new() } else { format!("{}: ", options.table) };
            for note in std::iter::once(&summary(&sniffed)).chain(&sniffed.notes) {
                tell!("note: {prefix}{note}");
            }
        }
        guesses.push(sniffed);
    }
    if !is_one {
        agree(args, tables, &mut guesses)?;
    }
    tables.iter_mut().zip(guesses).try_for_each(|(options, sniffed)| apply(args, options, sniffed))
}

/// The guess at a table, some of whose columns have these types.
fn guess_table(
    args: &LoadArgs,
    options: &LoadOptions,
    types: Vec<(String, String)>,
) -> Result<Sniffed, Failure> {
    let LoadOptions { input, rows, limits, .. } = options;
    let constant = |Constant { column, value }: &Constant| match value {
        ConstantValue::Text(text) => (column.clone(), Some(text.clone())),
        _ => (column.clone(), None),
    };
    let guessed = GuessedArgs { types, ..args.guessed.clone() };
    let (temp_dir, memory) = (&limits.temp_dir, limits.memory_bytes_max);
    let is_json = input.dialect.json.is_some();
    let sniff_options = SniffOptions {
        pointers: input.written.pointers(is_json)?,
        trim: args.written.trim,
        constants: rows.constants.iter().map(constant).collect(),
        ..sniff_options(&input.files, &options.table, &args.format, &guessed, temp_dir, memory)?
    };
    Ok(::load::sniff::sniff(&sniff_options)?)
}

/// Gives columns of one name the same type in all tables: the one that is typed, or their common one.
fn agree(args: &LoadArgs, tables: &[LoadOptions], guesses: &mut [Sniffed]) -> Result<(), Failure> {
    let typed = |table: &str, column: &str| {
        let of_table = said_of(&args.guessed.types, table).into_iter();
        of_table.rev().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, typed)| typed)
    };
    let mut common: BTreeMap<String, String> = BTreeMap::new();
    let mut used = Vec::new();
    // Files of typed columns know their own types.
    let of_text = guesses.iter().filter(|sniffed| sniffed.columnar.is_none());
    for column in of_text.flat_map(|sniffed| &sniffed.columns).filter(|it| !it.is_empty) {
        let found = common.entry(column.name.to_lowercase());
        let found = found.or_insert_with(|| column.sql_type.clone());
        *found = common_type::common(found, &column.sql_type);
    }
    for (options, sniffed) in tables.iter().zip(guesses.iter_mut()) {
        let (mut types, mut guessed) = (Vec::new(), Vec::new());
        for column in &sniffed.columns {
            let of_all = common.get(&column.name.to_lowercase()).filter(|of_all| {
                let is_text = sniffed.columnar.is_none();
                is_text
                    && **of_all != column.sql_type
                    && (!column.is_empty || sniffed.preset.empty_is_null())
            });
            let typed = typed(&options.table, &column.name);
            used.extend(typed.is_some().then(|| column.name.to_lowercase()));
            if typed.is_none()
                && let Some(of_all) = of_all.filter(|_| !args.quiet && !column.is_empty)
            {
                tell!(
                    "note: {}: `{}` is {of_all}, the common type of this column in all files",
                    options.table,
                    column.name
                );
            }
            if typed.is_none() && column.is_exact {
                guessed.push(column.name.clone());
            }
            let chosen = typed.or_else(|| of_all.cloned());
            types.extend(chosen.map(|chosen| (column.name.clone(), chosen)));
        }
        if !types.is_empty() {
            *sniffed = guess_table(args, options, types)?;
            let columns = sniffed.columns.iter_mut();
            columns.for_each(|column| column.is_exact = guessed.contains(&column.name));
        }
    }
    let is_unused = |(name, _): &&(String, String)| {
        let column = name.split_once('.').map_or(name.as_str(), |(_, column)| column);
        !used.contains(&column.to_lowercase())
    };
    match args.guessed.types.iter().find(is_unused) {
        None => Ok(()),
        Some((name, _)) => {
            Err(Failure::usage(format!("--types names `{name}`, which no table has as a column")))
        }
    }
}

/// Has a load read its files and make its table by a guess.
fn apply(args: &LoadArgs, options: &mut LoadOptions, sniffed: Sniffed) -> Result<(), Failure> {
    let input = &mut options.input;
    let mut formats = formats(&sniffed);
    // A format of a column takes the place of --trim, which is for all.
    let trim = if input.written.trim { "trim+" } else { "" };
    formats.iter_mut().for_each(|(_, format)| format.insert_str(0, trim));
    // The first one counts.
    input.written.columns.extend(formats);
    input.header = sniffed.header;
    input.skip_lines = sniffed.skip_lines;
    input.columns = sniffed.names;
    input.dialect = sniffed.dialect;
    input.columnar = sniffed.columnar;
    input.kept = sniffed.kept;
    if !says_dialect(&args.format, &input.files[0]) {
        input.empty_is_null = sniffed.preset.empty_is_null();
    }
    options.ddl = Some(sniffed.ddl);
    options.ddl_without_uuid = sniffed.ddl_without_uuid;
    sniffed.charset.iter().try_for_each(|charset| input::set_charset(options, charset))
}

/// Columns with the formats of their values, where the server's own reading does not do.
fn formats(sniffed: &Sniffed) -> Vec<(String, String)> {
    let columns = sniffed.columns.iter();
    columns.filter_map(|column| Some((column.name.clone(), column.format_words()?))).collect()
}

fn sniff_options(
    files: &[PathBuf],
    table: &str,
    format: &FormatArgs,
    guessed: &GuessedArgs,
    temp_dir: &Path,
    memory_bytes_max: u64,
) -> Result<SniffOptions, Failure> {
    let encoding = load::charset::of_file(format.charset.as_deref()).1;
    Ok(SniffOptions {
        files: files.to_vec(),
        table: table.to_owned(),
        columnar: format.format.and_then(FormatArg::kind),
        matching: format.matching(),
        sheet: format.sheet.clone(),
        pointers: Vec::new(),
        dialect: says_dialect(format, &files[0])
            .then(|| dialect::dialect(format, &files[0]))
            .transpose()?,
        empty_is_null: dialect::preset(format, &files[0]).empty_is_null(),
        one_column: guessed.one_column,
        null_tokens: format.null_token.clone(),
        null_in_quotes: format.null_in_quotes,
        header: format.has_header().then_some(true),
        skip_lines: format.skip_lines,
        columns: format.columns.clone(),
        encoding,
        charset: format.charset.clone(),
        kept: KeptPipes::default(),
        temp_dir: temp_dir.to_owned(),
        memory_bytes_max,
        wanted: TableSettings {
            types: guessed.types.clone(),
            collation: guessed.collation.clone(),
        },
        trim: false,
        constants: Vec::new(),
    })
}

/// The guess at files without any options.
pub(crate) fn with_defaults(files: &[PathBuf], table: &str) -> Result<Sniffed, Failure> {
    let (format, guessed) = (FormatArgs::default(), GuessedArgs::default());
    let memory = ::load::options::default_memory_bytes();
    let temp_dir = ::load::options::default_temp_dir();
    let options = sniff_options(files, table, &format, &guessed, &temp_dir, memory)?;
    Ok(::load::sniff::sniff(&options)?)
}

/// The options by which such files are read, but for a header and names.
pub(crate) fn options_of(sniffed: &Sniffed) -> Vec<(String, String)> {
    let mut options = dialect_words(sniffed);
    let mut option = |name: &str, value: &str| options.push((name.to_owned(), value.to_owned()));
    file_options(sniffed, &mut option);
    options
}

/// The option that names a preset.
pub(crate) fn option_of(preset: Preset) -> &'static str {
    if preset.is_json() { "format" } else { "dialect" }
}

/// The options for the cut of fields.
pub(crate) fn dialect_words(sniffed: &Sniffed) -> Vec<(String, String)> {
    let mut options = Vec::new();
    let mut option = |name: &str, value: &str| options.push((name.to_owned(), value.to_owned()));
    option(option_of(sniffed.preset), sniffed.preset.name());
    let base = sniffed.preset.dialect();
    dialect_options(&base, &sniffed.dialect, &mut option);
    options
}

/// The options for files besides their dialect.
fn file_options(sniffed: &Sniffed, option: &mut impl FnMut(&str, &str)) {
    if sniffed.skip_lines > 0 {
        option("skip-lines", &sniffed.skip_lines.to_string());
    }
    if let Some(charset) = &sniffed.charset {
        option("charset", charset);
    }
}

/// The name of a table, after its file.
pub(crate) fn table_of(file: &Path) -> String {
    let target = default_target(file);
    target.split_once('.').map_or(target.clone(), |(_, table)| table.to_owned())
}

/// True if any option tells how fields are cut.
pub(crate) fn says_dialect(format: &FormatArgs, first_file: &Path) -> bool {
    format.dialect.is_some()
        || format.format.is_some()
        || Preset::by_ending(first_file).is_json()
        || format.fields_terminated_by.is_some()
        || format.fields_enclosed_by.is_some()
        || format.fields_escaped_by.is_some()
        || format.lines_terminated_by.is_some()
        || format.lines_starting_by.is_some()
}

/// `test.NAME`, after the file.
fn default_target(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    let kept: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    match kept.as_str() {
        "" | "stdin" => format!("{DATABASE}.data"),
        _ => format!("{DATABASE}.{kept}"),
    }
}

/// The words of the command that loads the files; the CREATE TABLE comes at its `--ddl`.
fn command(
    args: &SniffArgs,
    files: &[PathBuf],
    into: &str,
    sniffed: &Sniffed,
) -> Result<Vec<String>, Failure> {
    let mut words = vec!["inrush".to_owned(), "load".to_owned()];
    for file in args.files.iter().map(|file| input::shown(file)) {
        let name = file
            .to_str()
            .ok_or_else(|| Failure::usage(format!("{} is not UTF-8; rename it", file.display())))?;
        words.push(name.to_owned());
    }
    let mut option = |name: &str, value: &str| {
        words.push(format!("--{name}"));
        words.push(value.to_owned());
    };
    option("into", into);
    let (preset, base) = match says_dialect(&args.format, &files[0]) {
        false => (sniffed.preset, sniffed.preset.dialect()),
        true => {
            // A header that is skipped is not to be looked for again.
            let preset =
                args.format.dialect.map(|preset| match Preset::from(preset).has_header() {
                    true if !sniffed.header => DialectArg::Mysql,
                    _ => preset,
                });
            let only =
                FormatArgs { dialect: preset, format: args.format.format, ..FormatArgs::default() };
            let base = dialect::dialect(&only, &files[0])?;
            (dialect::preset(&only, &files[0]), base)
        }
    };
    match sniffed.columnar {
        Some(kind) => option("format", &kind.name().to_lowercase()),
        None => option(option_of(preset), preset.name()),
    }
    dialect_options(&base, &sniffed.dialect, &mut option);
    file_options(sniffed, &mut option);
    if let Some(sheet) = &args.format.sheet {
        option("sheet", sheet);
    }
    if let Some(names) = &sniffed.names {
        option("columns", &names.join(","));
    }
    for (column, format) in formats(sniffed) {
        option("format-of", &format!("{column}={format}"));
    }
    if let Some(sandbox) = &args.connect.sandbox {
        option("sandbox", &sandbox.display().to_string());
    }
    let server = args.connect.arguments();
    words.extend(server.iter().map(|argument| argument.to_string_lossy().into_owned()));
    let is_excel = sniffed.columnar == Some(Kind::Excel);
    if sniffed.header && (sniffed.columnar.is_none() || (is_excel && sniffed.names.is_some())) {
        words.push("--header".to_owned());
    }
    if sniffed.dialect.null_in_quotes {
        words.push("--null-in-quotes".to_owned());
    }
    if args.connect.password {
        words.push("--password".to_owned());
    }
    // The statement comes by a descriptor that the input does not have.
    let is_stdin = args.files.iter().any(|file| file == Path::new("-"));
    words
        .extend(["--ddl".to_owned(), if is_stdin { "/dev/fd/3" } else { "/dev/stdin" }.to_owned()]);
    Ok(words)
}

/// The options in which a dialect differs from its preset.
fn dialect_options(base: &Dialect, dialect: &Dialect, option: &mut impl FnMut(&str, &str)) {
    let texts = [
        ("fields-terminated-by", &base.fields_terminated_by, &dialect.fields_terminated_by),
        ("lines-terminated-by", &base.lines_terminated_by, &dialect.lines_terminated_by),
        ("lines-starting-by", &base.lines_starting_by, &dialect.lines_starting_by),
    ];
    for (name, usual, text) in texts {
        if usual != text {
            option(name, &escape(text));
        }
    }
    let bytes = [
        ("fields-enclosed-by", base.enclosed_by, dialect.enclosed_by),
        ("fields-escaped-by", base.escaped_by, dialect.escaped_by),
    ];
    for (name, usual, byte) in bytes {
        if usual != byte {
            option(name, &escape(byte.as_slice()));
        }
    }
    for token in dialect.null_tokens.iter().filter(|token| !base.null_tokens.contains(token)) {
        option("null-token", &String::from_utf8_lossy(token));
    }
}

/// Text as the options read it.
fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        match byte {
            0 => text.push_str("\\0"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'\\' => text.push_str("\\\\"),
            byte if byte < 0x20 => text.push_str(&format!("\\x{byte:02x}")),
            byte => text.push(char::from(byte)),
        }
    }
    text
}

/// A description of the guess, in a line.
pub(crate) fn summary(sniffed: &Sniffed) -> String {
    let mut what = Vec::new();
    what.extend(sniffed.columnar.map(|kind| kind.name().to_owned()));
    what.extend(sniffed.compression.map(|kind| kind.to_string()));
    what.push(count(sniffed.columns.len() as u64, "column"));
    let is_skipped = sniffed.skip_lines > 0 && sniffed.names.is_some();
    let header = match (sniffed.header, is_skipped) {
        (true, _) => format!("header in line {}", sniffed.skip_lines + 1),
        (false, true) => count(sniffed.skip_lines, "line") + " skipped",
        (false, false) if sniffed.preset.is_json() => "by the names of fields".to_owned(),
        (false, false) => "no header".to_owned(),
    };
    if sniffed.columnar.is_none() {
        what.push(header);
    }
    what.extend(sniffed.charset.clone());
    let rows = count(sniffed.rows, "row");
    let rows = match sniffed.is_whole {
        true if sniffed.rows > 1 => format!("all {rows}"),
        true => rows,
        false => format!("{rows} of the input"),
    };
    format!("guessed from {rows}: {}", what.join(", "))
}

fn script(
    out: &mut impl Write,
    files: &[PathBuf],
    sniffed: &Sniffed,
    command: &[String],
) -> std::io::Result<()> {
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    // A name may hold a line break, which would end the comment.
    let names = names.join(" ").replace(['\n', '\r'], "?");
    writeln!(out, "# {names}: {}", summary(sniffed))?;
    for note in &sniffed.notes {
        writeln!(out, "# {}", note.replace(['\n', '\r'], " "))?;
    }
    let words: Vec<_> = command.iter().map(|word| shell_word(word)).collect();
    let descriptor = if command.last().is_some_and(|word| word == "/dev/fd/3") { "3" } else { "" };
    writeln!(out, "{} {descriptor}<<'SQL'", words.join(" "))?;
    writeln!(out, "{}SQL", sniffed.ddl)
}

fn json(sniffed: &Sniffed, command: &[String], into: &str) -> serde_json::Value {
    let text = |bytes: &[u8]| escape(bytes);
    let dialect = &sniffed.dialect;
    let columns: Vec<serde_json::Value> = sniffed
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            serde_json::json!({
                "name": column.name,
                "type": column.sql_type,
                "nullable": sniffed.primary_key != Some(index),
                "format": column.format_words(),
            })
        })
        .collect();
    let key = sniffed.primary_key.and_then(|index| sniffed.columns.get(index));
    serde_json::json!({
        "into": into,
        "format": sniffed.columnar.map_or("text".to_owned(), |kind| kind.name().to_lowercase()),
        "compression": sniffed.compression.map(|kind| kind.to_string()),
        "charset": sniffed.charset.as_deref().unwrap_or("utf8mb4"),
        "fields_terminated_by": text(&dialect.fields_terminated_by),
        "fields_enclosed_by": dialect.enclosed_by.map(|byte| text(&[byte])),
        "fields_escaped_by": dialect.escaped_by.map(|byte| text(&[byte])),
        "lines_terminated_by": text(&dialect.lines_terminated_by),
        "header": sniffed.header,
        "skip_lines": sniffed.skip_lines,
        "rows_seen": sniffed.rows,
        "all_seen": sniffed.is_whole,
        "columns": columns,
        "primary_key": key.map(|column| &column.name),
        "ddl": sniffed.ddl,
        "command": command,
        "notes": sniffed.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_called_after_its_file() {
        for (file, target) in [
            ("/a/people.csv.gz", "test.people"),
            ("two words.tbl", "test.two_words"),
            ("/dev/stdin", "test.data"),
            (".hidden.csv", "test.hidden"),
        ] {
            assert_eq!(default_target(Path::new(file)), target);
        }
    }
}
