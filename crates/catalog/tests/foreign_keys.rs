//! Foreign keys of releases that no test has, told by a stand-in.

use catalog::foreign_keys;
use schema::{KeyEnd, TableName};
use server::{ConnectOptions, Session};
use testkit::stand_in::StandIn;

/// Keys of MDEV-28933 have names of their own in each table; the dictionary has the name of the table before that, and
/// a byte in between that is no UTF-8.
#[test]
fn keys_whose_names_are_unique_in_a_table_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let server = StandIn::start(folder.path().join("s"));
    server.tell("SELECT VERSION()", &["12.3.1-MariaDB"]);
    let part = |name: &str, which: i8| {
        format!("CONVERT(CAST(SUBSTRING_INDEX({name}, '/', {which}) AS BINARY) USING filename)")
    };
    let parts =
        [part("FOR_NAME", 1), part("FOR_NAME", -1), part("REF_NAME", 1), part("REF_NAME", -1)];
    let question = format!(
        "SELECT ID, FOR_NAME, REF_NAME, {} FROM information_schema.INNODB_SYS_FOREIGN \
         WHERE FOR_NAME='d/t' OR REF_NAME='d/t'",
        parts.join(", ")
    );
    let row = |id: &'static [u8], child: &'static str, parent: &'static str| {
        let names = [child, parent].map(|name| name.strip_prefix("d/").unwrap_or(name).as_bytes());
        vec![id, child.as_bytes(), parent.as_bytes(), b"d", names[0], b"d", names[1]]
    };
    let rows = [
        row(b"d/t\xFF1", "d/t", "d/p"),
        row(b"d/t\xFF2", "d/t", "d/t"),
        row(b"d/c\xFF1", "d/c", "d/t"),
    ];
    server.tell_rows(&question, 7, &rows);
    let mut session = Session::connect(&ConnectOptions::for_socket(server.socket())).unwrap();
    let keys = foreign_keys(&mut session, &TableName::new("d", "t")).unwrap();
    let seen: Vec<_> = keys.into_iter().map(|key| (key.end, key.other.unwrap().table)).collect();
    let expected = [(KeyEnd::Child, "p"), (KeyEnd::Both, "t"), (KeyEnd::Parent, "c")];
    assert_eq!(seen, expected.map(|(end, table)| (end, table.to_owned())));
}
