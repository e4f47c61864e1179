//! A look whether values stand as the server reads them, so that nobody need guess how they are written.

use job::error::Error;
use sources::Dialect;
use values::Family;

use super::SniffOptions;
use super::kind::Forms;
use super::records::Records;

/// Digits between two points or commas of a large number.
const THOUSANDS: usize = 3;

/// True if all values that are looked at are ones that the server reads, and reads in one way. `families` are those of
/// the fields' columns; a field without one takes anything, and so does an empty field.
///
/// Errors: reading the input.
pub fn is_plain(
    options: &SniffOptions,
    dialect: &Dialect,
    families: &[Option<Family<'_>>],
) -> Result<bool, Error> {
    let usage = |error: sources::Error| Error::Usage(error.to_string());
    dialect.check().map_err(usage)?;
    if dialect.json.is_some() || dialect.needs_fields() {
        return Ok(false);
    }
    let sample = options.sample().map_err(usage)?;
    let mut records = Records::new(&sample, dialect, options.skip_lines);
    if records.fields != families.len() {
        return Ok(false);
    }
    if let Some(header) = records.first().filter(|_| options.header == Some(true)) {
        records.drop_headers(&header);
    }
    let mut is_plain = true;
    records.each(|values| {
        let mut fields = values.iter().zip(families);
        is_plain = is_plain
            && fields.all(|(raw, family)| match (raw.value, family) {
                (Some(value), Some(family)) => value.is_empty() || is_read(value, *family),
                _ => true,
            });
    });
    Ok(is_plain)
}

/// True if the server reads a value for a column of this family, and nobody could read another one.
fn is_read(value: &[u8], family: Family<'_>) -> bool {
    let forms = Forms::of(value);
    match family {
        Family::Integer | Family::Year => forms.integer,
        Family::Decimal | Family::Real => match forms.decimal {
            // A point between thousands?
            Some((whole, fraction)) => fraction != THOUSANDS || whole > THOUSANDS,
            None => forms.double,
        },
        Family::Temporal | Family::Moment => {
            let is_spaced = forms.datetime.is_some() && value.len() > 16 && value[10] == b' ';
            forms.date || is_spaced || forms.time.is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_have_two_readings_or_none_are_not_plain() {
        let cases: [(Family<'_>, &[&str], &[&str]); 3] = [
            (Family::Integer, &["0", "-17", "99"], &["yes", "1.5", "007", " 1", "NULL", "1,000"]),
            (
                Family::Decimal,
                &["0.5", "-1.25", "1234.567", "1e5", "3"],
                &["1.234", "1,5", "1.234,50", "12.345.678", "5 %", "NA"],
            ),
            (
                Family::Moment,
                &["2024-02-29", "2024-01-01 10:00:00", "2024-01-01 10:00:00.25"],
                &["2023-02-29", "2024-01-01T10:00:00", "2024-01-01T10:00:00Z", "01/02/2024", "-"],
            ),
        ];
        for (family, plain, others) in cases {
            for value in plain {
                assert!(is_read(value.as_bytes(), family), "{value}");
            }
            for value in others {
                assert!(!is_read(value.as_bytes(), family), "{value}");
            }
        }
    }
}
