//! Our order of random strings against the server's, before a collation is trusted.
//!
//! Two questions. Does `WEIGHT_STRING` of a string equal our weights of it? Does `STRCMP` of two
//! strings agree with our comparison and with memcmp of our keys? STRCMP calls the comparison that
//! InnoDB's indexes call (`strnncollsp`; ORDER BY sorts by `strnxfrm`, which pads otherwise in a
//! few collations). Strings that are neighbours in our order are compared, so agreement on all
//! neighbours is agreement on the whole order and on which strings are equal.

use std::cmp::Ordering;

use values::Charset;
use values::collation::{Collation, CollationData};

use super::Target;
use server::error::Result;
use server::identifier::hex;
use server::session::Session;

/// Random strings.
const STRINGS: usize = 6000;
/// Comparisons or weights asked for by one statement.
const ITEMS_PER_QUERY: usize = 1000;

/// None when server and we agree on everything, else the first difference in words. Weights are
/// compared only if ours are meant to be the server's byte by byte (`weighs_alike`).
pub(super) fn run(
    session: &mut Session,
    target: Target<'_>,
    collation: &Collation,
    data: &CollationData,
    weighs_alike: bool,
) -> Result<Option<String>> {
    let mut strings = Generator::new(target, collation, data).strings(STRINGS);
    for batch in strings.chunks(ITEMS_PER_QUERY).filter(|_| weighs_alike) {
        if let Some(why) = check_weights(session, target, collation, batch)? {
            return Ok(Some(why));
        }
    }
    // Twins of one length before sorting: pairs that share a beginning, and pairs that do not.
    let twins: Vec<_> = strings.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    strings.sort_by(|a, b| collation.compare(a, b));
    let neighbours = strings.windows(2).map(|pair| (pair[0].clone(), pair[1].clone()));
    let pairs: Vec<_> = neighbours.chain(twins).collect();
    for batch in pairs.chunks(ITEMS_PER_QUERY) {
        if let Some(why) = check_order(session, target, collation, batch)? {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

fn check_weights(
    session: &mut Session,
    target: Target<'_>,
    collation: &Collation,
    strings: &[Vec<u8>],
) -> Result<Option<String>> {
    let items = strings.iter().map(|text| format!("WEIGHT_STRING({})", target.literal(text)));
    let sql = format!("SELECT {}", items.collect::<Vec<_>>().join(","));
    let row = session.query_row(&sql)?;
    // Of these sets the server tells no more than 8 units a character.
    let is_wide = target.charset.char_bytes_min() > 1;
    for (i, text) in strings.iter().enumerate() {
        let ours = collation.level_weights(text).ok().map(|levels| target.whole(&levels));
        let cut = |server: &[u8]| match &ours {
            Some(ours) => is_wide && ours.starts_with(server),
            None => false,
        };
        if ours.as_deref() != row.bytes(i) && !row.bytes(i).is_some_and(cut) {
            let text = shown(text);
            return Ok(Some(format!(
                "the server weighs the string 0x{text} differently from Inrush"
            )));
        }
    }
    Ok(None)
}

fn check_order(
    session: &mut Session,
    target: Target<'_>,
    collation: &Collation,
    pairs: &[(Vec<u8>, Vec<u8>)],
) -> Result<Option<String>> {
    let item = |(a, b): &(Vec<u8>, Vec<u8>)| {
        format!("STRCMP({},{})", target.literal(a), target.literal(b))
    };
    let sql = format!("SELECT {}", pairs.iter().map(item).collect::<Vec<_>>().join(","));
    let row = session.query_row(&sql)?;
    let key = |text: &[u8]| {
        let mut key = Vec::new();
        collation.push_key(text, &mut key).ok().map(|()| key)
    };
    for (i, (a, b)) in pairs.iter().enumerate() {
        let server = row.number::<i32>(i)?.cmp(&0);
        let ours = [Some(collation.compare(a, b)), key(a).zip(key(b)).map(|(a, b)| a.cmp(&b))];
        if ours != [Some(server); 2] {
            let words = match server {
                Ordering::Less => "before",
                Ordering::Equal => "equal to",
                Ordering::Greater => "after",
            };
            let (a, b) = (shown(a), shown(b));
            return Ok(Some(format!("the server sorts 0x{a} {words} 0x{b}, but Inrush does not")));
        }
    }
    Ok(None)
}

/// Hexadecimal digits of the first bytes of `text`: it goes into a message.
fn shown(text: &[u8]) -> String {
    const BYTES_MAX: usize = 40;
    let more = if text.len() > BYTES_MAX { "..." } else { "" };
    hex(&text[..text.len().min(BYTES_MAX)]) + more
}

/// Draws strings that bring out what distinguishes collations.
struct Generator<'a> {
    target: Target<'a>,
    random: Random,
    /// Pieces by kind, each of one character or more; each kind is drawn equally often.
    kinds: Vec<Kind>,
}

/// Pieces of one kind.
enum Kind {
    Characters(Vec<u32>),
    Sequences(Vec<Vec<u32>>),
}

impl Kind {
    fn len(&self) -> usize {
        match self {
            Kind::Characters(codes) => codes.len(),
            Kind::Sequences(sequences) => sequences.len(),
        }
    }

    fn codes(&self, pick: usize) -> &[u32] {
        match self {
            Kind::Characters(codes) => &codes[pick..=pick],
            Kind::Sequences(sequences) => &sequences[pick],
        }
    }
}

impl<'a> Generator<'a> {
    fn new(target: Target<'a>, collation: &Collation, data: &CollationData) -> Self {
        let unit = data.weights.unit_bytes();
        let mut text = Vec::new();
        let is_unicode = target.charset.is_unicode();
        // Bytes of its weight. Nothing is what utf8mb3 and ucs2 have for U+10000.
        let mut weight_bytes = |code: u32| {
            text.clear();
            target.charset.push_char(code, &mut text);
            // A built-in order has weights for bytes that are no character, too.
            let is_character = target.charset.next_char(&text) == Some((code, text.len()))
                && !(is_unicode && char::from_u32(code).is_none());
            if !is_character {
                return None;
            }
            collation.weight_string(&text).ok().map(|weight| weight.len())
        };
        let codes: Box<dyn Iterator<Item = u32>> = match target.charset {
            Charset::Learned(table) => Box::new(table.data().characters.iter().map(|c| c.0)),
            charset if charset.is_single_byte() => Box::new(0..0x100),
            Charset::Utf8mb3 | Charset::Ucs2 => Box::new(0..0x1_0000),
            _ => Box::new(0..0x11_0000),
        };
        let (mut all, mut ignored) = (Vec::new(), Vec::new());
        let (mut expanded, mut expanded_more) = (Vec::new(), Vec::new());
        for code in codes {
            let Some(bytes) = weight_bytes(code) else { continue };
            all.push(code);
            for (codes, is_of) in [
                (&mut ignored, bytes == 0),
                (&mut expanded, bytes > unit),
                (&mut expanded_more, bytes > 2 * unit),
            ] {
                if is_of {
                    codes.push(code);
                }
            }
        }
        let mut range = |codes: std::ops::Range<u32>| {
            Kind::Characters(codes.filter(|&code| weight_bytes(code).is_some()).collect())
        };
        let letters = |letters: &str| Kind::Characters(letters.chars().map(u32::from).collect());
        let contractions = || data.contractions.iter().map(|contraction| &contraction.chars);
        let mut kinds = vec![
            letters("aAbB "),
            letters(" \t\x01! "),
            range(0x20..0x7f),
            range(0..0x80),
            range(0x80..0x250),
            range(0x300..0x370),
            range(0x250..0x3000),
            range(0x1_0000..0x1_2000),
            Kind::Characters(ignored),
            Kind::Characters(expanded),
            Kind::Characters(expanded_more),
            Kind::Sequences(contractions().cloned().collect()),
            Kind::Characters(contractions().flatten().copied().collect()),
            Kind::Characters(all),
        ];
        kinds.retain(|kind| kind.len() > 0);
        Generator { target, random: Random(0x9e37_79b9_7f4a_7c15), kinds }
    }

    /// `count` strings of 0 to 40 pieces; every third continues or varies the one before.
    fn strings(&mut self, count: usize) -> Vec<Vec<u8>> {
        let mut strings: Vec<Vec<u8>> = vec![Vec::new(), self.target.charset.space().to_vec()];
        while strings.len() < count {
            let mut text = match strings.last() {
                Some(last) if self.random.below(3) == 0 => {
                    let chars = self.random.below(12);
                    last[..self.target.charset.prefix_bytes(last, chars)].to_vec()
                }
                _ => Vec::new(),
            };
            // Few kinds in one string: near-equal strings are what is interesting.
            let kinds = [self.random.below(self.kinds.len()), self.random.below(self.kinds.len())];
            let pieces_max = if self.random.below(8) == 0 { 40 } else { 6 };
            let pieces = self.random.below(pieces_max);
            for _ in 0..pieces {
                let kind = kinds[self.random.below(2)];
                let pick = self.random.below(self.kinds[kind].len());
                let codes = self.kinds[kind].codes(pick).iter();
                codes.for_each(|&code| self.target.charset.push_char(code, &mut text));
            }
            let spaces = if self.random.below(3) == 0 { self.random.below(4) } else { 0 };
            text.extend(self.target.charset.space().repeat(spaces));
            strings.push(text);
        }
        strings
    }
}

/// Xorshift with a fixed seed: the same strings for every server, so that a verdict repeats.
struct Random(u64);

impl Random {
    /// A number less than `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}
