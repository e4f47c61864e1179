//! Strings that collations and parsers find hard, within what two character sets can say.

use values::Charset;

use crate::Random;

/// The style of a column's strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Few letters: many strings are equal, or differ in case and trailing spaces only.
    Letters,
    /// A common beginning and a number.
    Numbered,
    /// Everything at once.
    Nasty,
}

const LETTERS: &[char] = &['a', 'b', 'A', 'B', ' ', 'c'];
/// Accents, sharp s and ligatures, which collations fold or expand.
const ACCENTS: &[char] = &[
    '\u{e9}', '\u{c9}', '\u{e8}', '\u{df}', '\u{fc}', '\u{dc}', 'y', '\u{fd}', '\u{f6}', '\u{e5}',
    '\u{c5}', '\u{e6}', '\u{f1}', '\u{153}', '\u{178}', '\u{20ac}', '\u{101}', '\u{416}',
    '\u{3b1}', '\u{3c2}', '\u{1e9e}', '\u{130}', '\u{131}', '\u{fb01}', '\u{4e2d}', '\u{ac00}',
    '\u{d7a3}', '\u{fdfa}',
];
/// Without weight, or nearly.
const IGNORABLE: &[char] = &['\u{ad}', '\u{301}', '\u{308}', '\u{200d}', '\u{feff}', '\u{61c}'];
/// Below the space, the space, and what looks like one.
const LOW: &[char] = &['\0', '\u{1}', '\t', '\n', '\r', '\u{1a}', '\u{1f}', ' ', ' ', '\u{a0}'];
const SUPPLEMENTARY: &[char] = &[
    '\u{1f600}',
    '\u{1d49c}',
    '\u{10000}',
    '\u{10ffff}',
    '\u{fffd}',
    '\u{ffff}',
    '\u{20000}',
    '\u{1e921}',
    '\u{e0001}',
];
/// For dialects: quotes, separators, escapes, and the word for NULL.
const SYNTAX: &[&str] = &["\"", "'", "\\", "|", ",", ";", "\\N", "NULL", "\\n", "\"\"", "\t"];
/// First characters of contractions of uca1400 with what may follow.
const CONTRACTIONS: &[&str] = &[
    "l\u{b7}",
    "L\u{b7}",
    "\u{438}\u{306}",
    "\u{418}\u{306}",
    "\u{e40}\u{e01}",
    "\u{627}\u{653}",
    "\u{fb2}\u{f71}\u{f80}",
    "\u{1025}\u{102e}",
    "\u{19b5}\u{1980}",
    "\u{9c7}\u{9be}",
    "\u{11131}\u{11127}",
    "\u{ec0}\u{e81}",
    "lj",
    "ch",
    "\u{e40}",
    "\u{306}",
];

impl Style {
    pub(crate) fn random(random: &mut Random) -> Style {
        random.pick(&[Style::Letters, Style::Numbered, Style::Nasty, Style::Nasty])
    }

    /// A string of at most `chars_max` characters that `allowed` all can say.
    pub(crate) fn string(
        self,
        random: &mut Random,
        chars_max: usize,
        spread: usize,
        allowed: &[Charset],
    ) -> String {
        let mut text = String::new();
        match self {
            Style::Letters => {
                let count = random.below(2 + spread.ilog2() as usize);
                text.extend((0..count).map(|_| random.pick(LETTERS)));
            }
            Style::Numbered => {
                text = format!("Customer#{:07}", random.below(spread));
                if random.chance(20) {
                    text.push_str(random.pick(&[" ", "  ", "\u{e9}", "\t"]));
                }
            }
            Style::Nasty => {
                let pieces = random.pick(&[0, 1, 2, 3, 5, 8, 8]);
                (0..pieces).for_each(|_| piece(random, &mut text));
            }
        }
        if random.chance(40) {
            let repeat = random.below(chars_max.min(300) + 1);
            text = text.repeat(1 + repeat / (1 + text.len()));
        }
        text.chars().filter(|&c| allowed.iter().all(|&set| has(set, c))).take(chars_max).collect()
    }
}

fn piece(random: &mut Random, text: &mut String) {
    match random.below(12) {
        0..=3 => text.push(random.pick(LETTERS)),
        4..=6 => text.push(random.pick(ACCENTS)),
        7 => text.push(random.pick(IGNORABLE)),
        8 => text.push(random.pick(LOW)),
        9 => text.push(random.pick(SUPPLEMENTARY)),
        10 => text.push_str(random.pick(SYNTAX)),
        _ if random.chance(2) => text.push_str(random.pick(CONTRACTIONS)),
        _ => text.push_str(random.pick(&["  ", " a", "A ", "zz"])),
    }
}

/// True if a character set has a character.
pub(crate) fn has(charset: Charset, c: char) -> bool {
    match charset {
        Charset::Binary => true,
        // 0x81 and its like are in the server's latin1, but nothing here says them.
        Charset::Latin1 => latin1(c).is_some(),
        _ => charset.push_unicode(c.into(), &mut Vec::new()),
    }
}

/// The bytes of a string in a character set that has all its characters.
pub(crate) fn encode(charset: Charset, text: &str) -> Vec<u8> {
    match charset {
        Charset::Latin1 => text.chars().filter_map(latin1).collect(),
        Charset::Binary => text.as_bytes().to_vec(),
        _ => {
            let mut bytes = Vec::new();
            for c in text.chars() {
                charset.push_unicode(c.into(), &mut bytes);
            }
            bytes
        }
    }
}

/// As far as the strings above go: the server's latin1 is windows-1252.
fn latin1(c: char) -> Option<u8> {
    match c {
        '\0'..='\x7f' | '\u{a0}'..='\u{ff}' => u8::try_from(u32::from(c)).ok(),
        '\u{20ac}' => Some(0x80),
        '\u{153}' => Some(0x9c),
        '\u{178}' => Some(0x9f),
        _ => None,
    }
}
