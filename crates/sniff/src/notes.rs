//! Notes on the reliability of a guess, a sentence each.

use face::option::{COLUMNS, FORMAT_OF, NULL_TOKEN, REJECTS_MAX, TYPES};
use sources::Sample;

use super::header;
use super::records::Records;
use super::statistics::{ColumnStatistics, MixedColumn};
use super::{Sniffed, SniffedColumn, TableSettings};

/// Columns that a note names.
const NAMES_SHOWN: usize = 5;

/// Adds notes on rows and columns.
pub(super) fn add(
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

/// The note about names in the header that columns cannot have.
pub(super) fn changed(names: &[String]) -> String {
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
