//! Journals, and option files.

use crate::{Inputs, input};

/// Lines of a journal, each with its sum.
fn summed(lines: &[&str]) -> Vec<u8> {
    let line = |line: &&str| format!("{:08x} {line}\n", crc32c::crc32c(line.as_bytes()));
    lines.iter().map(line).collect::<String>().into_bytes()
}

const JOB: &str =
    r#"{"unix_ms":1795295125000,"pid":4711,"step":"job","event":"begin","detail":"d.t"}"#;
const ROWS: &str =
    r#"{"unix_ms":1795295125001,"pid":4711,"step":"rows","event":"end","detail":"d.t"}"#;
const FAILED: &str = r#"{"unix_ms":1,"pid":0,"step":"job","event":"failed","detail":"d.t: \u00e9 \" \\ \ud83d\ude00"}"#;
const DUMP: &str = r#"{"dump":{"dump":"/d.sql","files":7,"server":"h","into":null,"tables":[],"exclude":["a"],"atomic":false}}"#;
const INTO: &str = r#"{"dump":{"dump":"/d.sql","files":18446744073709551615,"server":"","into":"e","tables":["b","c"],"exclude":[],"atomic":true}}"#;
const TABLE: &str = r#"{"table":{"database":"d","table":"t","from":{"part":0,"offset":5},"to":{"part":0,"offset":9},"rows":3}}"#;

pub(crate) fn journals() -> Inputs {
    let lines = |name: &str, lines: &[&str]| input(name, &summed(lines), b"");
    let whole = summed(&[JOB, ROWS]);
    let mut damaged = whole.clone();
    damaged[20] ^= 1;
    vec![
        input("empty", b"", b""),
        lines("load", &[JOB, ROWS]),
        lines("load_failed", &[JOB, FAILED]),
        input("torn_line", &whole, b"0c5d2f1a {\"unix_ms\":17"),
        input("torn_sum", &whole, b"0c5"),
        input("line_behind_a_torn_one", &whole[..whole.len() - 9], &whole),
        input("damaged", &damaged, b""),
        input("zeros_behind", &whole, &[0; 64]),
        input("no_sum", b"{\"step\":\"job\"}\n", b""),
        input("sum_of_other_digits", b"ZZZZZZZZ {}\n", b""),
        input("carriage_returns", &summed(&[JOB]), b"\r\n\r\n"),
        input("no_text", b"\xff\xfe\x80 \xc3(\n", b""),
        lines(
            "unknown_event",
            &[r#"{"unix_ms":1,"pid":1,"step":"rows","event":"paused","detail":""}"#],
        ),
        lines("missing_field", &[r#"{"unix_ms":1,"pid":1,"step":"rows"}"#]),
        lines("replay", &[DUMP, TABLE, r#"{"done":{"part":1,"offset":18446744073709551615}}"#]),
        lines("replay_into", &[INTO]),
        lines("replay_of_another", &[DUMP, INTO]),
        lines("begun", &[DUMP, r#"{"begin":{"part":0,"offset":5}}"#]),
        lines(
            "begun_twice",
            &[DUMP, r#"{"begin":{"part":0,"offset":5}}"#, r#"{"begin":{"part":0,"offset":5}}"#],
        ),
        lines(
            "filled",
            &[DUMP, r#"{"fill":{"part":0,"offset":6}}"#, r#"{"told":{"part":0,"offset":6}}"#],
        ),
        lines("gone", &[DUMP, TABLE, r#"{"gone":{"database":"d","table":"t"}}"#]),
        lines("gone_before_it_came", &[DUMP, r#"{"gone":{"database":"d","table":"t"}}"#]),
        lines(
            "failed_and_seen",
            &[DUMP, TABLE, r#""failed""#, r#"{"seen":{"database":"d","table":"t","mark":"7"}}"#],
        ),
        lines("resumed", &[DUMP, r#""failed""#, r#""resumed""#]),
        lines("no_dump_first", &[TABLE]),
        lines("backwards", &[DUMP, &TABLE.replace(r#""offset":9"#, r#""offset":1"#)]),
        lines("too_large", &[r#"{"done":{"part":0,"offset":18446744073709551616}}"#]),
        lines("deep", &[&"[".repeat(400)]),
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
