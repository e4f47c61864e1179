//! The time zone in which the server reads TIMESTAMP values.

use job::error::Error;
use schema::Column;
use server::{ServerFacts, Session};
use values::habits::Habits;
use values::{ConvertOptions, Converter, SqlType, Zone};

/// The session's zone, checked against the server's own clock when a column depends on it, or
/// `has_moments` says that values do.
///
/// `SYSTEM` is the zone the server was started with, which need not be this process's, and tables of
/// named zones may be older than ours; so for every week of the years that TIMESTAMP has, and around
/// each change of the clocks, the server's answer is compared with ours.
pub(crate) fn zone(
    session: &mut Session,
    facts: &ServerFacts,
    columns: &[Column],
    habits: Habits,
    has_moments: bool,
) -> Result<Zone, Error> {
    // Where a text may have a displacement from UTC, its local time is one of the zone.
    let needs_zone = |column: &Column| match column.sql_type {
        SqlType::Timestamp { .. } => true,
        SqlType::Date | SqlType::Time { .. } | SqlType::DateTime { .. } => {
            habits.reads_displacements
        }
        _ => false,
    };
    if !has_moments && !columns.iter().any(needs_zone) {
        return Ok(Zone::UTC);
    }
    let zone = Zone::parse(&facts.time_zone)?;
    let years = 1971..if habits.timestamp_to_2106 { 2106 } else { 2038 };
    let weeks = years.clone().flat_map(|year| (1..=12).map(move |month| (year, month))).flat_map(
        |(year, month)| [1, 8, 15, 22].map(|day| format!("{year}-{month:02}-{day:02} 12:00:00")),
    );
    let is_known = |text: &String| text[..4].parse().is_ok_and(|year| years.contains(&year));
    let changes = zone.around_changes();
    let texts: Vec<String> = weeks.chain(changes.into_iter().filter(is_known)).collect();
    let asked: Vec<String> = texts.iter().map(|text| format!("UNIX_TIMESTAMP('{text}')")).collect();
    let answer = session.query_row(&format!("SELECT {}", asked.join(", ")))?;
    let sql_type = SqlType::Timestamp { digits: 0 };
    let options = ConvertOptions { time_zone: zone.clone(), habits, ..ConvertOptions::default() };
    let mut converter = Converter::new("timestamp", &sql_type, &options)?;
    for (position, text) in texts.iter().enumerate() {
        let mut stored = Vec::new();
        let ours = converter.convert(text.as_bytes(), &mut stored);
        let seconds = stored.iter().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
        let theirs: String = answer.text(position)?;
        let whole = theirs.split('.').next().unwrap_or_default();
        if ours.is_err() || whole.parse() != Ok(seconds) {
            return Err(Error::Usage(format!(
                "the server's time zone {} differs from this machine's: {text} is Unix time \
                 {theirs} there and {seconds} here; set time_zone to a named zone or an offset",
                facts.time_zone
            )));
        }
    }
    Ok(zone)
}
