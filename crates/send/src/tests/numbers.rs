//! AUTO_INCREMENT values are those of one LOAD DATA of the good rows.

use locks::Mutex;

use super::{Bench, Ready, Row, row};
use crate::sent_chunk::{Form, SentChunk};

/// Values that are given and values that are not, and rows that are refused.
fn rows() -> Vec<Row> {
    let one = |number: usize| {
        let id = match number {
            7 => "20",
            8 => "abc",
            9 | 30 => "NULL",
            11 => "-3",
            40 => "60",
            41 => "50",
            _ => "0",
        };
        let v = if number % 13 == 5 { "x".to_owned() } else { number.to_string() };
        row(&[id, &v])
    };
    (0..100).map(one).collect()
}

/// Encodes all chunks; their texts in order.
fn texts(ready: &Ready) -> Vec<Vec<u8>> {
    let (mut encoder, mut chunk) = (ready.encoder(), SentChunk::default());
    let text = |input| {
        chunk.input = input;
        encoder.encode(&mut chunk, Form::Tuples).unwrap();
        chunk.text.clone()
    };
    ready.chunks.iter().cloned().map(text).collect()
}

#[test]
fn values_are_those_of_one_statement() {
    for (sql_type, mode) in [
        ("INT", "NO_ENGINE_SUBSTITUTION"),
        ("TINYINT", ""),
        ("BIGINT UNSIGNED", ""),
        ("DOUBLE", ""),
        ("INT", "NO_AUTO_VALUE_ON_ZERO"),
    ] {
        let table = format!("(id {sql_type} AUTO_INCREMENT, v INT, KEY (id)) AUTO_INCREMENT=5");
        let Some(mut bench) = Bench::new("utf8mb4", &table) else { return };
        bench.mode = format!("STRICT_ALL_TABLES,{mode}");
        bench.options.rows.sql_mode = Some(mode.to_owned());
        let rows = rows();
        let next = {
            let ready = bench.ready(&rows);
            assert!(ready.chunks.len() > 1, "numbers go on from chunk to chunk");
            texts(&ready);
            ready.numbers.as_ref().unwrap().next()
        };
        bench.prepare = "ALTER TABLE theirs AUTO_INCREMENT=5".to_owned();
        bench.compare_whole(&rows);
        let sql = format!(
            "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA='{}' AND \
             TABLE_NAME='theirs'",
            bench.database
        );
        let theirs = bench.session.query_text(&sql).unwrap().unwrap();
        assert_eq!(next.to_string(), theirs, "{sql_type}, {mode}");
    }
}

#[test]
fn chunks_that_are_encoded_side_by_side_are_numbered_in_order() {
    let table = "(id INT AUTO_INCREMENT PRIMARY KEY, v INT)";
    let Some(mut bench) = Bench::new("utf8mb4", table) else { return };
    let rows = rows();
    let one_by_one = texts(&bench.ready(&rows));
    let ready = bench.ready(&rows);
    let next = Mutex::new(0..ready.chunks.len());
    let found = Mutex::new(vec![Vec::new(); ready.chunks.len()]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let (mut encoder, mut chunk) = (ready.encoder(), SentChunk::default());
                loop {
                    let Some(at) = next.lock().next() else { return };
                    chunk.input = ready.chunks[at].clone();
                    encoder.encode(&mut chunk, Form::Tuples).unwrap();
                    found.lock()[at] = chunk.text.clone();
                }
            });
        }
    });
    assert!(found.into_inner() == one_by_one);
}

#[test]
fn a_type_without_further_values_refuses_rows() {
    let table = "(id TINYINT AUTO_INCREMENT PRIMARY KEY, v INT) AUTO_INCREMENT=120";
    let Some(mut bench) = Bench::new("utf8mb4", table) else { return };
    let rows: Vec<Row> = (0..20).map(|number| row(&["0", &number.to_string()])).collect();
    let refused = bench.ours(&rows);
    assert_eq!(refused, (8..20).collect::<Vec<_>>());
    assert_eq!(bench.rows_of("lines").len(), 8);
}
