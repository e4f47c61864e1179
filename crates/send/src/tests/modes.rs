//! `sql_mode` and time zones, the server's and those that are asked for.

use testkit::{TestServer, TestServerOptions};

use super::{Bench, Row, row};

const TABLE: &str = "(id INT, d DATE, t DATETIME(1), s TIMESTAMP(2) NULL, v VARCHAR(9))";

fn rows() -> Vec<Row> {
    let values = [
        "2024-02-30",
        "0000-00-00",
        "2024-00-01",
        "2024-03-31 02:30:00",
        "2024-10-27 02:30:00",
        "2024-01-01 00:00:00.999",
        "1969-12-31 23:30:00",
        "it's \\n \"x\" \\",
        "\\",
        "'",
    ];
    values
        .iter()
        .enumerate()
        .map(|(id, text)| row(&[&id.to_string(), text, text, text, text]))
        .collect()
}

/// One column a row has text, so that each is judged alone.
fn single_rows() -> Vec<Row> {
    let mut single = Vec::new();
    for whole in rows() {
        for column in 1..5 {
            let mut one = row(&[&single.len().to_string(), "NULL", "NULL", "NULL", "NULL"]);
            one[column].clone_from(&whole[column]);
            single.push(one);
        }
    }
    single
}

#[test]
fn flags_that_are_asked_for_hold_on_the_server_too() {
    for mode in [
        "",
        "NO_ZERO_DATE",
        "NO_ZERO_IN_DATE",
        "ALLOW_INVALID_DATES",
        "TIME_ROUND_FRACTIONAL",
        "NO_BACKSLASH_ESCAPES",
        "TRADITIONAL",
        "ANSI,PAD_CHAR_TO_FULL_LENGTH",
    ] {
        let Some(mut bench) = Bench::new("utf8mb4", TABLE) else { return };
        bench.mode = format!("STRICT_ALL_TABLES,{mode}");
        bench.options.rows.sql_mode = Some(mode.to_owned());
        println!("{mode}");
        bench.compare(&single_rows());
    }
}

/// A server on which a backslash is text and double quotes are no strings.
#[test]
fn odd_servers_get_the_same_text() {
    let mode =
        "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,ALLOW_INVALID_DATES,STRICT_TRANS_TABLES";
    let extra = vec![
        format!("--sql-mode={mode}"),
        "--character-set-server=sjis".to_owned(),
        "--skip-character-set-client-handshake".to_owned(),
        "--default-time-zone=+05:45".to_owned(),
    ];
    let options = TestServerOptions { extra, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    for charset in ["utf8mb4", "latin1", "binary", "sjis"] {
        let table = "(id INT, d DATE, t DATETIME(1), s TIMESTAMP(2) NULL, \
                     v VARCHAR(9) CHARACTER SET utf8mb4)";
        let mut bench = Bench::on(&server, charset, table);
        bench.mode = mode.to_owned();
        let mut rows = single_rows();
        for text in ["\u{e9}", "a\tb", "\u{8868}"] {
            rows.push(row(&[&rows.len().to_string(), "NULL", "NULL", "NULL", text]));
        }
        bench.compare(&rows);
    }
}

#[test]
fn local_times_are_those_of_the_zone() {
    for zone in ["+02:00", "Europe/Berlin", "America/New_York"] {
        let Some(mut bench) = Bench::new("utf8mb4", TABLE) else { return };
        if bench.session.exec(&format!("SET time_zone='{zone}'")).is_err() {
            continue;
        }
        bench.compare(&single_rows());
    }
}
