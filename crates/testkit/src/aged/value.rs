//! Values of a column of an aged table, as a history and new rows have them.

use crate::Random;

/// Where among the rows that are there a new one goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Anywhere between them.
    Among,
    /// Behind them all, in the order of every key.
    Behind,
}

/// The values of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    /// The number of the row, by which statements pick some of them.
    Serial,
    /// An AUTO_INCREMENT number that the server gives.
    Numbered,
    /// Integers below this one.
    Number(usize),
    /// The same, and NULL.
    NumberOrNull(usize),
    /// Words of as many letters at most, whose case and accents mean little to a collation.
    Word(usize),
    /// The same, and NULL.
    WordOrNull(usize),
    /// Texts that now and then are longer than fit a page.
    Long,
}

const LETTERS: [&str; 16] =
    ["a", "A", "b", "B", "e", "E", "\u{e9}", "n", "\u{f1}", "o", "\u{d6}", "s", "t", "u", "u", "z"];
/// One in so many is NULL, or long.
const RARE: usize = 8;
/// Lengths of long texts, at which they leave their page, and come to two.
const LONG: [usize; 5] = [700, 3_000, 9_000, 17_000, 40_000];

impl Values {
    /// A value in the row of number `serial`; None for NULL.
    pub(crate) fn value(self, random: &mut Random, place: Place, serial: usize) -> Option<String> {
        let number = |random: &mut Random, below: usize| {
            let number = random.below(below);
            (number + if place == Place::Behind { below } else { 0 }).to_string()
        };
        let word = |random: &mut Random, most: usize| {
            let length = random.between(1, most.saturating_sub(2).max(1));
            let head = if place == Place::Behind { "zz" } else { "" };
            head.chars()
                .map(String::from)
                .chain((0..length).map(|_| random.pick(&LETTERS).to_owned()))
                .collect::<String>()
        };
        match self {
            Values::Serial => Some(serial.to_string()),
            Values::Numbered => None,
            Values::NumberOrNull(_) | Values::WordOrNull(_) if random.chance(RARE) => None,
            Values::Number(below) | Values::NumberOrNull(below) => Some(number(random, below)),
            Values::Word(most) | Values::WordOrNull(most) => Some(word(random, most)),
            Values::Long if random.chance(RARE) => {
                let unit = word(random, 12);
                Some(unit.repeat(random.pick(&LONG) / unit.len() + 1))
            }
            Values::Long => Some(word(random, 60)),
        }
    }

    /// True if an UPDATE may give every picked row the same value.
    pub(crate) fn may_change(self) -> bool {
        !matches!(self, Values::Serial | Values::Numbered)
    }

    /// True if it can be counted up.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Values::Number(_) | Values::NumberOrNull(_))
    }
}
