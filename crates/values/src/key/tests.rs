#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use crate::charset::Charset;
use crate::collation::tests::invented;
use crate::sql_type::TextType;

fn text_type(charset: Charset) -> TextType {
    TextType { charset, collation: String::new() }
}

fn push(part: &KeyPart, stored: Option<&[u8]>) -> Vec<u8> {
    let mut key = Vec::new();
    part.push(stored, &mut key).unwrap();
    key
}

#[test]
fn zeros_of_both_signs_are_equal_and_reals_ascend() {
    let part = KeyPart::new(&SqlType::Double { unsigned: false, digits: None }, None, false, false);
    let key = |value: f64| push(&part, Some(&value.to_le_bytes()));
    assert_eq!(key(0.0), key(-0.0));
    let ascending = [f64::MIN, -1.5, -1e-308, -5e-324, 0.0, 5e-324, 1e-300, 1.0, 1.5, f64::MAX];
    assert!(ascending.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
    let part = KeyPart::new(&SqlType::Float { unsigned: false, digits: None }, None, false, false);
    let key = |value: f32| push(&part, Some(&value.to_le_bytes()));
    assert_eq!(key(0.0), key(-0.0));
    let ascending = [f32::MIN, -1.5, -1e-45, 0.0, 1e-45, 1.0, 1.5, f32::MAX];
    assert!(ascending.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
}

#[test]
fn a_null_keeps_the_constant_length() {
    let types = [
        (SqlType::Integer { bytes: 4, unsigned: false }, 4),
        (SqlType::Decimal { precision: 15, scale: 2, unsigned: false }, 7),
        (SqlType::Decimal { precision: 65, scale: 30, unsigned: false }, 30),
        (SqlType::Date, 3),
        (SqlType::DateTime { digits: 3 }, 7),
        (SqlType::Timestamp { digits: 6 }, 7),
        (SqlType::Time { digits: 1 }, 4),
        (SqlType::Bit { bits: 9 }, 2),
        (SqlType::Enum { labels: vec![String::new(); 256], text: text_type(Charset::Ascii) }, 2),
        (SqlType::Set { labels: vec![String::new(); 33], text: text_type(Charset::Ascii) }, 8),
        (SqlType::Float { unsigned: false, digits: None }, 4),
    ];
    for (sql_type, width) in types {
        for descending in [false, true] {
            let part = KeyPart::new(&sql_type, None, true, descending);
            assert_eq!(part.fixed_len(None), Some(1 + width), "{sql_type:?}");
            let (null, value) = (push(&part, None), push(&part, Some(&vec![0; width])));
            assert_eq!((null.len(), value.len()), (1 + width, 1 + width));
            assert_eq!(null < value, !descending);
        }
    }
}

#[test]
fn char_of_a_no_pad_collation_sees_its_trimmed_spaces() {
    let collation = Arc::new(Collation::bytewise(Charset::Utf8mb4, false));
    let text = text_type(Charset::Utf8mb4);
    let part = |sql_type| KeyPart::new(&sql_type, Some(collation.clone()), false, false);
    let char = part(SqlType::Char { chars: 3, text: text.clone() });
    // CHAR(3): "\u{e4}" is stored as 3 bytes, "\u{e4} " could be longer in bytes; both are 3 characters.
    let (short, long) = ("\u{e4} ".as_bytes(), "\u{e4}  ".as_bytes());
    assert_eq!(push(&char, Some(short)), push(&char, Some(long)));
    assert_eq!(char.compare(Some(short), Some(long)), Ordering::Equal);
    let varchar = part(SqlType::VarChar { chars: 3, text });
    assert!(push(&varchar, Some(short)) < push(&varchar, Some(long)));
}

#[test]
fn a_refused_value_leaves_no_key() {
    let collation = Collation::learned(invented(Charset::Utf8mb4, true, 2)).unwrap();
    let sql_type = SqlType::VarChar { chars: 9, text: text_type(Charset::Utf8mb4) };
    let part = KeyPart::new(&sql_type, Some(Arc::new(collation)), true, true);
    let mut key = b"before".to_vec();
    assert!(part.push(Some(b"a\xff"), &mut key).is_err());
    assert_eq!(key, b"before");
}

/// A part and how its stored values are drawn.
fn parts() -> Vec<KeyPart> {
    let learned = |charset, pad_space, units| {
        Arc::new(Collation::learned(invented(charset, pad_space, units)).unwrap())
    };
    let varchar = |charset| SqlType::VarChar { chars: 40, text: text_type(charset) };
    let char = |charset| SqlType::Char { chars: 12, text: text_type(charset) };
    let double = SqlType::Double { unsigned: false, digits: None };
    let mut parts = Vec::new();
    let of_mysql = |collation: &Collation| Some(Arc::new(collation.clone().of_mysql()));
    for (nullable, descending) in [(false, false), (false, true), (true, false), (true, true)] {
        let part =
            |sql_type: &SqlType, collation| KeyPart::new(sql_type, collation, nullable, descending);
        parts.push(part(&SqlType::Integer { bytes: 2, unsigned: true }, None));
        parts.push(part(&SqlType::VarBinary { bytes: 40 }, None));
        parts.push(part(&double, None));
        for pad_space in [true, false] {
            let collation = Some(learned(Charset::Latin1, pad_space, 1));
            parts.push(part(&varchar(Charset::Latin1), collation));
            let collation = learned(Charset::Utf8mb4, pad_space, 2);
            parts.push(part(&varchar(Charset::Utf8mb4), Some(collation.clone())));
            parts.push(part(&char(Charset::Utf8mb4), of_mysql(&collation)));
            parts.push(part(&char(Charset::Utf8mb4), Some(collation)));
            let collation = Arc::new(Collation::bytewise(Charset::Utf8mb4, pad_space));
            parts.push(part(&char(Charset::Utf8mb4), of_mysql(&collation)));
            parts.push(part(&varchar(Charset::Utf8mb4), Some(collation)));
        }
    }
    parts
}

/// Bytes to a stored value of the part, NULL now and then.
fn stored(part: &KeyPart, seed: &[u8]) -> Option<Vec<u8>> {
    if part.nullable && seed.first().is_some_and(|byte| byte % 5 == 0) {
        return None;
    }
    let sized =
        |width: usize| seed.iter().copied().chain(std::iter::repeat(0)).take(width).collect();
    Some(match &part.kind {
        KeyKind::Bytes => sized(2),
        KeyKind::VarBytes => seed.iter().map(|byte| byte % 3).collect(),
        KeyKind::Float => sized(4),
        KeyKind::Double => {
            (f64::from(seed.first().copied().unwrap_or(0)) - 2.0).to_le_bytes().into()
        }
        KeyKind::Text(collation) => {
            let alphabet: Vec<char> = "aAbch \t!\u{a0}\u{ad}\u{e6}".chars().collect();
            let characters = seed.iter().map(|byte| alphabet[usize::from(*byte) % alphabet.len()]);
            match collation.charset() {
                Charset::Latin1 => characters.map(|character| character as u8).collect(),
                // Those may have no order in CHAR.
                _ if part.trimmed => {
                    characters.filter(|c| !"\t\u{ad}".contains(*c)).collect::<String>().into_bytes()
                }
                _ => characters.collect::<String>().into_bytes(),
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn composite_keys_compare_column_by_column(
        picks in proptest::collection::vec(0_usize..60, 1..4),
        a in proptest::collection::vec(proptest::collection::vec(0_u8..22, 0..12), 4),
        b in proptest::collection::vec(proptest::collection::vec(0_u8..22, 0..12), 4),
        shared in 0_usize..4,
    ) {
        let all = parts();
        let (mut key_a, mut key_b) = (Vec::new(), Vec::new());
        let mut expected = Ordering::Equal;
        for (i, pick) in picks.iter().enumerate() {
            let part = &all[pick % all.len()];
            let value_a = stored(part, &a[i]);
            let value_b = if i < shared { value_a.clone() } else { stored(part, &b[i]) };
            let (value_a, value_b) = (value_a.as_deref(), value_b.as_deref());
            part.push(value_a, &mut key_a).unwrap();
            part.push(value_b, &mut key_b).unwrap();
            expected = expected.then(part.compare(value_a, value_b));
            let (alone_a, alone_b) = (push(part, value_a), push(part, value_b));
            if !part.descending {
                prop_assert_eq!(part.len_in(&[&alone_a[..], &alone_b].concat()), alone_a.len());
            }
            prop_assert!(alone_a == alone_b || !alone_b.starts_with(&alone_a));
        }
        prop_assert_eq!(key_a.cmp(&key_b), expected);
    }

    #[test]
    fn fixed_width_values_are_read_back(
        value in any::<[u8; 8]>(),
        nullable in any::<bool>(),
        descending in any::<bool>(),
        is_null in any::<bool>(),
    ) {
        let part =
            KeyPart::new(&SqlType::Integer { bytes: 8, unsigned: true }, None, nullable, descending);
        let is_null = is_null && nullable;
        let mut key = push(&part, (!is_null).then_some(&value));
        key.extend_from_slice(b"next part");
        let mut out = Vec::new();
        prop_assert_eq!(part.read_back(&key, 8, &mut out), (8 + usize::from(nullable), is_null));
        prop_assert_eq!(out, if is_null { vec![] } else { value.to_vec() });
    }
}
