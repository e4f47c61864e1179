//! Weight of every character of a character set, in a few bulk SELECTs.

use values::Charset;
use values::collation::{CollationError, Weights, WeightsBuilder};

use super::Target;
use crate::error::Result;
use crate::session::Session;

/// Characters asked for by one statement.
const CODES_PER_QUERY: u32 = 0x1_0000;

/// Weights as the server tells them, or why they do not fit a table.
pub(super) fn fetch(
    session: &mut Session,
    target: Target<'_>,
) -> Result<std::result::Result<Weights, CollationError>> {
    let codes: u32 = match target.charset {
        Charset::Ascii => 0x80,
        Charset::Binary | Charset::Latin1 => 0x100,
        Charset::Utf8mb3 => 0x1_0000,
        Charset::Utf8mb4 => 0x11_0000,
    };
    let mut weights = WeightsBuilder::new(if target.charset.is_single_byte() { 1 } else { 2 });
    for first in (0..codes).step_by(CODES_PER_QUERY as usize) {
        let count = CODES_PER_QUERY.min(codes - first);
        for (code, weight) in (first..).zip(fetch_range(session, target, first, count)?) {
            let pushed = weight.map_or(Ok(()), |weight| weights.push(code, &weight));
            if let Err(error) = pushed {
                return Ok(Err(error));
            }
        }
    }
    Ok(Ok(weights.finish()))
}

/// Weights of `count` codes (a multiple of 16) from `first`; None for codes without character.
fn fetch_range(
    session: &mut Session,
    target: Target<'_>,
    first: u32,
    count: u32,
) -> Result<Vec<Option<Vec<u8>>>> {
    let character = match target.charset.is_single_byte() {
        true => format!("CHAR(n USING {})", target.charset.name()),
        false => format!("CONVERT(CHAR(n USING utf32) USING {})", target.charset.name()),
    };
    // A table of numbers without a table: no right, no database, no engine is needed.
    let sql = format!(
        "WITH d(n) AS (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12),(13),(14),(15)), \
         s AS (SELECT {first} + d3.n * 4096 + d2.n * 256 + d1.n * 16 + d0.n AS n \
         FROM d d3 JOIN d d2 JOIN d d1 JOIN d d0 \
         WHERE d3.n * 4096 + d2.n * 256 + d1.n * 16 + d0.n < {count}) \
         SELECT n, WEIGHT_STRING({character} COLLATE {}) FROM s",
        target.name
    );
    let mut weights = vec![None; count as usize];
    session.for_each(&sql, |row| {
        let code: u32 = row.number(0)?;
        if let (Some(place), Some(weight)) =
            (weights.get_mut(code.wrapping_sub(first) as usize), row.bytes(1))
        {
            *place = Some(weight.to_vec());
        }
        Ok(())
    })?;
    Ok(weights)
}
