//! Learning collations and character sets from the server, testing them, keeping them.
//!
//! ```text
//! built in?  -> built_in.rs                    as it is on MariaDB, tested on MySQL
//! else       -> cache file -> charset.rs       conversion tables of a character set
//!                          -> target.rs        how statements name it; its levels
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

use server::engine::Kind;
use server::error::Result;
use server::session::Session;
use server::version::Flavor;

mod built_in;
mod cache;
mod charset;
mod contractions;
mod ready;
mod self_test;
mod target;
mod weights;

pub use cache::CollationCache;
pub use charset::charset;

use target::{Levels, Target};

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
    match Collation::built_in(name, charset) {
        Some(collation) if is_mysql(session) => built_in::of_mysql(session, collation, cache),
        Some(collation) => Ok(Arc::new(collation)),
        None => ready::or_learn(session, name, cache),
    }
}

fn is_mysql(session: &Session) -> bool {
    session.version().flavor == Flavor::MySql
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
            "the sort order of {name} is learned from the server, once for each version of the server, in \
             some seconds"
        );
        // Nobody may listen any more.
        let _ = notices.send(sentence);
    }
    let data = match learn_of(session, name, charset, cache) {
        // vtgate does not run all statements that the order is learned by.
        Err(error)
            if error.errno().is_some() && !Kind::of_version(session.version()).has_files() =>
        {
            return Ok(refused(without_weights(session, name, charset), error.to_string()));
        }
        data => data?,
    };
    cache.store(&data);
    Ok(data)
}

fn learn_of(
    session: &mut Session,
    name: &str,
    charset: Charset,
    cache: &CollationCache,
) -> Result<CollationData> {
    let mut data = without_weights(session, name, charset);
    let mut target = Target { charset, name, levels: Levels::One };
    match target.find_levels(session)? {
        Some(levels) => target.levels = levels,
        None => {
            let why = "its sort weights are not its levels one after the other (several passes)";
            return Ok(refused(data, why.to_owned()));
        }
    }
    data.pad_space = target.has_pad_attribute(session)?;
    data.trims_char = !data.pad_space && is_mysql(session);
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

/// What is known of a collation before anything is learned.
fn without_weights(session: &Session, name: &str, charset: Charset) -> CollationData {
    CollationData {
        name: name.to_owned(),
        server_version: session.version().text.clone(),
        charset,
        pad_space: true,
        pad_unit: None,
        trims_char: false,
        weights: WeightsBuilder::new(1).finish(),
        contractions: Vec::new(),
        lower_levels: Vec::new(),
        verdict: Verdict::Untested,
    }
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
        Err(server::Error::Statement { .. }) => return Ok(None),
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
