//! A table of inputs and what LOAD DATA makes of them, through every way of reading.

use sources::{Dialect, Error, FieldKind, Isa};

use crate::support::{dialects, quoted_mysql, read, scan};

/// Dialect, input, expected: fields in `[]`, NULL as `~`, rows joined.
fn show(dialect: &Dialect, input: &[u8], isa: Isa) -> String {
    let mut text = String::new();
    for row in scan(dialect, input, isa) {
        let fields = row.iter().map(|value| match value {
            None => "~".to_owned(),
            Some(bytes) => bytes.escape_ascii().to_string(),
        });
        text += &format!("[{}]", fields.collect::<Vec<_>>().join("]["));
        text += ";";
    }
    text
}

fn check(dialect: &Dialect, cases: &[(&str, &str)]) {
    // The same bytes further on in the input fall on other places of a block.
    for padding in [0, 1, 5, 55, 60, 61, 62, 63, 64, 100] {
        for (input, expected) in cases {
            for isa in Isa::available() {
                let mut separator = dialect.fields_terminated_by.clone();
                separator.extend(dialect.fields_terminated_by.clone());
                let mut long = dialect.lines_starting_by.clone();
                long.extend(vec![b'x'; padding]);
                long.extend(&dialect.lines_terminated_by);
                long.extend(input.as_bytes());
                let seen = show(dialect, &long, isa);
                let padded = format!("[{}];{expected}", "x".repeat(padding));
                assert_eq!(seen, padded, "{input:?} after {padding} bytes, {}", isa.name());
            }
        }
    }
}

#[test]
fn tabs_and_backslashes() {
    check(
        &Dialect::mysql(),
        &[
            ("", ""),
            ("a\tb\n", "[a][b];"),
            ("a\tb", "[a][b];"),
            ("\n", "[];"),
            ("\n\n", "[];[];"),
            ("\t\n", "[][];"),
            ("a\t", "[a];"),
            ("a\t\tb\n", "[a][][b];"),
            ("\\N\tNULL\tN\\N\t\\NN\n", "[~][NULL][NN][NN];"),
            ("a\\\tb\\\nc\\\\\td\n", "[a\\tb\\nc\\\\][d];"),
            ("\\\\\\\\\\\n\n", "[\\\\\\\\\\n];"),
            ("\\0\\b\\n\\r\\t\\Z\\q\n", "[\\x00\\x08\\n\\r\\t\\x1aq];"),
            ("a\\", "[a\\\\];"),
            ("a\\\n", "[a\\n];"),
            ("\"a\tb\"\n", "[\\\"a][b\\\"];"),
            ("a\r\n", "[a\\r];"),
        ],
    );
}

#[test]
fn rfc_4180() {
    check(
        &Dialect::csv(),
        &[
            ("a,b\r\nc,d\n", "[a][b];[c][d];"),
            ("\"a,b\",\"c\nd\"\r\n\"\"\n", "[a,b][c\\nd];[];"),
            ("\"a\"\"b\",\"\"\"\",\"\"\"\"\"\"\n", "[a\\\"b][\\\"][\\\"\\\"];"),
            ("a,\n,a\n,\n", "[a][];[][a];[][];"),
            ("a,", "[a][];"),
            ("a,\"", "[a][\\\"];"),
            ("a\"b,c\"\n", "[a\\\"b][c\\\"];"),
            ("\"a\"b,c\",d\n", "[a\\\"b,c][d];"),
            ("\"a\"\rb\",c\n", "[a\\\"\\rb][c];"),
            ("NULL,\"NULL\",\"\",\n", "[~][NULL][][];"),
            ("\"a\"", "[a];"),
            ("a\rb\r\n\r\n", "[a\\rb];[];"),
            ("\\N,\\\n", "[\\\\N][\\\\];"),
        ],
    );
}

#[test]
fn quotes_and_escapes() {
    check(
        &quoted_mysql(),
        &[
            ("\"a\\\"b\",\"\\N\",\\N,NULL,\"NULL\"\n", "[a\\\"b][~][~][~][NULL];"),
            ("\"a\\\\\",\"b\"\n", "[a\\\\][b];"),
            ("\"a\"\\,b\",c\n", "[a\\\",b][c];"),
            ("NU\\LL,\\NULL\n", "[~][~];"),
            ("\\\"a\",b\"\n", "[\\\"a\\\"][b\\\"];"),
            ("a,", "[a];"),
            ("\"a\",\"b\nc\",", "[a][b\\nc];"),
            ("\"\"x\",y\"\n", "[\\\"x][y\\\"];"),
            ("\"\\\n\"\n", "[\\n];"),
        ],
    );
}

#[test]
fn the_separator_at_line_end_is_dropped_from_tbl() {
    check(
        &Dialect::tbl(),
        &[
            ("1|a|\n2||\n3|b\n", "[1][a];[2][];[3][b];"),
            ("1|a|\r\n|\n||\n", "[1][a];[];[][];"),
            ("1|a|", "[1][a];"),
            ("1||", "[1][];"),
            ("\n", "[];"),
        ],
    );
}

#[test]
fn line_ends_of_two_bytes() {
    let crlf = Dialect { lines_terminated_by: b"\r\n".to_vec(), ..quoted_mysql() };
    check(
        &crlf,
        &[
            ("a\r\nb\n\r,c\r\r\n", "[a];[b\\n\\r][c\\r];"),
            ("\"a\"\r\n\"b\"\rc\"\r\n", "[a];[b\\\"\\rc];"),
            ("\"a\r\nb\"\r\n", "[a\\r\\nb];"),
            ("a\\\r\nb\r\n", "[a\\r\\nb];"),
            ("\r\n\"x\"\r\n", "[];[x];"),
        ],
    );
}

fn fields(widths: &[u32]) -> Vec<FieldKind> {
    let field = |&bytes| FieldKind {
        bytes_max: bytes,
        row_bytes: bytes,
        ..FieldKind::of_literals(sql::Literals::default())
    };
    widths.iter().map(field).collect()
}

/// The carriage return of CRLF became a part of the last column.
#[test]
fn lines_of_fixed_width_end_with_lf_or_crlf_in_tsv() {
    let fixed =
        Dialect { fields_terminated_by: Vec::new(), fields: fields(&[3, 5]), ..Dialect::tsv() };
    let input = b"12 abc\r\n34 \r\n56 abcde\r\n78 abc\rd\r\n9\n10 abcdef\r\n11 abcde\n\r\n12 a\r";
    let expected = "[12 ][abc];[34 ];[56 ][abcde];[78 ][abc\\rd];[9];[10 ][abcde][f];[11 ][abcde];[];\
                    [12 ][a\\r];";
    let shown = show(&fixed, input, Isa::best());
    assert_eq!(shown, expected);
    for chunk_bytes in 1..input.len() {
        let rows = read(&fixed, input, chunk_bytes, Isa::best()).unwrap();
        assert_eq!(rows, scan(&fixed, input, Isa::best()), "chunks of {chunk_bytes}");
    }
    let mysql = Dialect { any_newline: false, ..fixed };
    assert_eq!(show(&mysql, b"12 abc\r\n", Isa::best()), "[12 ][abc\\r];");
}

/// They were dropped, as LOAD DATA does it.
#[test]
fn fields_too_many_stay_in_a_last_line_without_end_where_lines_end_as_they_like() {
    let two = |dialect: Dialect| Dialect { fields: fields(&[9, 9]), ..dialect };
    let csv = two(Dialect::csv());
    for (dialect, input, expected) in [
        (csv.clone(), "1,Ann\n2,Smith, John", "[1][Ann];[2][Smith][ John];"),
        (csv.clone(), "1,\"a\",\"b\"", "[1][a][b];"),
        (csv.clone(), "1,a,", "[1][a][];"),
        (csv.clone(), "1,a", "[1][a];"),
        (two(Dialect::tsv()), "1\ta\tb\tc", "[1][a][b][c];"),
        (two(Dialect::tbl()), "1|a|", "[1][a];"),
        (two(Dialect::tbl()), "1|a|b|", "[1][a][b];"),
        (Dialect { any_newline: false, ..csv }, "1,a,b", "[1][a];"),
        (two(Dialect::mysql()), "1\ta\tb\tc", "[1][a];"),
        (two(Dialect::mysql()), "1\ta\tb\tc\n", "[1][a][b][c];"),
    ] {
        for isa in Isa::available() {
            assert_eq!(show(&dialect, input.as_bytes(), isa), expected, "{input:?}");
        }
    }
    let fixed = |dialect: Dialect| Dialect { fields_terminated_by: Vec::new(), ..two(dialect) };
    let long = "123456789abcdefghirest";
    let shown = |dialect: &Dialect| show(dialect, long.as_bytes(), Isa::best());
    assert_eq!(shown(&fixed(Dialect::tsv())), "[123456789][abcdefghi][rest];");
    assert_eq!(shown(&fixed(Dialect::mysql())), "[123456789][abcdefghi];");
}

#[test]
fn long_terminators() {
    let long = Dialect {
        fields_terminated_by: b",|".to_vec(),
        lines_terminated_by: b"|\n".to_vec(),
        ..quoted_mysql()
    };
    check(
        &long,
        &[
            ("a,b,|c|d|\n", "[a,b][c|d];"),
            ("\"a,|b\",|\"c|\nd\"|\n", "[a,|b][c|\\nd];"),
            ("a,|\nb|\n", "[a][\\nb];"),
            ("a,||\n", "[a][];"),
        ],
    );
    let prefix = Dialect { lines_starting_by: b"->".to_vec(), ..quoted_mysql() };
    check(
        &prefix,
        &[
            ("junk->a,b\nskipped\n--->\"->c\"\n", "[a][b];[->c];"),
            ("->", ""),
            ("nothing", ""),
            ("->\n->a", "[];[a];"),
        ],
    );
}

#[test]
fn an_escape_that_is_the_quote_doubles_it_outside_quotes_too() {
    let both = Dialect { escaped_by: Some(b'"'), ..quoted_mysql() };
    check(&both, &[("a\"\"b,\"c\"\"d\",e\"f\n", "[a\\\"b][c\\\"d][e\\\"f];")]);
}

#[test]
fn a_file_cut_at_every_byte_gives_the_same_rows() {
    let inputs: [&[u8]; 4] = [
        b"a,b\tc|d\n\"a,\t\n|\n\r\n,|x\",|\"\"\"\"\t\"\"\t\"\"|\n\n\\\n\\\\\n\r\n,|y|\nN|z\n\n",
        b"N|\"q\",1\r\nN|\\\"q\\\\\",,2\n,\n|\n\n\nN|\"\\\r\n\",3",
        b"\"one\"\r\n\"two\",\"three\"\"\"\r\n\"\"\r\n\"four\r\n\"\n\n",
        b"x",
    ];
    for (name, dialect) in dialects() {
        for input in inputs {
            let whole = read(&dialect, input, 4096, Isa::best());
            for isa in Isa::available() {
                for chunk_bytes in 1..input.len() + 1 {
                    let cut = read(&dialect, input, chunk_bytes, isa);
                    match (&whole, cut) {
                        (Ok(whole), Ok(cut)) => assert_eq!(*whole, cut, "{name} {chunk_bytes}"),
                        (Err(whole), Err(cut)) => assert_eq!(place(whole), place(&cut)),
                        (whole, cut) => panic!("{name}, {chunk_bytes}: {whole:?} and {cut:?}"),
                    }
                }
            }
        }
    }
}

fn place(error: &Error) -> Option<(u64, Option<u64>)> {
    error.position().map(|at| (at.line, at.offset))
}
