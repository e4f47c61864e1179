//! Random and adversarial input gives the same rows with all instructions, whole and in chunks.

use proptest::collection::vec;
use proptest::prelude::*;
use sources::{Dialect, Isa};

use crate::support::{dialects, read, scan};

/// Mostly bytes that mean something in some dialect, in pieces that make them meet.
pub(crate) fn nasty() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        10 => Just(&b","[..]),
        10 => Just(&b"\t"[..]),
        10 => Just(&b"|"[..]),
        10 => Just(&b"\n"[..]),
        5 => Just(&b"\r\n"[..]),
        3 => Just(&b"\r"[..]),
        10 => Just(&b"\""[..]),
        8 => Just(&b"\\"[..]),
        3 => Just(&b"\"\""[..]),
        3 => Just(&b",\""[..]),
        3 => Just(&b"\","[..]),
        2 => Just(&b"\"\n"[..]),
        2 => Just(&b"\\N"[..]),
        2 => Just(&b"NULL"[..]),
        1 => Just(&b",|"[..]),
        1 => Just(&b"|\n"[..]),
        1 => Just(&b"N|"[..]),
        3 => Just(&b"some longer text of a field"[..]),
        5 => Just(&b"x"[..]),
        1 => Just(&b"\0"[..]),
        1 => Just(&b"\xe2\x82\xac"[..]),
        1 => Just(&b"\xff"[..]),
    ];
    vec(token, 0..200).prop_map(|tokens| tokens.concat())
}

/// Well-formed fields of all lengths, quoted where needed or not, as usual files have them.
fn usual() -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        "[a-z0-9]{0,12}",
        "[a-z0-9]{0,12}",
        "\"[a-z, \n]{0,70}\"",
        "\"([a-z,\n\r]|\"\"){0,20}\"",
        r#"([a-z]|\\n|\\t|\\\\|\\"){0,20}"#,
    ];
    let separator = prop_oneof![Just(","), Just("\t"), Just("|")];
    let line_end = prop_oneof![3 => Just("\n"), 1 => Just("\r\n")];
    (vec(vec(field, 1..9), 0..20), separator, line_end).prop_map(|(rows, separator, line_end)| {
        rows.iter().map(|row| row.join(separator) + line_end).collect::<String>().into_bytes()
    })
}

fn agree(input: &[u8], chunk_bytes: usize) -> Result<(), TestCaseError> {
    for (name, dialect) in dialects() {
        let expected = scan(&dialect, input, Isa::available()[0]);
        for isa in Isa::available() {
            let seen = scan(&dialect, input, isa);
            prop_assert_eq!(&seen, &expected, "{}, {}", name, isa.name());
        }
        let isa = Isa::available()[chunk_bytes % Isa::available().len()];
        match read(&dialect, input, chunk_bytes, isa) {
            Ok(seen) => {
                prop_assert_eq!(&seen, &expected, "{}, chunks of {}", name, chunk_bytes);
            }
            Err(error) => {
                let at = error.position().and_then(|at| at.offset).map(|offset| offset as usize);
                prop_assert_eq!(at.map(|at| input[at]), dialect.enclosed_by, "{}", error);
            }
        }
    }
    Ok(())
}

/// Dialects of any special bytes, also of those that mean two things.
fn any_dialect() -> impl Strategy<Value = Dialect> {
    let separator = prop_oneof![
        Just(&b","[..]),
        Just(&b"\t"[..]),
        Just(&b"|"[..]),
        Just(&b"\""[..]),
        Just(&b"\0"[..]),
        Just(&b",|"[..]),
        Just(&b"\n"[..]),
    ];
    let terminator = prop_oneof![
        4 => Just(&b"\n"[..]),
        2 => Just(&b"\r\n"[..]),
        1 => Just(&b"|"[..]),
        1 => Just(&b"|\n"[..]),
        1 => Just(&b"\0"[..]),
    ];
    let quote = prop_oneof![Just(None), Just(Some(b'"')), Just(Some(b'|')), Just(Some(b'\\'))];
    let escape = prop_oneof![Just(None), Just(Some(b'\\')), Just(Some(b'"')), Just(Some(b','))];
    let token = prop_oneof![
        Just(vec![]),
        Just(vec![b"".to_vec()]),
        Just(vec![b"x".to_vec(), b"".to_vec()])
    ];
    (separator, terminator, quote, escape, token, any::<bool>(), any::<bool>())
        .prop_map(|(separator, terminator, enclosed_by, escaped_by, null_tokens, any, trailing)| {
            Dialect {
                fields_terminated_by: separator.to_vec(),
                lines_terminated_by: terminator.to_vec(),
                enclosed_by,
                escaped_by,
                null_tokens,
                null_in_quotes: trailing != any,
                any_newline: any && terminator == b"\n",
                trailing_separator: trailing,
                ..Dialect::mysql()
            }
        })
        .prop_filter("contradicts itself", |dialect| {
            dialect.check().is_ok() && !dialect.needs_fields()
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nasty_input_is_read_alike_by_all(input in nasty(), chunk_bytes in 1usize..400) {
        agree(&input, chunk_bytes)?;
    }

    #[test]
    fn any_dialect_is_read_alike_by_all(
        dialect in any_dialect(),
        input in nasty(),
        chunk_bytes in 1usize..400,
    ) {
        let expected = scan(&dialect, &input, Isa::available()[0]);
        for isa in Isa::available() {
            let seen = scan(&dialect, &input, isa);
            prop_assert_eq!(&seen, &expected, "{:?}, {}", dialect, isa.name());
            if let Ok(seen) = read(&dialect, &input, chunk_bytes, isa) {
                prop_assert_eq!(&seen, &expected, "{:?}, chunks of {}", dialect, chunk_bytes);
            }
        }
    }

    #[test]
    fn usual_input_is_read_alike_by_all(input in usual(), chunk_bytes in 1usize..400) {
        agree(&input, chunk_bytes)?;
    }
}
