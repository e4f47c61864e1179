//! Journals, and option files.

use crate::{Inputs, input};

/// Lines of a journal, each with its sum.
fn summed(lines: &[&str]) -> Vec<u8> {
    let line = |line: &&str| format!("{:08x} {line}\n", crc32c::crc32c(line.as_bytes()));
    lines.iter().map(line).collect::<String>().into_bytes()
}

const LOAD: &str = r#"{"format":"inrush journal","version":1,"kind":"load","id":"1"}"#;
const REPLAY: &str = r#"{"format":"inrush journal","version":1,"kind":"replay","id":"2"}"#;
const TUNE: &str = r#"{"format":"inrush journal","version":1,"kind":"tune","id":"3"}"#;
const JOB: &str =
    r#"{"unix_ms":1795295125000,"pid":4711,"step":"job","event":"begin","detail":"d.t"}"#;
const ROWS: &str =
    r#"{"unix_ms":1795295125001,"pid":4711,"step":"rows","event":"end","detail":"d.t"}"#;
const FAILED: &str = r#"{"unix_ms":1,"pid":0,"step":"job","event":"failed","detail":"d.t: \u00e9 \" \\ \ud83d\ude00"}"#;
const DUMP: &str = r#""dump":{"dump":"/d.sql","files":7,"server":"h","into":null,"tables":[],"exclude":["a"],"atomic":false}"#;
const INTO: &str = r#""dump":{"dump":"/d.sql","files":18446744073709551615,"server":"","into":"e","tables":["b","c"],"exclude":[],"atomic":true}"#;
const TABLE: &str = r#""table":{"database":"d","table":"t","from":{"part":0,"offset":5},"to":{"part":0,"offset":9},"rows":3}"#;
const SERVER: &str = r#"{"unix_ms":1,"pid":2,"server":{"uid":"u","hostname":"h","port":"3306","socket":"","datadir":"/d/"},"address":"h:3306","started_unix":1,"changes":[{"variable":"sync_binlog","before":"1","set":"0","held":false}],"users":[{"pid":2,"connection":7,"what":"load into d.t"}]}"#;

/// The journal of a replay.
fn replay(events: &[&str]) -> Vec<u8> {
    let record = |event: &&str| format!(r#"{{"unix_ms":1,"pid":2,{event}}}"#);
    let records: Vec<String> = events.iter().map(record).collect();
    let lines: Vec<&str> =
        std::iter::once(REPLAY).chain(records.iter().map(String::as_str)).collect();
    summed(&lines)
}

pub(crate) fn journals() -> Inputs {
    let load = |name: &str, lines: &[&str]| input(name, &summed(&[&[LOAD], lines].concat()), b"");
    let events = |name: &str, events: &[&str]| input(name, &replay(events), b"");
    let whole = summed(&[LOAD, JOB, ROWS]);
    let mut damaged = whole.clone();
    damaged[whole.len() - 20] ^= 1;
    vec![
        input("empty", b"", b""),
        load("load", &[JOB, ROWS]),
        load("load_failed", &[JOB, FAILED]),
        input("first_line_alone", &summed(&[LOAD]), b""),
        input("without_first_line", &summed(&[JOB, ROWS]), b""),
        input("of_another_version", &summed(&[&LOAD.replace("1,", "2,"), JOB]), b""),
        input("torn_line", &whole, b"0c5d2f1a {\"unix_ms\":17"),
        input("torn_sum", &whole, b"0c5"),
        input("line_behind_a_torn_one", &whole[..whole.len() - 9], &summed(&[JOB, ROWS])),
        input("damaged", &damaged, b""),
        input("damaged_before_others", &damaged, &summed(&[JOB, ROWS])),
        input("zeros_behind", &whole, &[0; 64]),
        input("no_sum", b"{\"step\":\"job\"}\n", b""),
        input("sum_of_other_digits", b"ZZZZZZZZ {}\n", b""),
        input("carriage_returns", &summed(&[LOAD, JOB]), b"\r\n\r\n"),
        input("no_text", b"\xff\xfe\x80 \xc3(\n", b""),
        load(
            "unknown_event",
            &[r#"{"unix_ms":1,"pid":1,"step":"rows","event":"paused","detail":""}"#],
        ),
        load("missing_field", &[r#"{"unix_ms":1,"pid":1,"step":"rows"}"#]),
        input("tune", &summed(&[TUNE, SERVER]), b""),
        events("replay", &[DUMP, TABLE, r#""done":{"part":1,"offset":18446744073709551615}"#]),
        events("replay_into", &[INTO]),
        events("replay_of_another", &[DUMP, INTO]),
        events("begun", &[DUMP, r#""begin":{"part":0,"offset":5}"#]),
        events(
            "begun_twice",
            &[DUMP, r#""begin":{"part":0,"offset":5}"#, r#""begin":{"part":0,"offset":5}"#],
        ),
        events(
            "filled",
            &[DUMP, r#""fill":{"part":0,"offset":6}"#, r#""told":{"part":0,"offset":6}"#],
        ),
        events("gone", &[DUMP, TABLE, r#""gone":{"database":"d","table":"t"}"#]),
        events("gone_before_it_came", &[DUMP, r#""gone":{"database":"d","table":"t"}"#]),
        events(
            "failed_and_seen",
            &[DUMP, TABLE, r#""failed":null"#, r#""seen":{"database":"d","table":"t","mark":"7"}"#],
        ),
        events("resumed", &[DUMP, r#""failed":null"#, r#""resumed":null"#]),
        events("no_dump_first", &[TABLE]),
        events("backwards", &[DUMP, &TABLE.replace(r#""offset":9"#, r#""offset":1"#)]),
        events("too_large", &[r#""done":{"part":0,"offset":18446744073709551616}"#]),
        load("deep", &[&"[".repeat(400)]),
    ]
}

pub(crate) fn option_files() -> Inputs {
    [
        ("client", "[client]\nuser=me\npassword=p\nhost=h\nport=3306\n"),
        ("groups", "[client]\na=1\n[mysqld]\nb=2\n[client-mariadb]\nc=3\n[inrush]\nd=4\n"),
        ("group_twice", "[client]\nuser=a\n[client]\nuser=b\n"),
        ("group_with_suffix", "[client_x]\nuser=a\n"),
        ("group_without_end", "[client\nuser=a\n"),
        ("group_without_name", "[]\nuser=a\n[ client ]\nuser=b\n"),
        ("before_the_first_group", "user=a\n[client]\n"),
        ("comments", "# a\n; b\n[client] # c\nuser=a # d\npassword=a#b\n"),
        ("quotes", "[client]\npassword=\"a \\\"b\\\" #c\"\nuser='it''s'\n"),
        ("quote_without_end", "[client]\npassword=\"a\n"),
        ("one_quote", "[client]\npassword=\"\n"),
        ("escapes", "[client]\npassword=\\b\\t\\n\\r\\\\\\s\\x\\\n"),
        ("escape_at_the_end", "[client]\npassword=a\\"),
        ("switches", "[client]\nssl\nskip-ssl\nloose_ssl=0\nssl=off\nssl=FALSE\nssl=\n"),
        ("underscores", "[client]\nssl_ca=/a_b\nloose-ssl_cert=c\n"),
        ("no_name", "[client]\n=a\n==\n"),
        ("spaces", "  [client]  \n\t user \t=\t a b \t\n"),
        ("many_equals", "[client]\npassword=a=b=c\n"),
        ("mark", "\u{feff}[client]\nuser=a\n"),
        ("carriage_returns", "[client]\r\nuser=a\r\n\r"),
        ("directive", "[client]\n!other\n"),
        ("zero_bytes", "[client]\nuser=a\0b\n"),
        ("letters", "[client]\nuser=\u{e9}\u{1f600}\npassword=\u{a0}\n"),
        ("long", "[client]\npassword="),
        ("empty", ""),
    ]
    .map(|(name, text)| {
        let more = if name == "long" { "x".repeat(3000) } else { String::new() };
        input(name, text.as_bytes(), more.as_bytes())
    })
    .into_iter()
    .chain([input("no_text", b"[client]\nuser=\xff\xc3(\n[\xfe]\n", b"")])
    .collect()
}
