//! Plain clients, as PolarDB-X's Batch Tool loads: one thread reads the file and cuts it into batches
//! of 1,000 lines, eight others each have a connection and send every batch as one INSERT, committed
//! by itself. Numbers go as they are, everything else in quotes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use locks::Mutex;
use server::Session;
use server::identifier::{quote_name, quote_text};

use crate::error::Error;

/// Connections: Batch Tool's consumers in the figures that Inrush is held against.
const CLIENTS: usize = 8;
/// Rows of an INSERT.
const BATCH_ROWS: usize = 1_000;
/// Batches that wait for a connection.
const QUEUE: usize = 2 * CLIENTS;
/// How the types of columns begin whose values need no quotes.
const NUMBERS: [&str; 6] = ["tinyint", "smallint", "int", "bigint", "decimal", "double"];
/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// Errors after which the same statement is sent again: lock wait timeout, deadlock.
const RETRIED: [u16; 2] = [1205, 1213];
/// A statement that was refused more often is an error.
const RETRIES_MAX: u64 = 20;

/// Loads a file of lines `a|b|..|` into `table` (quoted already), whose columns these are.
pub(crate) fn load(
    session: &mut Session,
    table: &str,
    columns: &[&str],
    path: &Path,
) -> Result<(), Error> {
    let quoted = quoted_columns(session, table, columns)?;
    let names: Vec<String> = columns.iter().map(|name| quote_name(name)).collect();
    let insert = format!("INSERT INTO {table} ({}) VALUES ", names.join(", "));
    let mut sessions = Vec::new();
    for _ in 0..CLIENTS {
        sessions.push(session.another()?);
    }
    let (sender, receiver) = sync_channel(QUEUE);
    let queue = Mutex::new(Some(receiver));
    std::thread::scope(|scope| {
        let consume = |mut session| {
            let done = consume(&mut session, &insert, &quoted, &queue);
            if done.is_err() {
                // Nobody takes batches any more: the reader stops, and with it all the others.
                queue.lock().take();
            }
            done
        };
        let consumers: Vec<_> =
            sessions.into_iter().map(|session| scope.spawn(move || consume(session))).collect();
        let read = read(path, sender);
        for consumer in consumers {
            consumer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        read
    })
}

/// Which of the columns hold values that an INSERT has to quote.
fn quoted_columns(
    session: &mut Session,
    table: &str,
    columns: &[&str],
) -> Result<Vec<bool>, Error> {
    let mut quoted = Vec::new();
    for column in columns {
        let column = quote_text(column);
        let sql = format!("SHOW COLUMNS FROM {table} WHERE Field = {column}");
        let kind = session.query_row(&sql)?.text(1)?;
        quoted.push(!NUMBERS.iter().any(|number| kind.starts_with(number)));
    }
    Ok(quoted)
}

/// Sends the file's lines on in batches, until its end or until nobody takes them.
fn read(path: &Path, batches: SyncSender<Vec<String>>) -> Result<(), Error> {
    let file = File::open(path).map_err(Error::io("opening", path))?;
    let mut batch = Vec::with_capacity(BATCH_ROWS);
    for line in BufReader::with_capacity(READ_BYTES, file).lines() {
        batch.push(line.map_err(Error::io("reading", path))?);
        if batch.len() == BATCH_ROWS {
            let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH_ROWS));
            if batches.send(full).is_err() {
                return Ok(());
            }
        }
    }
    if !batch.is_empty() {
        // Nobody there any more: they have said why.
        let _ = batches.send(batch);
    }
    Ok(())
}

/// Takes batches until there are none.
fn consume(
    session: &mut Session,
    insert: &str,
    quoted: &[bool],
    queue: &Mutex<Option<Receiver<Vec<String>>>>,
) -> Result<(), Error> {
    let mut sql = String::new();
    loop {
        let batch = {
            let queue = queue.lock();
            queue.as_ref().and_then(|queue| queue.recv().ok())
        };
        let Some(batch) = batch else { return Ok(()) };
        sql.clear();
        sql.push_str(insert);
        for line in &batch {
            push_tuple(&mut sql, line, quoted);
        }
        sql.pop();
        send(session, &sql)?;
    }
}

/// Appends `(1,'a'),` of the line `1|a|`.
fn push_tuple(sql: &mut String, line: &str, quoted: &[bool]) {
    sql.push('(');
    for (field, &quote) in line.split('|').zip(quoted) {
        if !quote {
            sql.push_str(field);
        } else {
            sql.push('\'');
            for letter in field.chars() {
                if matches!(letter, '\'' | '\\') {
                    sql.push('\\');
                }
                sql.push(letter);
            }
            sql.push('\'');
        }
        sql.push(',');
    }
    sql.pop();
    sql.push_str("),");
}

/// Runs a statement until it is committed; gives how often it was sent again.
pub(crate) fn send(session: &mut Session, sql: &str) -> Result<u64, Error> {
    let mut retries = 0;
    loop {
        match session.exec(sql) {
            Ok(_) => return Ok(retries),
            Err(error) if retries < RETRIES_MAX && is_retried(&error) => retries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_retried(error: &server::Error) -> bool {
    error.errno().is_some_and(|errno| RETRIED.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_have_to_be() {
        let mut sql = String::new();
        push_tuple(&mut sql, "1|it's|0.5|a\\b|", &[false, true, false, true]);
        assert_eq!(sql, "(1,'it\\'s',0.5,'a\\\\b'),");
    }
}
