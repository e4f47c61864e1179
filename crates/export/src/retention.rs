//! How long TiDB keeps the rows of an export's moment, and whether an export may take longer.
//!
//! The garbage collection leaves the rows of `tidb_gc_life_time`, and those that an open transaction may
//! read, but no longer than `tidb_gc_max_wait_time`. Source: docs.pingcap.com, garbage collection configuration;
//! TiDB 8.5, pkg/store/gcworker.

use server::Session;

/// Bytes of rows that a slow export reads in a second.
const BYTES_PER_SECOND: u64 = 10_000_000;

/// A note about a table of so many bytes, if its export may outlive its rows.
///
/// Errors: the connection was lost.
pub(crate) fn note(session: &mut Session, bytes: u64) -> Result<Option<String>, server::Error> {
    let sql = "SELECT @@GLOBAL.tidb_gc_life_time, @@GLOBAL.tidb_gc_max_wait_time";
    let row = match session.query_row(sql) {
        // A release, or a service, that does not tell.
        Err(server::Error::Statement { .. }) => return Ok(None),
        row => row?,
    };
    let life = seconds(&row.text(0)?);
    let wait = row.text(1)?.parse().ok();
    Ok(life.max(wait).and_then(|kept| of(bytes, kept)))
}

fn of(bytes: u64, kept: u64) -> Option<String> {
    (bytes / BYTES_PER_SECOND > kept).then(|| {
        format!(
            "TiDB keeps the rows of the export's moment for {kept} seconds (tidb_gc_life_time, \
             tidb_gc_max_wait_time): the export fails if it takes longer; raise tidb_gc_life_time for it"
        )
    })
}

/// Seconds of a duration as TiDB writes it: `24h0m0s`.
fn seconds(duration: &str) -> Option<u64> {
    let (mut seconds, mut digits) = (0, String::new());
    for letter in duration.chars() {
        let unit = match letter {
            'h' => 3600.0,
            'm' => 60.0,
            's' => 1.0,
            _ => {
                digits.push(letter);
                continue;
            }
        };
        seconds += (std::mem::take(&mut digits).parse::<f64>().ok()? * unit) as u64;
    }
    digits.is_empty().then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_that_may_outlive_its_rows_has_a_note() {
        assert_eq!(seconds("10m0s"), Some(600));
        assert_eq!(seconds("24h0m1.5s"), Some(24 * 3600 + 1));
        assert_eq!((seconds("10"), seconds("xs")), (None, None));
        assert_eq!(of(6_000_000_000, 600), None);
        assert!(of(6_010_000_000, 600).is_some_and(|note| note.contains("for 600 seconds")));
    }
}
