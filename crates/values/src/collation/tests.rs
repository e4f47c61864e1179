//! A small invented collation with every oddity, and the laws that keys and comparison obey.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;

/// 2-byte units, or 1-byte ones with `unit_bytes` 1: letters without case, tab and newline below
/// the space, no-break space equal to it, U+00AD ignorable, U+00E6 as "ae", U+00E7 "a ", and
/// contractions ch, dz, dzs, and xyz (weight unknown) of "x" + "y" + "z".
pub(crate) fn invented(charset: Charset, pad_space: bool, unit_bytes: u8) -> CollationData {
    let weight = |units: &[u8]| -> Vec<u8> {
        let wide = |&unit: &u8| [[3, unit][2 - usize::from(unit_bytes)..].to_vec()].concat();
        units.iter().flat_map(wide).collect()
    };
    let mut weights = WeightsBuilder::new(unit_bytes);
    for code in 0..0x100_u32 {
        let byte = code as u8;
        let units: &[u8] = match byte {
            0xa0 => &[0x20],
            0xad => &[],
            0xe6 => b"AE",
            0xe7 => b"A ",
            _ => &[byte.to_ascii_uppercase()],
        };
        weights.push(code, &weight(units)).unwrap();
    }
    let sequence = |text: &str| text.chars().map(u32::from).collect();
    let known = |text, units| Contraction { chars: sequence(text), weight: Some(weight(units)) };
    let mut contractions = vec![known("ch", b"I"), known("dz", b"F\x01"), known("dzs", b"F ")];
    contractions.push(Contraction { chars: sequence("xyz"), weight: None });
    CollationData {
        name: "invented_ci".into(),
        server_version: "0".into(),
        charset,
        pad_space,
        pad_unit: None,
        trims_char: false,
        lower_levels: Vec::new(),
        weights: weights.finish(),
        contractions,
        verdict: Verdict::Untested,
    }
}

/// A second level where capitals come after small letters, and all else weighs as the space.
fn two_levels(pad_space: bool) -> Collation {
    let mut data = invented(Charset::Utf8mb4, pad_space, 2);
    let mut weights = WeightsBuilder::new(2);
    for code in 0..0x100_u32 {
        let capital = u8::from(code as u8 as char >= 'A' && (code as u8) <= b'Z');
        weights.push(code, &[3, 2 + capital]).unwrap();
    }
    let contractions = data.contractions.iter().map(|contraction| Contraction {
        weight: contraction.weight.as_ref().map(|_| vec![3, 2]),
        ..contraction.clone()
    });
    let level = Level { weights: weights.finish(), contractions: contractions.collect() };
    data.lower_levels = vec![level];
    Collation::learned(data).unwrap()
}

fn key(collation: &Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.push_key(text, &mut key).unwrap();
    key
}

/// All collations of the laws below.
fn collations() -> Vec<Collation> {
    let mut all = Vec::new();
    for pad_space in [true, false] {
        all.push(Collation::bytewise(Charset::Utf8mb4, pad_space));
        all.push(Collation::learned(invented(Charset::Utf8mb4, pad_space, 2)).unwrap());
        all.push(Collation::learned(invented(Charset::Latin1, pad_space, 1)).unwrap());
        all.push(Collation::learned(invented(Charset::Utf8mb4, pad_space, 1)).unwrap());
        for wide in [Charset::Ucs2, Charset::Utf16, Charset::Utf16le, Charset::Utf32] {
            all.push(Collation::bytewise(wide, pad_space));
            all.push(Collation::learned(invented(wide, pad_space, 2)).unwrap());
        }
        all.push(two_levels(pad_space));
    }
    all
}

#[test]
fn what_is_below_the_space_sorts_before_the_end() {
    let is_tried = |collation: &&Collation| {
        collation.is_pad_space() && collation.charset().char_bytes_min() == 1
    };
    for collation in collations().iter().filter(is_tried) {
        // Strings in one group are equal.
        let ascending: [&[&[u8]]; 5] =
            [&[b"a\t", b"a\t "], &[b"a \t"], &[b"a", b"a ", b"a  "], &[b"a  !"], &[b"a !"]];
        for (i, a) in ascending.iter().enumerate().flat_map(|(i, g)| g.iter().map(move |a| (i, a)))
        {
            for (j, b) in
                ascending.iter().enumerate().flat_map(|(j, g)| g.iter().map(move |b| (j, b)))
            {
                let name = collation.name();
                assert_eq!(collation.compare(a, b), i.cmp(&j), "{name} {a:?} {b:?}");
                assert_eq!(
                    key(collation, a).cmp(&key(collation, b)),
                    i.cmp(&j),
                    "{name} {a:?} {b:?}"
                );
            }
        }
    }
}

#[test]
fn among_equal_trimmed_values_more_units_are_more_spaces() {
    let collation = Collation::learned(invented(Charset::Utf8mb4, false, 2)).unwrap();
    let ascending = ["a\u{ad}e", "ae", "\u{e6}"];
    for pair in ascending.windows(2) {
        let (a, b) = (pair[0].as_bytes(), pair[1].as_bytes());
        assert_eq!(collation.compare_trimmed(a, b), Ordering::Less);
    }
    let ignorable_last = "ae\u{ad}".as_bytes();
    let refused = collation.push_trimmed_key(ignorable_last, &mut Vec::new());
    assert_eq!(refused, Err(Reason::NoSortWeight));
}

#[test]
fn a_pad_space_key_is_as_the_picture_says() {
    let collation = Collation::bytewise(Charset::Latin1, true);
    assert_eq!(key(&collation, b""), b" \x01");
    assert_eq!(key(&collation, b"a  "), b"a \x01");
    assert_eq!(key(&collation, b"a  b \t"), b"a \x02 \x02b \x00\t \x01");
    let collation = Collation::bytewise(Charset::Latin1, false);
    assert_eq!(key(&collation, b"a\0 "), b"a\0\x01 \0\0");
    let collation = Collation::learned(invented(Charset::Utf8mb4, false, 2)).unwrap();
    assert_eq!(key(&collation, b"a "), b"\x03A\x03 \0\0");
}

#[test]
fn a_lower_level_decides_only_among_equals() {
    let collation = two_levels(true);
    let ascending = ["a", "A", "ab", "aB", "Ab", "b"];
    for pair in ascending.windows(2) {
        let (a, b) = (pair[0].as_bytes(), pair[1].as_bytes());
        assert_eq!(collation.compare(a, b), Ordering::Less, "{pair:?}");
        assert!(key(&collation, a) < key(&collation, b), "{pair:?}");
    }
    assert_eq!(key(&collation, b"A"), key(&collation, b"A "));
}

#[test]
fn a_pad_unit_of_its_own_tells_spaces_apart() {
    let data = CollationData { pad_unit: Some(0x21), ..invented(Charset::Latin1, true, 1) };
    let collation = Collation::learned(data).unwrap();
    assert!(key(&collation, b"a ") < key(&collation, b"a"));
    assert_eq!(key(&collation, b"a!"), key(&collation, b"a"));
    assert_eq!(collation.compare(b"a ", b"a"), Ordering::Less);
}

#[test]
fn code_points_order_what_bytes_would_not() {
    for charset in [Charset::Utf16, Charset::Utf16le] {
        let collation = Collation::bytewise(charset, true);
        let [low, high] = ["\u{e000}", "\u{10000}"].map(|text| encode(text, charset));
        assert_eq!(collation.compare(&low, &high), Ordering::Less);
        assert!(key(&collation, &low) < key(&collation, &high));
    }
}

#[test]
fn contractions_take_the_longest_sequence() {
    let collation = Collation::learned(invented(Charset::Utf8mb4, true, 2)).unwrap();
    for (text, like) in
        [("ch", "i"), ("cch", "ci"), ("dzh", "f\u{1}h"), ("dzs.", "f ."), ("c", "C")]
    {
        let (text, like) = (text.as_bytes(), like.as_bytes());
        assert_eq!(key(&collation, text), key(&collation, like));
        assert_eq!(collation.compare(text, like), Ordering::Equal);
    }
    assert_eq!(collation.push_key(b"axyzb", &mut Vec::new()), Err(Reason::NoSortWeight));
}

#[test]
fn malformed_text_has_no_key() {
    let collation = Collation::learned(invented(Charset::Utf8mb4, true, 2)).unwrap();
    let refused = Err(Reason::InvalidCharacter { offset: 2 });
    assert_eq!(collation.push_key(b"ab\xffc", &mut Vec::new()), refused);
    // U+0100 is well-formed, but the collation does not know it.
    assert_eq!(collation.push_key(b"ab\xc4\x80", &mut Vec::new()), refused);
}

#[test]
fn built_in_collations_are_known_by_name() {
    for (name, pad_space) in [("binary", false), ("latin1_bin", true), ("utf8mb4_nopad_bin", false)]
    {
        let charset = Charset::of_collation(name).unwrap();
        let collation = Collation::built_in(name, charset).unwrap();
        assert_eq!((collation.name(), collation.is_pad_space()), (name, pad_space));
    }
    assert!(Collation::built_in("utf8mb4_general_ci", Charset::Utf8mb4).is_none());
    assert!(Charset::of_collation("koi8r_bin").is_none());
}

/// Text of few different characters, so that near-equal pairs are common.
fn text() -> impl Strategy<Value = String> {
    let characters: Vec<char> = "aAbchdzsZ \t\0!\u{a0}\u{ad}\u{e6}\u{e7}".chars().collect();
    proptest::collection::vec(prop::sample::select(characters), 0..40)
        .prop_map(|characters| characters.into_iter().collect())
}

/// As `text`, the second often a copy of the first with a different tail.
fn pair() -> impl Strategy<Value = (String, String)> {
    (text(), text(), 0_usize..40, any::<bool>()).prop_map(|(a, b, keep, related)| {
        let b = if related { a.chars().take(keep).chain(b.chars()).collect() } else { b };
        (a, b)
    })
}

fn encode(text: &str, charset: Charset) -> Vec<u8> {
    match charset {
        Charset::Latin1 => text.chars().map(|character| character as u8).collect(),
        _ => {
            let mut bytes = Vec::new();
            text.chars().for_each(|c| assert!(charset.push_unicode(c.into(), &mut bytes)));
            bytes
        }
    }
}

/// Units as the definition says, space by space to a length no string reaches.
fn slow_compare(collation: &Collation, a: &[u8], b: &[u8]) -> Ordering {
    let spaces = collation.charset().space().repeat(200);
    let pad = |text: &[u8]| [text, &spaces].concat();
    match collation.is_pad_space() {
        // Ignorable characters make the padded strings end apart: cut where both still pad.
        true => {
            if let Order::Levels(levels) = &collation.order {
                // Each level is padded on its own.
                let alone = |level: &learned::Learned| Collation {
                    name: String::new(),
                    order: Order::Learned(Box::new(level.clone())),
                    trims_char: false,
                };
                return levels
                    .iter()
                    .map(alone)
                    .fold(Ordering::Equal, |order, level| order.then_with(|| level.compare(a, b)));
            }
            let no_pad = no_pad_twin(collation);
            let (a, b) = (key(&no_pad, &pad(a)), key(&no_pad, &pad(b)));
            let compared = 100.min(a.len()).min(b.len());
            a[..compared].cmp(&b[..compared])
        }
        false => key(collation, a).cmp(&key(collation, b)),
    }
}

fn no_pad_twin(collation: &Collation) -> Collation {
    match &collation.order {
        Order::Bytes { charset, .. } | Order::CodePoints { charset, .. } => {
            Collation::bytewise(*charset, false)
        }
        Order::Levels(_) => unreachable!("levels are compared one by one"),
        Order::Learned(learned) => {
            let units = learned.unit_bytes() as u8;
            Collation::learned(invented(learned.charset, false, units)).unwrap()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn keys_compare_as_the_strings((a, b) in pair()) {
        for collation in collations() {
            let (a, b) = (encode(&a, collation.charset()), encode(&b, collation.charset()));
            let (key_a, key_b) = (key(&collation, &a), key(&collation, &b));
            prop_assert_eq!(key_a.cmp(&key_b), collation.compare(&a, &b), "{}", collation.name());
            let a_begins_b = key_a != key_b && key_b.starts_with(&key_a);
            prop_assert!(!a_begins_b, "{}", collation.name());
            let in_a_row = [&key_a[..], &key_b].concat();
            prop_assert_eq!(collation.key_bytes(&in_a_row, false), key_a.len());
            if a.len().max(b.len()) < 25 {
                prop_assert_eq!(key_a.cmp(&key_b), slow_compare(&collation, &a, &b));
            }
        }
    }

    #[test]
    fn trimmed_keys_compare_as_the_strings((a, b) in pair()) {
        for collation in collations() {
            let (a, b) = (encode(&a, collation.charset()), encode(&b, collation.charset()));
            let trimmed_key = |text: &[u8]| {
                let mut key = Vec::new();
                collation.push_trimmed_key(text, &mut key).map(|()| key)
            };
            // An ignorable character at the end has no order in NO PAD collations.
            let (Ok(key_a), Ok(key_b)) = (trimmed_key(&a), trimmed_key(&b)) else { continue };
            prop_assert_eq!(key_a.cmp(&key_b), collation.compare_trimmed(&a, &b));
            prop_assert!(key_a == key_b || !key_b.starts_with(&key_a));
            let in_a_row = [&key_a[..], &key_b].concat();
            prop_assert_eq!(collation.key_bytes(&in_a_row, true), key_a.len());
            // It does not matter how many spaces were trimmed.
            prop_assert_eq!(trimmed_key(&[&a[..], &collation.charset().space().repeat(2)].concat()), Ok(key_a));
        }
    }
}

#[test]
fn a_char_of_mysql_compares_without_its_spaces() {
    for collation in [
        Collation::learned(invented(Charset::Utf8mb4, false, 2)).unwrap(),
        Collation::built_in("utf8mb4_0900_bin", Charset::Utf8mb4).unwrap(),
        two_levels(false),
    ] {
        let (mariadb, mysql) = (collation.clone(), collation.of_mysql());
        let order = |collation: &Collation, b: &[u8]| {
            let key = |text: &[u8]| {
                let mut key = Vec::new();
                collation.push_trimmed_key(text, &mut key).map(|()| key).ok()
            };
            let order = collation.compare_trimmed(b"a ", b);
            let by_key = key(b"a ").zip(key(b)).map(|(a, b)| a.cmp(&b));
            assert!(by_key.is_none_or(|by_key| by_key == order), "{b:?}");
            order
        };
        assert_eq!(order(&mysql, b"a"), Ordering::Equal);
        assert_eq!(order(&mysql, b"a!"), Ordering::Less);
        // Without padding a beginning comes before its continuation.
        assert_eq!(order(&mysql, b"a\t"), Ordering::Less);
        assert_eq!(order(&mariadb, b"a\t"), Ordering::Greater);
        assert_eq!(mysql.compare(b"a ", b"a"), Ordering::Greater);
    }
    let padded = Collation::bytewise(Charset::Utf8mb4, true).of_mysql();
    assert_eq!(padded.compare_trimmed(b"a", b"a\t"), Ordering::Greater);
}
