//! Collations of the dump that the server lacks, and those that take their places.

use face::option::MAP_COLLATION;
use server::Session;
use sources::dump::Statement;
use sql::{Syntax, replace_collations};

use crate::error::Error;
use crate::options::ReplayOptions;

/// The server has no collation of this name, or not for this character set.
const ER_UNKNOWN_COLLATION: u16 = 1273;
const ER_COLLATION_CHARSET_MISMATCH: u16 = 1253;
const ER_UNKNOWN_CHARACTER_SET: u16 = 1115;

/// Collations by the end of an unknown one's name, the closest first, all of its character set. Trailing blanks
/// count in those with `nopad`, as in MySQL's `0900`.
const CLOSEST: [(&str, &[&str]); 4] = [
    ("_as_cs", &["uca1400_nopad_as_cs", "0900_as_cs", "bin"]),
    ("_as_ci", &["uca1400_nopad_as_ci", "0900_as_ci", "unicode_520_ci", "general_ci"]),
    ("_bin", &["nopad_bin", "0900_bin", "bin"]),
    (
        "",
        &[
            "uca1400_nopad_ai_ci",
            "0900_ai_ci",
            "unicode_520_nopad_ci",
            "unicode_520_ci",
            "general_ci",
        ],
    ),
];

/// Other names for collations of the dump, and where they were used.
#[derive(Clone, Debug)]
pub(crate) struct Collations {
    /// The name in the dump, and the new one.
    names: Vec<(String, String)>,
    /// Places of each.
    places: Vec<u64>,
}

impl Collations {
    pub(crate) fn new(options: &ReplayOptions) -> Collations {
        let names = options.map_collation.clone();
        Collations { places: vec![0; names.len()], names }
    }

    /// True if no collation has another name.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Errors: a new name that the server has not, or has for another character set.
    pub(crate) fn check(&self, own: &mut Session) -> Result<(), Error> {
        for (from, to) in &self.names {
            if !exists(own, charset(from), to)? {
                let closest = closest(own, from)?;
                return Err(Error::Usage(format!(
                    "{}: the server has no collation {to} for the character set {}{}",
                    MAP_COLLATION.with(&format!("{from}={to}")),
                    charset(from),
                    closest.map_or_else(String::new, |name| format!(
                        "; the closest that it has is {name}"
                    ))
                )));
            }
        }
        Ok(())
    }

    /// The names of which the server has the old collation too: tables of an earlier replay may have it.
    pub(crate) fn optional(&self, own: &mut Session) -> Result<Vec<String>, Error> {
        let mut optional = Vec::new();
        for (from, to) in &self.names {
            if exists(own, charset(from), from)? {
                optional.push(format!("{from}={to}"));
            }
        }
        Ok(optional)
    }

    /// The statement with the new names; None if it has none of the old ones.
    pub(crate) fn apply(&mut self, statement: &Statement, syntax: Syntax) -> Option<Statement> {
        let (text, places) = replace_collations(&statement.text, syntax, &self.names)?;
        places.into_iter().for_each(|index| self.places[index] += 1);
        Some(Statement { text, ..statement.clone() })
    }

    /// Notes for the report.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.names.iter().zip(&self.places).map(|((from, to), places)| match places {
            0 => format!("the dump does not name the collation {from}"),
            1 => format!("the collation {from} became {to} in 1 place"),
            places => format!("the collation {from} became {to} in {places} places"),
        })
    }
}

/// The error of a statement; one about an unknown collation with the option that replaces it.
pub(crate) fn explain(error: Error, own: &mut Session) -> Error {
    let Error::Server(server::Error::Statement { errno: ER_UNKNOWN_COLLATION, message, .. }) =
        &error
    else {
        return error;
    };
    let name = message.split('\'').nth(1).unwrap_or_default();
    match closest(own, name) {
        Ok(Some(to)) => Error::Refused(format!(
            "the server has no collation {name}; {} replaces it by the closest that the server has",
            MAP_COLLATION.with(&format!("{name}={to}"))
        )),
        _ => error,
    }
}

/// The collation of the server that compares most like the one of this name.
fn closest(own: &mut Session, name: &str) -> Result<Option<String>, Error> {
    let lower = name.to_ascii_lowercase();
    let Some((_, ends)) = CLOSEST.iter().find(|(end, _)| lower.ends_with(end)) else {
        return Ok(None);
    };
    for end in *ends {
        let candidate = format!("{}_{end}", charset(&lower));
        if exists(own, charset(&lower), &candidate)? {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// The character set of a collation, which its name begins with.
fn charset(collation: &str) -> &str {
    collation.split('_').next().unwrap_or_default()
}

/// True if the server has a collation for a character set.
fn exists(own: &mut Session, charset: &str, collation: &str) -> Result<bool, Error> {
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !is_name(charset) || !is_name(collation) {
        return Ok(false);
    }
    match own.query(&format!("SELECT _{charset}'' COLLATE {collation}")) {
        Ok(_) => Ok(true),
        Err(server::Error::Statement {
            errno: ER_UNKNOWN_COLLATION | ER_COLLATION_CHARSET_MISMATCH | ER_UNKNOWN_CHARACTER_SET,
            ..
        }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
