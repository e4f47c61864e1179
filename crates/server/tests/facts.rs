//! Facts of servers that no test has, told by a stand-in.

use server::facts::ServerFacts;
use server::{ConnectOptions, Session};
use testkit::stand_in::StandIn;

/// A release that archives its redo log, which IMPORT does not write to.
#[test]
fn an_archived_log_closes_the_direct_method_unless_it_may_lack_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let server = StandIn::start(folder.path().join("s"));
    server.tell("SELECT VERSION()", &["13.0.1-MariaDB"]);
    let refuses = |unlogged| {
        let mut options = ConnectOptions::for_socket(server.socket());
        options.unlogged = unlogged;
        let facts = ServerFacts::read(&mut Session::connect(&options).unwrap()).unwrap();
        facts
            .unsupported("d")
            .iter()
            .any(|reason| reason.to_string().contains("innodb_log_archive is ON"))
    };
    let question = "SHOW GLOBAL VARIABLES LIKE 'innodb_log_archive'";
    for (values, is_refused) in [(&["ON"][..], true), (&["OFF"], false), (&[], false)] {
        let row = |value: &&'static str| vec![question.as_bytes(), value.as_bytes()];
        server.tell_rows(question, 2, &values.iter().map(row).collect::<Vec<_>>());
        assert_eq!((refuses(false), refuses(true)), (is_refused, false), "{values:?}");
    }
}
