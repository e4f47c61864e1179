//! RFC 4180 as csv-core reads it, another implementation.

use csv_core::{ReadRecordResult, Reader};
use proptest::collection::vec;
use proptest::prelude::*;
use sources::{Dialect, Isa};

use crate::support::scan;

/// The records csv-core finds, which drops empty lines.
fn csv_core(input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut reader = Reader::new();
    let mut rest = input;
    let (mut bytes, mut ends) = (vec![0; 1 << 16], vec![0; 1 << 12]);
    let mut records = Vec::new();
    let (mut written, mut fields) = (0, 0);
    loop {
        let (result, read, bytes_out, ends_out) =
            reader.read_record(rest, &mut bytes[written..], &mut ends[fields..]);
        rest = &rest[read..];
        written += bytes_out;
        fields += ends_out;
        match result {
            ReadRecordResult::Record => {
                let mut start = 0;
                let mut record = Vec::new();
                for &end in &ends[..fields] {
                    record.push(bytes[start..end].to_vec());
                    start = end;
                }
                records.push(record);
                (written, fields) = (0, 0);
            }
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::End => return records,
            full => panic!("buffers are large enough: {full:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn records_are_those_of_csv_core(
        rows in vec(vec((".{0,8}|[,\"\r\n ]{0,6}", any::<bool>()), 1..7), 0..30),
        crlf in any::<bool>(),
        last_end in any::<bool>(),
    ) {
        let line_end = if crlf { "\r\n" } else { "\n" };
        let mut input = String::new();
        let mut expected = Vec::new();
        for row in &rows {
            let mut texts = Vec::new();
            for (text, quote) in row {
                let text = &text.replace('\u{feff}', ""); // csv-core drops it from the start
                let needs_quotes = *quote || row.len() == 1 || text.contains(['"', ',', '\n', '\r']);
                texts.push(if needs_quotes {
                    format!("\"{}\"", text.replace('"', "\"\""))
                } else {
                    text.clone()
                });
            }
            input += &(texts.join(",") + line_end);
            expected.push(row.iter().map(|(text, _)| text.replace('\u{feff}', "").into_bytes()).collect::<Vec<_>>());
        }
        if !last_end {
            input.truncate(input.len().saturating_sub(line_end.len()));
        }
        for isa in Isa::available() {
            let seen: Vec<Vec<_>> = scan(&Dialect::csv(), input.as_bytes(), isa)
                .into_iter()
                .map(|row| row.into_iter().map(|value| value.unwrap_or(b"NULL".to_vec())).collect())
                .collect();
            prop_assert_eq!(&seen, &expected);
        }
        prop_assert_eq!(csv_core(input.as_bytes()), expected);
    }
}
