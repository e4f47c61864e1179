//! Learning a collation from the server: weights, contractions, self-test, cache.
//!
//! ```text
//! built in?  -> cache file -> weights.rs       WEIGHT_STRING of every character
//!                          -> contractions.rs  sequences that weigh otherwise than their characters
//!                          -> self_test.rs     random strings: our order against the server's
//!                          -> cache.rs         written for the next load, the verdict included
//! ```
//! Nothing is created on the server and no right is needed: the statements read literals only.

use std::sync::Arc;

use values::Charset;
use values::collation::{Collation, CollationData, CollationError, Verdict, WeightsBuilder};

use crate::error::Result;
use crate::session::Session;

mod cache;
mod contractions;
mod self_test;
mod weights;

pub use cache::CollationCache;

/// The collation of this name, built in, from the cache or learned now.
///
/// Learning takes up to a few seconds, once per server version. A cache that cannot be read or
/// written is no error: the collation is learned again next time.
///
/// Errors: the server does not know the collation, its character set is not one Inrush can cut,
/// or its order is not one Inrush can reproduce exactly ([`CollationError::Refused`] says why).
pub fn collation(
    session: &mut Session,
    name: &str,
    cache: &CollationCache,
) -> Result<Arc<Collation>> {
    if let Some(collation) = Collation::built_in(name) {
        return Ok(Arc::new(collation));
    }
    check_name(name)?;
    let data = match cache.load(&session.version().text, name) {
        Some(data) => data,
        None => {
            let data = learn(session, name)?;
            cache.store(&data);
            data
        }
    };
    Ok(Arc::new(Collation::learned(data)?))
}

/// Asks the server for everything about a collation and tests the result.
///
/// An order that cannot be reproduced is not an error here: [`CollationData::verdict`] says so,
/// and the weights are then empty.
///
/// Errors: no such collation, an unknown character set, and those of the connection.
pub fn learn(session: &mut Session, name: &str) -> Result<CollationData> {
    let charset = check_name(name)?;
    let server_version = session.version().text.clone();
    let target = Target { charset, name };
    let pad_space = target.is_pad_space(session)?;
    let found = match target.refusal(session)? {
        Some(why) => Err(CollationError::Refused { name: name.to_owned(), why }),
        None => weights::fetch(session, target)?,
    };
    let mut data = CollationData {
        name: name.to_owned(),
        server_version,
        charset,
        pad_space,
        weights: WeightsBuilder::new(1).finish(),
        contractions: Vec::new(),
        verdict: Verdict::Untested,
    };
    match found {
        Ok(weights) => data.weights = weights,
        Err(why) => return Ok(refused(data, &why)),
    }
    data.contractions = match contractions::fetch(session, target, &data)? {
        Ok(contractions) => contractions,
        Err(why) => return Ok(refused(data, &why)),
    };
    let collation = match Collation::learned(data.clone()) {
        Ok(collation) => collation,
        Err(why) => return Ok(refused(data, &why)),
    };
    match self_test::run(session, target, &collation, &data)? {
        None => Ok(CollationData { verdict: Verdict::Exact, ..data }),
        Some(why) => Ok(refused(data, &CollationError::Refused { name: name.to_owned(), why })),
    }
}

fn refused(data: CollationData, why: &CollationError) -> CollationData {
    let why = match why {
        CollationError::Refused { why, .. } => why.clone(),
        other => other.to_string(),
    };
    CollationData {
        weights: WeightsBuilder::new(1).finish(),
        contractions: Vec::new(),
        verdict: Verdict::Refused(why),
        ..data
    }
}

/// Character set of a collation whose name is safe to put into a statement.
fn check_name(name: &str) -> Result<Charset> {
    let safe = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let refuse = |why: &str| {
        Err(CollationError::Refused { name: name.to_owned(), why: why.to_owned() }.into())
    };
    if name.is_empty() || !name.bytes().all(safe) {
        return refuse("its name has other characters than a to z, 0 to 9 and _");
    }
    match Charset::of_collation(name) {
        Some(charset) => Ok(charset),
        None => refuse("its character set is none of ascii, latin1, utf8mb3 and utf8mb4"),
    }
}

/// A collation as statements name it.
#[derive(Clone, Copy)]
struct Target<'a> {
    charset: Charset,
    /// Checked by [`check_name`].
    name: &'a str,
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

    /// Bytes of the character with this code.
    fn push_char(self, code: u32, out: &mut Vec<u8>) {
        match self.charset.is_single_byte() {
            true => out.push(code as u8),
            false => values::charset::push_utf8(code, out),
        }
    }

    fn is_pad_space(self, session: &mut Session) -> Result<bool> {
        let sql = format!("SELECT {} = {}", self.literal(b"a"), self.literal(b"a "));
        session.query_row(&sql)?.number::<u8>(0).map(|equal| equal == 1)
    }

    /// Quick look at what no amount of weights can express: several levels, or multiple passes.
    fn refusal(self, session: &mut Session) -> Result<Option<String>> {
        let weigh = |text: &[u8]| format!("WEIGHT_STRING({})", self.literal(text));
        let apart = |a: &[u8], b: &[u8]| {
            format!("{} = CONCAT({},{})", weigh(&[a, b].concat()), weigh(a), weigh(b))
        };
        let sql = format!("SELECT {}, {}", apart(b"a", b"x"), apart(b"1", b"2"));
        let row = session.query_row(&sql)?;
        let adds_up = row.number::<u8>(0)? == 1 || row.number::<u8>(1)? == 1;
        Ok((!adds_up).then(|| {
            "the weight of a string is not the weights of its characters in a row \
             (several levels, or several passes)"
                .to_owned()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_more_than_a_name_are_refused() {
        for name in
            ["", "utf8mb4_x; DROP TABLE t", "latin1_Swedish_ci", "utf8mb4_`", "koi8r_general_ci"]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert_eq!(check_name("utf8mb4_uca1400_ai_ci").ok(), Some(Charset::Utf8mb4));
        assert_eq!(check_name("utf8_general_ci").ok(), Some(Charset::Utf8mb3));
    }
}
