//! A table whose file is larger than 4 GiB, so that its page offsets need more than 32 bits, and
//! larger than what the page cache may hold of it.

use std::io::{BufWriter, Write};
use std::process::Stdio;

use crate::support::{Desk, finish, start};

/// Two rows fill a page.
const VALUE_CHARS: usize = 7_000;
const ROWS: u32 = 560_000;
const FOUR_GIB: u64 = 4 << 30;

/// The value of a row: its number again and again.
const VALUE_SQL: &str = "RPAD(CONCAT(id, '-'), 7000, CONCAT(id, '-'))";

/// Rows in the order of their keys, as LOAD DATA would read them.
fn write_rows(to: impl Write) -> std::io::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 20, to);
    for id in 0..ROWS {
        let word = format!("{id}-");
        let mut value = word.repeat(VALUE_CHARS.div_ceil(word.len()));
        value.truncate(VALUE_CHARS);
        writeln!(to, "{id}\t{}\t{value}", ROWS - id)?;
    }
    to.flush()
}

#[test]
#[ignore = "writes 9 GB, for `make soak`"]
fn a_file_beyond_4_gib_holds_every_row_where_its_indexes_say() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, v VARCHAR(7000) NOT NULL, UNIQUE (k)) \
         CHARSET latin1",
    );
    let mut command = desk.home.load(desk.server, &desk.table("t"), "-".as_ref());
    let mut load = start(command.args(["--page-cache", "1G"]).stdin(Stdio::piped()));
    let stdin = load.stdin.take().unwrap();
    let writer = std::thread::spawn(move || write_rows(stdin));
    finish(load).done();
    writer.join().unwrap().unwrap();

    let path = desk.server.datadir().join(&desk.database).join("t.ibd");
    assert!(std::fs::metadata(&path).unwrap().len() > FOUR_GIB);
    let wrong = format!("SELECT COUNT(*), SUM(v <> {VALUE_SQL} OR k <> {ROWS} - id) FROM t");
    assert_eq!(desk.rows(&wrong), [format!("{ROWS}|0")]);
    // By the other index, and to the last page of each.
    let last = format!("SELECT id, v = {VALUE_SQL} FROM t FORCE INDEX (k) WHERE k IN (1, {ROWS})");
    assert_eq!(desk.rows(&last), [format!("{}|1", ROWS - 1), "0|1".to_owned()]);
    assert_eq!(desk.rows("CHECK TABLE t")[0].split('|').next_back(), Some("OK"));
    // The server goes on where the file ends.
    desk.exec(&format!("INSERT INTO t SELECT id + {ROWS}, -id, v FROM t WHERE id < 2000"));
    desk.exec(&format!("DELETE FROM t WHERE id > {} AND id < {ROWS}", ROWS - 2000));
    let count = desk.rows("SELECT COUNT(*) FROM t");
    assert_eq!(count, [(ROWS + 1).to_string()]);
    assert_eq!(desk.rows("CHECK TABLE t")[0].split('|').next_back(), Some("OK"));
    desk.exec("DROP TABLE t");
}
