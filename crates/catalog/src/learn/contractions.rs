//! Finding the sequences of characters that weigh otherwise than their characters in a row.
//!
//! The server does not list them, but it weighs any string. Pairs are looked for
//!
//! 1. within each script or group of related scripts ([`SCRIPTS`], [`BLOCKS`]);
//! 2. of any character and a combining mark, or a Latin second character of a pair found in 1;
//! 3. of the first character of a pair found so far and any character.
//!
//! A sequence of three or more (Hungarian dzs, Kannada) begins or ends with a shorter one.
//! The characters are those of living and historic scripts; Han, Hangul, Yi, symbols and
//! characters with computed weights have no contractions.

use std::collections::BTreeSet;
use std::ops::Range;

use values::collation::{
    CONTRACTION_CHARS_MAX, Collation, CollationData, CollationError, Contraction,
};

use super::is_mysql;
use super::target::{Levels, Target, hex_literal};
use server::error::Result;
use server::session::Session;

/// Scripts whose letters stand in several blocks of 256 code points (first, end of each run); each
/// slice is searched whole.
/// (Croatian has a contraction of d and U+017E, so blocks alone would not do.)
const SCRIPTS: [&[(u32, u32)]; 8] = [
    &[(0x00, 0x03), (0x1e, 0x1f)],               // Latin
    &[(0x03, 0x04), (0x1f, 0x20)],               // Greek
    &[(0x04, 0x06), (0x1c, 0x1d), (0xa6, 0xa7)], // Cyrillic, Armenian, Georgian
    &[(0x05, 0x09)],                             // Hebrew, Arabic, Syriac, Thaana
    &[(0x09, 0x0e)],                             // India, Sri Lanka
    &[(0x0e, 0x11), (0xa9, 0xab)],               // Thai, Lao, Tibetan, Myanmar, Tai Viet
    &[(0x17, 0x1e)],                             // Khmer, Mongolian, New Tai Lue, Balinese
    &[(0x30, 0x31)],                             // Kana
];
/// Blocks searched one by one.
const BLOCKS: [(u32, u32); 4] = [(0xa4, 0xac), (0x100, 0x120), (0x168, 0x170), (0x1e0, 0x1ea)];
/// Every block with letters or marks, less Han, Hangul and other large syllabaries.
const LETTERS: [(u32, u32); 5] =
    [(0x00, 0x20), (0x2c, 0x2f), (0x30, 0x32), (0xa4, 0xac), (0xfb, 0x120)];
/// Latin letters: what may end a contraction with a head of another script.
const LATIN: Range<u32> = 0..0x250;
/// Combining diacritical marks.
const MARKS: Range<u32> = 0x300..0x370;
/// First unit of weights computed from the code point (UCA 10.1.3), and the replacement weight.
const COMPUTED_UNIT: [u8; 2] = [0xfb, 0x00];
/// A collation with more is unlike any known one.
const CONTRACTIONS_MAX: usize = 20_000;

/// Adds all contractions to every level, or says why they cannot be known.
pub(super) fn fetch(
    session: &mut Session,
    target: Target<'_>,
    data: &mut CollationData,
) -> Result<std::result::Result<(), CollationError>> {
    if !target.charset.is_unicode() {
        return Ok(Ok(()));
    }
    let plain = match Collation::learned(data.clone()) {
        Ok(plain) => plain,
        Err(error) => return Ok(Err(error)),
    };
    let letters = characters(target, &plain, &LETTERS);
    if letters.iter().all(|letter| letter.weight_bytes == data.weights.unit_bytes()) {
        // One unit for every character, none ignorable: a table of case folding, not UCA.
        return Ok(Ok(()));
    }
    let blocks = BLOCKS.iter().flat_map(|&(first, end)| first..end);
    let blocks = blocks.map(|block| vec![(block, block + 1)]);
    let groups = SCRIPTS.iter().map(|script| script.to_vec()).chain(blocks);
    let groups: Vec<_> =
        groups.map(|blocks| singles(characters(target, &plain, &blocks))).collect();
    let row_word = if is_mysql(session) { "ROW" } else { "" };
    let mut search = Search { session, target, row_word, known: plain, found: Vec::new() };
    search.pairs(&groups, &singles(letters))?;
    for chars in 3..=CONTRACTION_CHARS_MAX {
        if search.found.len() > CONTRACTIONS_MAX {
            let why = format!("it has more than {CONTRACTIONS_MAX} contractions");
            return Ok(Err(CollationError::Refused { name: target.name.to_owned(), why }));
        }
        search.give(data);
        search.known = match Collation::learned(data.clone()) {
            Ok(known) => known,
            Err(error) => return Ok(Err(error)),
        };
        if !search.longer(chars)? {
            break;
        }
    }
    search.give(data);
    Ok(Ok(()))
}

/// A character that may take part in contractions.
struct Character {
    code: u32,
    weight_bytes: usize,
}

/// Characters of some blocks worth asking about: those whose weight is not computed.
fn characters(target: Target<'_>, plain: &Collation, blocks: &[(u32, u32)]) -> Vec<Character> {
    let codes = blocks.iter().flat_map(|(first, end)| first * 256..end * 256);
    let character = |code| {
        let mut text = Vec::new();
        target.charset.push_char(code, &mut text);
        if text.is_empty() {
            return None;
        }
        let weight = plain.weight_string(&text).ok()?;
        let computed = weight.len() >= 2 && weight[..2] >= COMPUTED_UNIT[..];
        (!computed).then_some(Character { code, weight_bytes: weight.len() })
    };
    codes.filter_map(character).collect()
}

/// A sequence and its weight on each level. Without a weight on one level there is no key, so none
/// is needed on others.
struct Sequence {
    chars: Vec<u32>,
    weights: Option<Vec<Vec<u8>>>,
}

struct Search<'a> {
    session: &'a mut Session,
    target: Target<'a>,
    /// The word before a row of VALUES.
    row_word: &'static str,
    /// The collation as far as it is known.
    known: Collation,
    found: Vec<Sequence>,
}

impl Search<'_> {
    /// Puts what was found into `data`.
    fn give(&self, data: &mut CollationData) {
        let level = |level: usize| {
            let of = |sequence: &Sequence| Contraction {
                chars: sequence.chars.clone(),
                weight: sequence.weights.as_ref().map(|weights| weights[level].clone()),
            };
            self.found.iter().map(of).collect()
        };
        data.contractions = level(0);
        for (lower, number) in data.lower_levels.iter_mut().zip(1..) {
            lower.contractions = level(number);
        }
    }

    fn pairs(&mut self, groups: &[Vec<Vec<u32>>], letters: &[Vec<u32>]) -> Result<()> {
        for group in groups {
            self.mismatches(group, group)?;
        }
        let latin = self.codes_at(1).into_iter().filter(|code| LATIN.contains(code));
        let tails: Vec<_> = MARKS.chain(latin).map(|code| vec![code]).collect();
        self.mismatches(letters, &tails)?;
        let heads: Vec<_> = self.codes_at(0).into_iter().map(|code| vec![code]).collect();
        self.mismatches(&heads, letters)?;
        self.sort();
        Ok(())
    }

    /// Looks for contractions of `chars` characters; false when there is none.
    fn longer(&mut self, chars: usize) -> Result<bool> {
        let shorter: Vec<_> = self.found.iter().map(|c| c.chars.clone()).collect();
        let parts: Vec<_> = shorter.into_iter().filter(|part| part.len() == chars - 1).collect();
        let mut tails = self.codes_at(1);
        tails.extend(self.found.iter().flat_map(|c| c.chars[2..].iter().copied()));
        let heads = self.codes_at(0);
        let before = self.found.len();
        let alone = |codes: BTreeSet<u32>| codes.into_iter().map(|c| vec![c]).collect::<Vec<_>>();
        self.mismatches(&parts, &alone(tails))?;
        self.mismatches(&alone(heads), &parts)?;
        // Many are just a shorter contraction at another place.
        let (target, known) = (self.target, &self.known);
        let mut at = 0;
        self.found.retain(|contraction| {
            at += 1;
            let mut text = Vec::new();
            contraction.chars.iter().for_each(|&code| target.charset.push_char(code, &mut text));
            at <= before || known.level_weights(&text).ok() != contraction.weights
        });
        let any = self.found.len() > before;
        self.sort();
        Ok(any)
    }

    fn sort(&mut self) {
        self.found.sort_by(|a, b| a.chars.cmp(&b.chars));
        self.found.dedup_by(|a, b| a.chars == b.chars);
    }

    /// Characters at a place of the contractions found.
    fn codes_at(&self, place: usize) -> BTreeSet<u32> {
        self.found.iter().map(|contraction| contraction.chars[place]).collect()
    }

    /// Adds every `head` + `tail` that does not weigh as its two parts in a row.
    fn mismatches(&mut self, heads: &[Vec<u32>], tails: &[Vec<u32>]) -> Result<()> {
        let [heads, tails] = [heads, tails].map(|sequences| self.weighable(sequences));
        if heads.is_empty() || tails.is_empty() {
            return Ok(());
        }
        let text = format!("CONCAT(a.s, b.s) COLLATE {}", self.target.name);
        let sql = format!(
            "WITH {}, {}, {}, {} SELECT a.i, b.i, {} FROM a JOIN b \
             WHERE WEIGHT_STRING({text}) <> CONCAT({}) LIMIT {}",
            self.values("h", &heads),
            self.values("t", &tails),
            self.weighed("a", "h"),
            self.weighed("b", "t"),
            self.target.weights(&text).join(","),
            self.weight_in_a_row(),
            CONTRACTIONS_MAX + 1,
        );
        let (target, found) = (self.target, &mut self.found);
        self.session.for_each(&sql, |row| {
            let (head, tail) = (row.number::<usize>(0)?, row.number::<usize>(1)?);
            if let (Some(head), Some(tail)) = (heads.get(head), tails.get(tail)) {
                let weights = target.read(&row, 2).flatten();
                let weights =
                    weights.map(|levels| levels.into_iter().map(<[u8]>::to_vec).collect());
                found.push(Sequence { chars: [&head[..], tail].concat(), weights });
            }
            Ok(())
        })
    }

    /// Names of the columns with a weight on each level.
    fn weight_columns(&self) -> impl Iterator<Item = String> {
        (0..self.target.level_count()).map(|level| format!("w{level}"))
    }

    /// The sequences that [`Search::values`] can weigh. A contraction without a weight begins no other
    /// one that has a weight.
    fn weighable(&self, sequences: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let is_weighed_here = matches!(self.target.levels, Levels::Separated(_));
        let has_weight = |sequence: &&Vec<u32>| {
            let mut text = Vec::new();
            sequence.iter().for_each(|&code| self.target.charset.push_char(code, &mut text));
            !is_weighed_here || self.known.level_weights(&text).is_ok()
        };
        sequences.iter().filter(has_weight).cloned().collect()
    }

    /// `a(i, s)`: numbers and texts of sequences; `a(i, s, w0, w1, ...)` if the server does not tell
    /// the weights level by level.
    fn values(&self, table: &str, sequences: &[Vec<u32>]) -> String {
        let Target { charset, levels, .. } = self.target;
        let has_weights = matches!(levels, Levels::Separated(_));
        let mut columns = vec!["i".to_owned(), "s".to_owned()];
        columns.extend(self.weight_columns().filter(|_| has_weights));
        let row = |(i, sequence): (usize, &Vec<u32>)| {
            let mut text = Vec::new();
            sequence.iter().for_each(|&code| charset.push_char(code, &mut text));
            let mut fields = vec![i.to_string(), self.target.literal(&text)];
            if has_weights {
                let weights = self.known.level_weights(&text).unwrap_or_default();
                fields.extend(weights.iter().map(|weight| hex_literal(weight)));
            }
            format!("{}({})", self.row_word, fields.join(","))
        };
        let rows: Vec<_> = sequences.iter().enumerate().map(row).collect();
        format!("{table}({}) AS (VALUES {})", columns.join(","), rows.join(","))
    }

    /// A table of [`Search::values`] and its weights.
    ///
    /// The limit makes the server weigh each part once, not once for each pair.
    fn weighed(&self, table: &str, of: &str) -> String {
        let weights = match self.target.levels {
            Levels::Separated(_) => self.weight_columns().collect(),
            _ => {
                let weights = self.target.weights(&format!("s COLLATE {}", self.target.name));
                let named = |(weight, name)| format!("{weight} AS {name}");
                weights.into_iter().zip(self.weight_columns()).map(named).collect::<Vec<_>>()
            }
        };
        format!(
            "{table} AS (SELECT i, s, {} FROM {of} LIMIT 18446744073709551615)",
            weights.join(",")
        )
    }

    /// Arguments of CONCAT: the weight of `a` and `b` if each weighs as by itself.
    fn weight_in_a_row(&self) -> String {
        let separator = match self.target.levels {
            Levels::Separated(_) => ", x'0000', ",
            _ => ", ",
        };
        let of_level = |name| format!("a.{name}, b.{name}");
        self.weight_columns().map(of_level).collect::<Vec<_>>().join(separator)
    }
}

/// Each character as a sequence of its own.
fn singles(characters: Vec<Character>) -> Vec<Vec<u32>> {
    characters.into_iter().map(|character| vec![character.code]).collect()
}
