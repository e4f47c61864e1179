//! Learning collations and character sets from the server, testing them, keeping them.
//!
//! ```text
//! built in?  -> cache file -> charset.rs       conversion tables of a character set
//!                          -> weights.rs       WEIGHT_STRING of every character, level by level
//!                          -> contractions.rs  sequences that weigh otherwise than their characters
//!                          -> self_test.rs     random strings: our order against the server's
//!                          -> cache.rs         written for the next load, the verdict included
//!                          -> ready.rs         at hand for the next table of this process
//! ```
//! Nothing is created on the server and no right is needed: the statements read literals only.

use std::sync::Arc;

use values::Charset;
use values::collation::{Collation, CollationData, CollationError, Level, Verdict, WeightsBuilder};

use crate::error::Result;
use crate::session::Session;
use crate::version::Flavor;

mod cache;
mod charset;
mod contractions;
mod ready;
mod self_test;
mod weights;

pub use cache::CollationCache;
pub use charset::charset;

/// Levels a collation may have.
const LEVELS_MAX: usize = 3;
/// The weight with which 8-bit collations pad, whatever they weigh a space.
const SIMPLE_PAD_UNIT: u32 = 0x20;

/// The collation of this name, built in, from the cache or learned now.
///
/// Learning takes up to a few seconds, once per server version. A cache that cannot be read or
/// written is no error: the collation is learned again next time.
///
/// Errors: the server does not know the collation, or its order is not one Inrush can reproduce
/// exactly ([`CollationError::Refused`] says why).
pub fn collation(
    session: &mut Session,
    name: &str,
    cache: &CollationCache,
) -> Result<Arc<Collation>> {
    check_name(name)?;
    let charset = charset(session, Charset::name_of_collation(name), cache)?;
    let is_mysql = session.version().flavor == Flavor::MySql;
    // Those of MySQL 8 do not pad, this one among them, and have weights of their own.
    let built_in = Collation::built_in(name, charset);
    match built_in.filter(|_| !(is_mysql && name.contains("_0900_"))) {
        Some(collation) => Ok(Arc::new(collation)),
        None if is_mysql => {
            let why = "MySQL does not show the weights of its collations level by level".to_owned();
            Err(CollationError::Refused { name: name.to_owned(), why }.into())
        }
        None => ready::or_learn(session, name, cache),
    }
}

/// A collation from the cache or, now, the server, tested.
///
/// An order that cannot be reproduced is not an error here: [`CollationData::verdict`] says so,
/// and the weights are then empty.
///
/// Errors: no such collation or character set, and those of the connection.
pub fn learn(session: &mut Session, name: &str, cache: &CollationCache) -> Result<CollationData> {
    check_name(name)?;
    let charset = charset(session, Charset::name_of_collation(name), cache)?;
    if let Some(data) = cache.load(&session.version().text, name, charset) {
        return Ok(data);
    }
    if let Some(notices) = &session.options().notices {
        let sentence = format!(
            "the order of {name} is learned from the server, once for each version of the server, in some \
             seconds"
        );
        // Nobody may listen any more.
        let _ = notices.send(sentence);
    }
    let data = learn_of(session, name, charset, cache)?;
    cache.store(&data);
    Ok(data)
}

fn learn_of(
    session: &mut Session,
    name: &str,
    charset: Charset,
    cache: &CollationCache,
) -> Result<CollationData> {
    let mut data = CollationData {
        name: name.to_owned(),
        server_version: session.version().text.clone(),
        charset,
        pad_space: !name.contains("_nopad_"),
        pad_unit: None,
        weights: WeightsBuilder::new(1).finish(),
        contractions: Vec::new(),
        lower_levels: Vec::new(),
        verdict: Verdict::Untested,
    };
    let mut target = Target { charset, name, levels: [0; LEVELS_MAX] };
    match target.find_levels(session)? {
        Some(levels) => target.levels = levels,
        None => {
            let why = "its sort weights are not its levels one after the other (several passes)";
            return Ok(refused(data, why.to_owned()));
        }
    }
    if let Some(twin) = twin(session, name, charset, cache)? {
        let tried = CollationData { name: data.name.clone(), charset, ..twin };
        let has_same_levels = target.level_count() == tried.lower_levels.len() + 1;
        if has_same_levels && test(session, target, &tried, true)?.is_none() {
            return Ok(CollationData { verdict: Verdict::Exact, ..tried });
        }
    }
    if data.pad_space && !target.is_padded(session)? {
        data.pad_unit = Some(SIMPLE_PAD_UNIT);
    }
    let fetched = weights::fetch(session, target)?;
    let mut why = String::new();
    for &align in weights::aligns(charset) {
        let tried = data.clone();
        match attempt(session, target, tried, &fetched, align)? {
            Ok(exact) => return Ok(exact),
            Err(reason) => why = reason,
        }
    }
    Ok(refused(data, why))
}

/// Makes a collation of fetched weights and tests it; the inner error is why it is not exact.
fn attempt(
    session: &mut Session,
    target: Target<'_>,
    mut data: CollationData,
    fetched: &weights::Fetched,
    align: weights::Align,
) -> Result<std::result::Result<CollationData, String>> {
    for level in 0..target.level_count() {
        let weights = match weights::table(fetched, data.charset, level, align) {
            Ok(weights) => weights,
            Err(error) => return Ok(Err(reason(error))),
        };
        match level {
            0 => data.weights = weights,
            _ => data.lower_levels.push(Level { weights, contractions: Vec::new() }),
        }
    }
    if let Err(error) = contractions::fetch(session, target, &mut data)? {
        return Ok(Err(reason(error)));
    }
    Ok(match test(session, target, &data, align == weights::Align::Whole)? {
        None => Ok(CollationData { verdict: Verdict::Exact, ..data }),
        Some(why) => Err(why),
    })
}

/// Why a collation is not the server's; None if it is.
fn test(
    session: &mut Session,
    target: Target<'_>,
    data: &CollationData,
    weighs_alike: bool,
) -> Result<Option<String>> {
    match Collation::learned(data.clone()) {
        Ok(collation) => self_test::run(session, target, &collation, data, weighs_alike),
        Err(error) => Ok(Some(reason(error))),
    }
}

/// The collation of utf8mb4 that is called the same: Unicode collations are the same in all
/// Unicode character sets, and the self-test sees to it that this one is.
///
/// It spares the other sets most of the learning. It is also the better way to learn: of a character
/// that weighs much, WEIGHT_STRING tells ucs2 and utf16 only the beginning (10.11.19).
fn twin(
    session: &mut Session,
    name: &str,
    charset: Charset,
    cache: &CollationCache,
) -> Result<Option<CollationData>> {
    let Some(kind) = name.strip_prefix(charset.name()) else { return Ok(None) };
    if !charset.is_unicode() || charset == Charset::Utf8mb4 {
        return Ok(None);
    }
    let twin = format!("utf8mb4{kind}");
    let data = match learn(session, &twin, cache) {
        // Not every collation of ucs2 has one.
        Err(crate::Error::Statement { .. }) => return Ok(None),
        data => data?,
    };
    Ok(Some(data).filter(|data| data.verdict == Verdict::Exact))
}

fn reason(error: CollationError) -> String {
    match error {
        CollationError::Refused { why, .. } => why,
        other => other.to_string(),
    }
}

fn refused(data: CollationData, why: String) -> CollationData {
    CollationData { verdict: Verdict::Refused(why), ..data }
}

/// Refuses a collation whose name is not safe to put into a statement.
fn check_name(name: &str) -> Result<()> {
    let safe = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if !name.is_empty() && name.bytes().all(safe) {
        return Ok(());
    }
    let why = "its name has characters other than a to z, 0 to 9 and _".to_owned();
    Err(CollationError::Refused { name: name.to_owned(), why }.into())
}

/// `WITH s(n) AS (...)`: the numbers from `first` on, `count` of them, at most 65,536.
///
/// A table of numbers without a table: no right, no database, no engine is needed.
fn numbers(first: u32, count: u32) -> String {
    // MariaDB and MySQL have different words for rows of VALUES.
    let digits: Vec<String> = (0..16).map(|digit| format!("SELECT {digit}")).collect();
    let digits = digits.join(" UNION ALL ");
    if count == 0x1_0000 {
        // Two tables of 256 numbers take less time than four of 16.
        return format!(
            "WITH d(n) AS ({digits}), b(n) AS (SELECT d1.n * 16 + d0.n FROM d d1 JOIN d d0), \
             s AS (SELECT {first} + b1.n * 256 + b0.n AS n FROM b b1 JOIN b b0)"
        );
    }
    format!(
        "WITH d(n) AS ({digits}), s AS (SELECT {first} + d3.n * 4096 + d2.n * 256 + d1.n * 16 + d0.n \
         AS n FROM d d3 JOIN d d2 JOIN d d1 JOIN d d0 \
         WHERE d3.n * 4096 + d2.n * 256 + d1.n * 16 + d0.n < {count})"
    )
}

/// A collation as statements name it.
#[derive(Clone, Copy)]
struct Target<'a> {
    charset: Charset,
    /// Checked by [`check_name`].
    name: &'a str,
    /// The server's numbers of the levels there are, zeros behind them; all zero if it has but one.
    levels: [u8; LEVELS_MAX],
}

impl Target<'_> {
    /// A literal of this collation.
    fn literal(self, text: &[u8]) -> String {
        use std::fmt::Write;
        let mut sql = format!("_{} x'", self.charset.name());
        for byte in text {
            // Writing to a String does not fail.
            let _ = write!(sql, "{byte:02x}");
        }
        sql.push_str("' COLLATE ");
        sql.push_str(self.name);
        sql
    }

    /// A literal of an ASCII text.
    fn ascii(self, text: &str) -> String {
        let mut bytes = Vec::new();
        text.chars().for_each(|c| self.charset.push_char(c.into(), &mut bytes));
        self.literal(&bytes)
    }

    fn level_count(self) -> usize {
        self.levels.iter().filter(|&&level| level > 0).count().max(1)
    }

    /// Weight of an expression on each level.
    fn weights(self, expression: &str) -> Vec<String> {
        match self.levels {
            [0, ..] => vec![format!("WEIGHT_STRING({expression})")],
            levels => {
                let levels = levels.into_iter().filter(|&level| level > 0);
                levels.map(|level| format!("WEIGHT_STRING({expression} LEVEL {level})")).collect()
            }
        }
    }

    /// Which levels the weight of a string is made of; None if it is not of theirs in a row.
    fn find_levels(self, session: &mut Session) -> Result<Option<[u8; LEVELS_MAX]>> {
        let text = self.ascii("aB");
        let level = |level: usize| format!("WEIGHT_STRING({text} LEVEL {level})");
        let sql = format!("SELECT WEIGHT_STRING({text}), {}, {}, {}", level(1), level(2), level(3));
        let row = session.query_row(&sql)?;
        let weight = |column| row.bytes(column).unwrap_or_default();
        // A level that a collation lacks weighs nothing, or as its last one.
        let candidates: [[u8; LEVELS_MAX]; 4] = [[1, 0, 0], [1, 2, 0], [1, 3, 0], [1, 2, 3]];
        let adds_up = |levels: &[u8; LEVELS_MAX]| {
            let levels = levels.iter().filter(|&&level| level > 0);
            let all: Vec<u8> = levels.flat_map(|&level| weight(level.into())).copied().collect();
            all == weight(0)
        };
        Ok(candidates.into_iter().find(adds_up).map(|levels| match levels {
            [_, 0, _] => [0; LEVELS_MAX],
            levels => levels,
        }))
    }

    /// True if a space at the end does not count.
    fn is_padded(self, session: &mut Session) -> Result<bool> {
        let sql = format!("SELECT {} = {}", self.ascii("a"), self.ascii("a "));
        session.query_row(&sql)?.number::<u8>(0).map(|equal| equal == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_more_than_a_name_are_refused() {
        for name in ["", "utf8mb4_x; DROP TABLE t", "latin1_Swedish_ci", "utf8mb4_`"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("koi8r_general_ci").is_ok());
    }
}
