//! Delimited rows of a dump: by the load engine, or as the tool's own loader sends them.

mod decoded;
mod text;

use std::path::PathBuf;

use face::option::FORCE;
use load::{InputOptions, LoadOptions};
use server::Session;
use sources::{Dialect, FileSource, MultiByte, Source, SourceOptions};

use crate::dump::{Coding, TableRows};
use crate::error::Error;
use crate::filling::{Filling, Sent, Stopped};
use crate::place::Place;
use crate::rows::{self, Counted, column_name};

use decoded::Decoded;
use text::Text;

/// Warnings that a server keeps at most.
const WARNINGS_MAX: u32 = 65_535;

/// Loads rows into a table that has none. The head of the work is not looked at.
pub(crate) fn load(filling: &Filling<'_>, rows: &TableRows) -> Result<Sent, Stopped> {
    let options = options(filling, rows).map_err(Stopped::Unfit)?;
    let counted = Counted::new(filling);
    let loaded = if is_coded(rows) {
        let (source, _) = source(filling, rows)?;
        spider::load_from(filling.connect, &options, source, &counted)
    } else {
        spider::load(filling.connect, &options, &counted)
    };
    counted.end(loaded, filling.is_staging)
}

/// Sends rows by LOAD DATA LOCAL in the dump's session, in one transaction.
///
/// Errors: rows that share a key, which LOCAL would leave out without a word; values that the
/// server would change, unless `--force` has them changed.
pub(crate) fn serial(
    filling: &Filling<'_>,
    rows: &TableRows,
    session: &mut Session,
) -> Result<Sent, Stopped> {
    let mut sent = Sent { way: "serial", ..Sent::default() };
    if rows.files.is_empty() {
        return Ok(sent);
    }
    let (source, dialect) = source(filling, rows)?;
    let columns = columns(rows).map_err(Stopped::Unfit)?;
    let sql = statement(filling, &dialect, &rows.charset, columns.as_deref());
    let before = session.query_text("SELECT @@SESSION.sql_mode")?.unwrap_or_default();
    if let Some(mode) = &rows.sql_mode {
        set_mode(session, &format!("{before},{mode}"))?;
    }
    session.set_if_allowed("max_error_count", &WARNINGS_MAX.to_string())?;
    session.exec("START TRANSACTION")?;
    session.hold_tables(&[filling.into])?;
    let done = session.load_local(&sql, Text::new(source))?;
    let changed = match done.warnings {
        0 => None,
        _ => session.warnings()?.into_iter().find(|warning| warning.level != "Note"),
    };
    let is_skipped = count(&done.info, "Skipped: ").is_some_and(|count| count > 0);
    let trouble = match changed {
        _ if is_skipped => {
            Some(format!("rows share a key: the server would skip some ({})", done.info))
        }
        Some(warning) => Some(format!(
            "the server would change values ({}), first {}: {}; {FORCE} allows it",
            done.info, warning.errno, warning.message
        )),
        None => None,
    };
    let forced = filling.options.force;
    let judged = match trouble {
        Some(trouble) if !forced => Err(Error::Refused(format!("{}: {trouble}", filling.table))),
        Some(trouble) if is_skipped => {
            let file = rows.files.first().cloned().unwrap_or_default();
            let place = Place { file, ..Place::default() };
            filling.watch.fail(&place, &Error::Refused(format!("{}: {trouble}", filling.table)));
            Ok(())
        }
        Some(_) => sent.changes.take(session, &done, 1, filling.options),
        None => Ok(()),
    };
    if let Err(error) = judged {
        session.exec("ROLLBACK")?;
        return Err(Stopped::Failed(error));
    }
    filling.commit(session)?;
    if rows.sql_mode.is_some() {
        set_mode(session, &before)?;
    }
    sent.rows = done.affected_rows;
    filling.watch.add_rows(sent.rows);
    Ok(sent)
}

fn set_mode(session: &mut Session, mode: &str) -> Result<(), Error> {
    session.set(&[("sql_mode", mode.trim_matches(','))])?;
    // The server may write its flags in another way.
    session.adopt_variables(&[])?;
    Ok(())
}

/// The number behind a word in the server's summary.
fn count(info: &str, word: &str) -> Option<u64> {
    info.split_once(word)?.1.split_whitespace().next()?.parse().ok()
}

fn is_coded(rows: &TableRows) -> bool {
    rows.columns.iter().flatten().any(|column| column.coding != Coding::Plain)
}

/// Options for the engine; or the reason why it cannot load as the dump's session would.
fn options(filling: &Filling<'_>, rows: &TableRows) -> Result<LoadOptions, String> {
    let mut options = rows::session_options(filling)?;
    if let Some(mode) = &rows.sql_mode {
        options.rows.sql_mode = Some(format!("{},{mode}", filling.state.sql_mode()));
    }
    Ok(LoadOptions {
        input: InputOptions {
            files: rows.files.clone(),
            dialect: rows.dialect.clone(),
            skip_lines: rows.skip_lines,
            columns: columns(rows)?,
            charset: rows.charset.clone(),
            ..options.input
        },
        ..options
    })
}

/// The rows front to back, decoded, and how they are written.
fn source(filling: &Filling<'_>, rows: &TableRows) -> Result<(Box<dyn Source>, Dialect), Error> {
    let charset = MultiByte::of_charset(&rows.charset);
    let dialect = Dialect { charset, ..rows.dialect.clone() };
    let options = SourceOptions {
        skip_lines: rows.skip_lines,
        below: filling.options.folder(),
        temp_dir: filling.options.temp_dir.clone(),
        stop: filling.options.interrupt.flag(),
        ..SourceOptions::default()
    };
    let files: &[PathBuf] = &rows.files;
    let source = FileSource::new(files, &dialect, options)?;
    if !is_coded(rows) {
        return Ok((Box::new(source), dialect));
    }
    let codings = rows.columns.iter().flatten().map(|column| column.coding).collect();
    let source = Decoded::new(source, codings);
    let dialect = source.dialect().clone();
    Ok((Box::new(source), dialect))
}

/// The columns of the fields as text.
fn columns(rows: &TableRows) -> Result<Option<Vec<String>>, String> {
    let Some(columns) = &rows.columns else { return Ok(None) };
    columns.iter().map(|column| column_name(&column.name)).collect::<Result<_, _>>().map(Some)
}

/// LOAD DATA of a text in this dialect.
fn statement(
    filling: &Filling<'_>,
    dialect: &Dialect,
    charset: &str,
    columns: Option<&[String]>,
) -> String {
    let quote_name = server::identifier::quote_name;
    let byte = |byte: Option<u8>| bytes(byte.as_slice());
    let columns = columns.map(|columns| {
        let names = columns.iter().map(|name| match name.strip_prefix('@') {
            Some(name) => format!("@{}", quote_name(name)),
            None => quote_name(name),
        });
        format!(" ({})", names.collect::<Vec<_>>().join(", "))
    });
    format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET {} FIELDS TERMINATED BY {} \
         ENCLOSED BY {} ESCAPED BY {} LINES STARTING BY {} TERMINATED BY {}{}",
        filling.into.quoted(),
        quote_name(charset),
        bytes(&dialect.fields_terminated_by),
        byte(dialect.enclosed_by),
        byte(dialect.escaped_by),
        bytes(&dialect.lines_starting_by),
        bytes(&dialect.lines_terminated_by),
        columns.unwrap_or_default(),
    )
}

/// A string literal that no `sql_mode` reads otherwise.
fn bytes(text: &[u8]) -> String {
    let digits: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() { "''".to_owned() } else { format!("x'{digits}'") }
}
