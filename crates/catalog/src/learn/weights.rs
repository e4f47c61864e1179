//! Weight of every character of a character set, in a few bulk SELECTs.

use std::collections::BTreeSet;

use values::Charset;
use values::collation::{CollationError, Weights, WeightsBuilder};

use super::{Target, numbers};
use server::error::Result;
use server::session::Session;

/// Characters asked for by one statement.
const CODES_PER_QUERY: u32 = 0x1_0000;
/// Largest weight of one character in sets that are neither Unicode nor of one byte.
const ALIGNED_BYTES_MAX: usize = 3;

/// Where the bytes of a short weight stand in its unit.
///
/// East Asian collations weigh a character of one byte in one byte and others in more, and compare
/// them as numbers: in some the short weight is the low byte of the number, in others the high one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// All weights are whole units.
    Whole,
    Low,
    High,
    /// As `Low`, but a character of several bytes weighs as its code: big5 has one order (of
    /// strokes) for ORDER BY, which is what WEIGHT_STRING tells, and another for indexes.
    /// Source: MariaDB 10.11, strings/ctype-big5.c, `WEIGHT_MB2` and `WEIGHT_MB2_FRM`.
    Code,
}

/// Each character's weight on each level, as the server tells it. Some 12 bytes a character and its weights.
#[derive(Default)]
pub(super) struct Fetched {
    /// Each character, and its place among those that were told. Ascending.
    characters: Vec<(u32, u32)>,
    /// The end of each weight, by the place of the character and the level.
    ends: Vec<u32>,
    weights: Vec<u8>,
    levels: usize,
    /// A character whose weight has another number of levels.
    misfit: Option<u32>,
}

impl Fetched {
    fn push(&mut self, code: u32, weights: &[&[u8]]) {
        self.characters.push((code, self.characters.len() as u32));
        for weight in weights {
            self.weights.extend_from_slice(weight);
            self.ends.push(self.weights.len() as u32);
        }
    }

    /// Characters and their weights on a level, ascending.
    fn of_level(&self, level: usize) -> impl Iterator<Item = (u32, &[u8])> {
        self.characters.iter().map(move |&(code, place)| {
            let at = place as usize * self.levels + level;
            let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            (code, &self.weights[begin as usize..self.ends[at] as usize])
        })
    }
}

/// Asks for the weights of all characters.
pub(super) fn fetch(session: &mut Session, target: Target<'_>) -> Result<Fetched> {
    let mut fetched = Fetched { levels: target.level_count(), ..Fetched::default() };
    for first in starts(target.charset) {
        fetch_range(session, target, first, &mut fetched)?;
    }
    fetched.characters.sort_unstable();
    Ok(fetched)
}

/// First codes of the blocks of [`CODES_PER_QUERY`] that have characters.
fn starts(charset: Charset) -> BTreeSet<u32> {
    match charset {
        Charset::Learned(table) => {
            let characters = &table.data().characters;
            characters.iter().map(|&(code, _)| code & !(CODES_PER_QUERY - 1)).collect()
        }
        Charset::Ucs2 | Charset::Utf8mb3 => BTreeSet::from([0]),
        charset if charset.is_single_byte() => BTreeSet::from([0]),
        _ => (0..0x11_0000).step_by(CODES_PER_QUERY as usize).collect(),
    }
}

fn fetch_range(
    session: &mut Session,
    target: Target<'_>,
    first: u32,
    fetched: &mut Fetched,
) -> Result<()> {
    let charset = target.charset;
    let name = charset.name();
    let (count, character) = match charset {
        _ if charset.is_single_byte() => (0x100, format!("CHAR(n USING {name})")),
        Charset::Learned(_) => (CODES_PER_QUERY, format!("CHAR(n USING {name})")),
        _ => (CODES_PER_QUERY, format!("CONVERT(CHAR(n USING utf32) USING {name})")),
    };
    let weights: Vec<_> = target.weights(&format!("{character} COLLATE {}", target.name));
    let sql = format!("{} SELECT n, {} FROM s", numbers(first, count), weights.join(","));
    let mut character = Vec::with_capacity(4);
    session.for_each(&sql, |row| {
        let code: u32 = row.number(0)?;
        character.clear();
        charset.push_char(code, &mut character);
        // CHAR(0x4141) is two characters, and U+D800 becomes a question mark.
        let is_one = charset.next_char(&character) == Some((code, character.len()));
        match target.read(&row, 1).filter(|_| is_one) {
            Some(Some(weights)) => fetched.push(code, &weights),
            Some(None) => fetched.misfit = Some(code),
            None => {}
        }
        Ok(())
    })
}

/// The table of one level, or why the weights do not fit one.
pub(super) fn table(
    fetched: &Fetched,
    charset: Charset,
    level: usize,
    align: Align,
) -> std::result::Result<Weights, CollationError> {
    if fetched.misfit.is_some() {
        let why = "its characters have different numbers of levels".to_owned();
        return Err(CollationError::Refused { name: String::new(), why });
    }
    let longest = fetched.of_level(level).map(|(_, weight)| weight.len()).max().unwrap_or(1);
    let unit_bytes = match align {
        Align::Whole => {
            if charset.is_single_byte() {
                1
            } else {
                2
            }
        }
        _ => longest.clamp(1, ALIGNED_BYTES_MAX),
    };
    let mut builder = WeightsBuilder::new(unit_bytes as u8);
    let mut unit = Vec::new();
    for (code, mut weight) in fetched.of_level(level) {
        let bytes = code.to_be_bytes();
        if align == Align::Code && code > 0xff {
            weight = &bytes[4 - unit_bytes..];
        }
        unit.clear();
        if matches!(align, Align::Low | Align::Code) && !weight.is_empty() {
            unit.resize(unit_bytes.saturating_sub(weight.len()), 0);
        }
        unit.extend_from_slice(weight);
        if align == Align::High && !weight.is_empty() {
            unit.resize(unit_bytes.max(weight.len()), 0);
        }
        builder.push(code, &unit)?;
    }
    Ok(builder.finish())
}

/// Ways to align short weights worth trying.
pub(super) fn aligns(charset: Charset) -> &'static [Align] {
    match charset.is_unicode() || charset.is_single_byte() {
        true => &[Align::Whole],
        false => &[Align::High, Align::Low, Align::Code],
    }
}
