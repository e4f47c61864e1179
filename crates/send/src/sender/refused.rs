//! Rows that the server refused, as rejects: the column that the server's message names, and its value.
//!
//! ```text
//! MariaDB  Incorrect integer value: 'x' for column `d`.`t`.`a`
//! MySQL    Incorrect integer value: 'x' for column 'a'
//! both     Data too long for column 'a'      Column 'a' cannot be null
//! ```

use std::collections::HashMap;

use encode::field;
use encode::rejects::Reject;
use job::position::{PositionCursor, RefusedRow};
use server::identifier::quote_name;
use sources::{Row, Rows, Visit};

use super::SenderOptions;
use crate::columns::FilledColumn;
use crate::ledger::Refused;
use crate::sent_chunk::SentChunk;

/// The rows that the server refused, which are in input order, each behind its first byte in the chunk.
pub(crate) fn rejects_of(
    chunk: &SentChunk,
    refused: &[Refused],
    options: &SenderOptions,
) -> Vec<(usize, Reject)> {
    let mut places = PositionCursor::of(&chunk.input);
    let mut fields = fields_of(chunk, refused, &options.columns);
    let reject = |row: &Refused| {
        let (field, value) = fields.remove(&row.begin).unwrap_or_default();
        let refused = RefusedRow {
            position: places.find(&chunk.input, &options.files, row.begin),
            field,
            column: named(&row.message, &options.columns).map(|column| column.name.clone()),
            value,
            reason: format!("the server refused it: {} (error {})", row.message, row.errno),
        };
        let reject = Reject {
            row: refused,
            class: format!("the server refused it (error {})", row.errno),
            also: Vec::new(),
            raw: chunk.raw(row.begin..row.end),
        };
        (row.begin, reject)
    };
    refused.iter().map(reject).collect()
}

/// The column that a message of the server names as the place of a bad value.
///
/// Values stand in messages as they are, so only the end of a message counts, or all of it.
fn named<'c>(message: &str, columns: &'c [FilledColumn]) -> Option<&'c FilledColumn> {
    columns.iter().find(|FilledColumn { name, .. }| {
        let is_whole = |begin: &str, end: &str| {
            let rest = message.strip_prefix(begin).and_then(|rest| rest.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with(end))
        };
        message.ends_with(&format!(" column '{name}'"))
            || message.ends_with(&format!("`.{}", quote_name(name)))
                && message.contains(" for column `")
            // MySQL about JSON, with the name of the table.
            || message.ends_with(&format!(".{name}'.")) && message.contains(" for column '")
            || is_whole("Column '", "' cannot be null")
            || is_whole("Field '", "' doesn't have a default value")
    })
}

/// The fields of lines, from 1, and the values that the server refused, by the places of the rows.
type Fields = HashMap<usize, (Option<usize>, Option<String>)>;

fn fields_of(chunk: &SentChunk, refused: &[Refused], columns: &[FilledColumn]) -> Fields {
    let field = |row: &Refused| Some((row.begin, named(&row.message, columns)?.field?));
    let wanted: HashMap<usize, usize> = refused.iter().filter_map(field).collect();
    match wanted.is_empty() {
        true => Fields::new(),
        false => chunk.batch.visit(&chunk.input, Written { wanted }),
    }
}

/// Gives fields of rows as the file has them.
struct Written {
    /// The field of a row, by the place of the row.
    wanted: HashMap<usize, usize>,
}

impl Visit for Written {
    type Output = Fields;

    fn rows<R: Rows>(mut self, rows: R) -> Fields {
        let mut fields = Fields::new();
        for row in rows.iter() {
            let begin = row.span().start;
            let Some(field) = self.wanted.remove(&begin) else { continue };
            let value = field::written(row, Some(field));
            let line_field = row.line_field(field).map(|field| field + 1);
            fields.insert(begin, (line_field, value.as_deref().map(Reject::cut)));
            if self.wanted.is_empty() {
                break;
            }
        }
        fields
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sources::{Dialect, FileSource, Source as _, SourceOptions};

    use super::*;

    #[test]
    fn the_column_in_a_message_of_a_server_is_found() {
        let columns = ["a", "na`me", "it's", "b"]
            .map(|name| FilledColumn { name: name.to_owned(), field: None });
        for (message, expected) in [
            ("Incorrect integer value: 'x' for column `d`.`t`.`a`", Some("a")),
            ("Incorrect integer value: 'x' for column 'a'", Some("a")),
            ("Incorrect string value: '\\xE2' for column `d`.`t`.`na``me`", Some("na`me")),
            ("Data too long for column 'it's'", Some("it's")),
            ("Out of range value for column 'b'", Some("b")),
            ("Column 'a' cannot be null", Some("a")),
            ("Field 'b' doesn't have a default value", Some("b")),
            ("Column set to default value; NULL supplied to NOT NULL column 'a'", Some("a")),
            ("Incorrect datetime value: ' for column 'a'' for column 'b'", Some("b")),
            ("Invalid JSON text: \"Invalid\" at position 0 in value for column 't.a'.", Some("a")),
            // No value of a column is at fault, or the column is not one that the load fills.
            ("Data too long for column 'c'", None),
            ("Data too long for column 'a', in this row or one of the next 7", None),
            ("CONSTRAINT `good` failed for `d`.`a`", None),
            ("Check constraint 'a' is violated.", None),
            (
                "the row takes 9 bytes in a statement; the server's max_allowed_packet allows 8",
                None,
            ),
        ] {
            let found = named(message, &columns).map(|column| column.name.as_str());
            assert_eq!(found, expected, "{message}");
        }
    }
    #[test]
    fn the_value_of_a_named_column_is_that_of_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.tsv");
        std::fs::write(&path, "1\tone\n2\t\\N\n3\tthree\n").unwrap();
        let dialect = Dialect::default();
        let mut source =
            FileSource::new(std::slice::from_ref(&path), &dialect, SourceOptions::default())
                .unwrap();
        let mut chunk = SentChunk::default();
        assert!(source.next_chunk(&mut chunk.input).unwrap());
        source.reader().read(&chunk.input, &mut chunk.batch).unwrap();
        let columns = [("a", Some(0)), ("b", Some(1)), ("c", None)]
            .map(|(name, field)| FilledColumn { name: name.to_owned(), field });
        let refused = |begin, message: &str| Refused {
            begin,
            end: begin + 1,
            errno: 1366,
            message: message.to_owned(),
        };
        let rows = [
            refused(0, "Incorrect integer value: 'one' for column `d`.`t`.`b`"),
            refused(6, "Column 'b' cannot be null"),
            refused(11, "Out of range value for column 'c'"),
        ];
        let fields = fields_of(&chunk, &rows, &columns);
        assert_eq!(fields[&0], (Some(2), Some("one".to_owned())));
        assert_eq!(fields[&6], (Some(2), None));
        assert!(!fields.contains_key(&11));
        let last = fields_of(&chunk, &[refused(11, "Data too long for column 'a'")], &columns);
        assert_eq!(last[&11], (Some(1), Some("3".to_owned())));
    }
}
