//! Files that are no dumps.

use std::fs::File;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::yard::Yard;
use crate::support::run;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn files_that_are_no_dumps_are_refused_by_their_format() {
    let Some(yard) = Yard::new(&["unfit"]) else { return };
    let database = yard.databases[0].as_str();
    let twice = gzip(&gzip(b"SELECT 1;\n"));
    let old_mac =
        "-- MariaDB dump 10\rCREATE TABLE t (a INT);\rINSERT INTO t VALUES (1);\r".repeat(500);
    let postgres = "--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\n";
    let copy = "SET x = 1;\nCOPY public.t (a) FROM stdin;\n1\n\\.\n";
    let cases: [(&str, &[u8], &str); 13] = [
        ("empty.sql", b"", "is empty"),
        ("blank.sql", b" \n\n\t\n", "only comments"),
        ("completed.sql", b"-- MySQL dump 10\n/* x */\n;\n-- Dump completed\n", "only comments"),
        ("twice.sql.gz", &twice, "compressed twice: unpack it once"),
        ("old_mac.sql", old_mac.as_bytes(), "lines end with CR alone"),
        ("delimiter.sql", b"DELIMITER //\rSELECT 1//\r", "lines end with CR alone"),
        ("data.csv", b"id,name\n1,a\n", "is not a SQL dump: line 1 begins with \"id,name\""),
        ("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        ("page.sql", b"<!DOCTYPE html>\n<html>Not found</html>\n", "an HTML page"),
        ("xml.sql", b"<?xml version=\"1.0\"?>\n<mysqldump>\n", "create the dump without --xml"),
        ("rows.json", b"{\"a\": 1}\n{\"a\": 2}\n", "JSON"),
        ("pg.sql", postgres.as_bytes(), "a dump of PostgreSQL"),
        ("copy.sql", copy.as_bytes(), "a dump of PostgreSQL"),
    ];
    for (name, bytes, reason) in cases {
        let file = yard.home.file(name, bytes);
        for more in [&["--into", database][..], &["--dry-run"]] {
            let outcome = run(&mut yard.replay(&file, more));
            outcome.refused(2, &[name, reason]);
            assert!(outcome.err.len() < 400, "{outcome:?}");
        }
        // As a pipe, which is read when the server is there.
        let mut command = yard.replay("-".as_ref(), &["--into", database]);
        let outcome = run(command.stdin(File::open(&file).unwrap()));
        outcome.refused(2, &["/dev/stdin", reason]);
    }
}

/// No comment and no command has its end there, and all else reads CR as a space.
#[test]
fn a_file_of_statements_alone_may_end_its_lines_with_cr() {
    let Some(mut yard) = Yard::new(&["returns"]) else { return };
    let database = yard.databases[0].clone();
    let text = "CREATE TABLE t (\r a INT\r);\rINSERT INTO t VALUES (1),\r(2);\r";
    let dump = yard.home.file("returns.sql", text);
    run(&mut yard.replay(&dump, &["--into", &database])).done();
    let rows = yard.session.query(&format!("SELECT a FROM `{database}`.t")).unwrap();
    assert_eq!(rows.len(), 2);
}
