//! A guess at JSON: a column for each field of the records that were looked at, by the kinds of its values.

use std::collections::HashMap;

use face::option::FORMAT;
use job::error::Error;
use sources::json::{BadRecord, Json, SampledField, SampledKind, sampled};
use sources::{Dialect, Pointer, Sample};

use crate::records::RawValue;
use crate::statistics::{ColumnStatistics, Nulls};
use crate::{
    COLUMNS_MAX, SniffOptions, Sniffed, SniffedColumn, completed, refuse_changes, rowless, too_wide,
};

/// A field, and the kinds of its values.
#[derive(Default)]
struct Field {
    name: String,
    records: u64,
    nested: u64,
    booleans: u64,
    numbers: u64,
    texts: u64,
}

impl Field {
    /// The type that its kinds make; none where its values tell.
    fn sql_type(&self) -> Option<&'static str> {
        let others = self.booleans + self.numbers + self.texts;
        match (self.nested, self.booleans) {
            (1.., _) => Some("JSON"),
            (0, 1..) if others == self.booleans => Some("TINYINT(1)"),
            _ => None,
        }
    }
}

/// Looks at the records of a sample.
///
/// Errors: there are none; a record with too many fields.
pub(crate) fn sniff(json: Json, sample: &Sample, options: &SniffOptions) -> Result<Sniffed, Error> {
    let (fields, broken) = fields(json, sample, options);
    if fields.is_empty() {
        return Err(match broken.records {
            0 => rowless(sample, options),
            _ => no_objects(json, broken, options),
        });
    }
    if fields.len() > COLUMNS_MAX {
        return Err(too_wide(&options.files[0], fields.len()));
    }
    let seen = values(json, sample, &fields, &options.pointers);
    let mut sniffed = sniffed(json, sample, &fields, seen);
    sniffed.notes.extend(notes(&sniffed, &fields, sample, broken));
    refuse_changes(&mut sniffed);
    completed(sniffed, options)
}

/// Records without fields.
#[derive(Clone, Copy, Default)]
struct Broken {
    records: u64,
    is_too_deep: bool,
}

impl Broken {
    /// The limit that some of them exceed.
    fn limit(self) -> &'static str {
        if self.is_too_deep { " with at most 100 levels" } else { "" }
    }
}

/// Files of which no record is an object, such as arrays in lines.
fn no_objects(json: Json, broken: Broken, options: &SniffOptions) -> Error {
    let arrays = match json.is_lines {
        true if !broken.is_too_deep => {
            format!("; {} reads arrays of objects", FORMAT.with("json"))
        }
        _ => String::new(),
    };
    let (name, limit) = (options.files[0].display(), broken.limit());
    Error::Usage(format!("{name}: no record is an object of JSON{limit}{arrays}"))
}

/// The fields in the order in which they occur first, and the records that have none.
fn fields(json: Json, sample: &Sample, options: &SniffOptions) -> (Vec<Field>, Broken) {
    let (mut fields, mut by_name) = (Vec::<Field>::new(), HashMap::new());
    let mut broken = Broken::default();
    let is_wanted = |name: &str| match &options.columns {
        None => true,
        Some(names) => names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)),
    };
    let mut take = |SampledField { name, kind, .. }: &SampledField| {
        let name = String::from_utf8_lossy(name);
        if !is_wanted(&name) {
            return;
        }
        let at = *by_name.entry(name.trim().to_ascii_lowercase()).or_insert_with(|| {
            fields.push(Field { name: name.trim().to_owned(), ..Field::default() });
            fields.len() - 1
        });
        let field = &mut fields[at];
        field.records += 1;
        match kind {
            SampledKind::Null => {}
            SampledKind::Boolean => field.booleans += 1,
            SampledKind::Number => field.numbers += 1,
            SampledKind::Text => field.texts += 1,
            SampledKind::Nested => field.nested += 1,
        }
    };
    for part in &sample.parts {
        sampled(json, part, &options.pointers, |record| match record {
            Ok(record) => record.iter().for_each(&mut take),
            Err(why) => {
                broken.records += 1;
                broken.is_too_deep |= why == BadRecord::TooDeep;
            }
        });
    }
    (fields, broken)
}

/// What the values of each field are.
fn values(
    json: Json,
    sample: &Sample,
    fields: &[Field],
    pointers: &[(String, Pointer)],
) -> ColumnStatistics {
    let by_name: HashMap<String, usize> = fields
        .iter()
        .enumerate()
        .map(|(at, field)| (field.name.to_ascii_lowercase(), at))
        .collect();
    let mut seen = ColumnStatistics::new(fields.len(), false);
    for part in &sample.parts {
        sampled(json, part, pointers, |record| {
            let mut row = vec![RawValue { value: None, is_quoted: true }; fields.len()];
            for SampledField { name, kind, text } in record.into_iter().flatten() {
                let name = String::from_utf8_lossy(name).trim().to_ascii_lowercase();
                if let Some(&at) = by_name.get(&name)
                    && *kind != SampledKind::Null
                {
                    row[at].value = Some(text);
                }
            }
            if record.is_ok() {
                seen.row(&row);
            }
        });
    }
    seen
}

fn sniffed(json: Json, sample: &Sample, fields: &[Field], mut seen: ColumnStatistics) -> Sniffed {
    let column =
        |field: &Field| SniffedColumn { name: field.name.clone(), ..SniffedColumn::default() };
    let mut sniffed = Sniffed {
        dialect: Dialect { json: Some(json), ..Dialect::json(json.is_lines) },
        preset: if json.is_lines { sources::Preset::JsonLines } else { sources::Preset::Json },
        compression: sample.compression,
        columns: fields.iter().map(column).collect(),
        rows: seen.rows,
        is_whole: sample.is_whole,
        kept: sample.kept.clone(),
        ..Sniffed::default()
    };
    // A text of digits is a text: JSON would have written a number.
    let texts = fields.iter().enumerate().filter(|(_, field)| field.texts > 0);
    texts.for_each(|(at, _)| seen.has_texts(at));
    seen.columns(&mut sniffed, Nulls { words: false, empty: false, empty_is_rule: false });
    for (column, field) in sniffed.columns.iter_mut().zip(fields) {
        if let Some(sql_type) = field.sql_type() {
            column.sql_type = sql_type.to_owned();
            column.format = None;
        }
    }
    let key = sniffed.primary_key.and_then(|at| fields.get(at));
    if key.is_some_and(|field| field.texts > 0 || field.records < sniffed.rows) {
        sniffed.primary_key = None;
    }
    sniffed
}

fn notes(sniffed: &Sniffed, fields: &[Field], sample: &Sample, broken: Broken) -> Vec<String> {
    let mut notes = Vec::new();
    let limit = broken.limit();
    match broken.records {
        0 => {}
        1 => notes.push(format!("1 record is not an object of JSON{limit}")),
        records => notes.push(format!("{records} records are not objects of JSON{limit}")),
    }
    if !sample.is_whole {
        notes.push(format!(
            "{} records were looked at: a field that none of them has would be refused",
            sniffed.rows
        ));
    }
    let mixed = fields.iter().filter(|field| field.texts > 0 && field.numbers + field.booleans > 0);
    let mixed: Vec<String> = mixed.map(|field| format!("`{}`", field.name)).collect();
    if !mixed.is_empty() {
        let verb = if mixed.len() == 1 { "has" } else { "have" };
        notes.push(format!("{} {verb} texts and other values", mixed.join(", ")));
    }
    notes
}
