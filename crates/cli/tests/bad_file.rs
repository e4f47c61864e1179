//! A file that is wrong in any way is stopped before the server sees it.

use server::Session;
use testkit::TestServer;

use crate::support::{COLUMNS, Home, contents, lines, names, run, tables};

/// Kinds of damage (see `failpoint/damage.rs` of `load`), and the page and the broken rule that the error
/// names.
const DAMAGES: [(&str, &str, &str); 23] = [
    ("flipped-byte", "page 1", "expected 0x"),
    ("lost-page", "page 1", "page is all zero"),
    ("longer-file", "page 0, byte 46", "FSP_SIZE is"),
    ("shorter-file", "page 0, byte 46", "FSP_SIZE is"),
    ("torn-file", "page ", "expected a whole number of pages"),
    ("wrong-size", "page 0, byte 46", "the pages in the file"),
    ("broken-list", "page 0, byte 88", "list FSP_FREE_FRAG ends at"),
    ("wrong-list-length", "page 0, byte 78", "list FSP_FREE_FRAG counts 2 extents; expected 1"),
    ("used-page-marked-free", "page 0: ", "page is free but not zero"),
    ("wrong-inode", "page 2, byte 58", "FSEG_NOT_FULL_N_USED is 1; expected 0"),
    ("swapped-records", "page 1", "where the record before it ends"),
    ("lost-record", "page 1", "where the record before it ends"),
    ("record-loop", "page 1", "expected one of 2 to"),
    ("repeated-key", "page 1", "have the same key; expected records that ascend by key"),
    ("wrong-record-count", "page 1", "PAGE_N_RECS is"),
    ("wrong-slot", "page 1", "directory slot 1 is"),
    ("wrong-next-page", "page 1", "right sibling is page"),
    ("wrong-previous-page", "page 1", "left sibling is page"),
    ("wrong-space", "page 1", "page belongs to space"),
    ("swapped-pages", "page 1", "page number in the header is"),
    ("swapped-page-contents", "page 1", "expected keys that ascend"),
    ("wrong-child", "page 3, byte 140", "key of the node pointer is not the first of page"),
    ("wrong-off-page-length", "page 6, byte 38", "bytes of an off-page value"),
];

#[test]
fn a_damaged_file_is_never_imported() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let home = Home::new();
    let file = home.file("rows.txt", lines(20_000));
    let table = format!("{database}.t");
    session.exec(&format!("CREATE TABLE {table} {COLUMNS}")).unwrap();
    session.exec(&format!("INSERT INTO {table} VALUES (1, 1, 'old', NULL)")).unwrap();
    let old = contents(&mut session, &table);
    for (kind, page, rule) in DAMAGES {
        let mut command = home.load(server, &table, &file);
        command.args(["--mode", "replace", "--quiet"]);
        command.env("INRUSH_FAILPOINT", format!("verify.begin=damage:{kind}"));
        let outcome = run(&mut command);
        let wrong = "the built file is wrong and was not imported";
        // MySQL's trees begin behind the dictionary page.
        let page = match server.is_mysql() {
            true => page.replace("page 3,", "page 4,").replace("page 6,", "page 7,"),
            false => page.to_owned(),
        };
        outcome.refused(1, &[wrong, &page, rule]);
        assert_eq!(contents(&mut session, &table), old, "{kind}");
        assert_eq!(tables(&mut session, &database), ["t"], "{kind}");
        let folder = server.datadir().join(&database);
        assert_eq!(names(&folder), server.database_files(&["t"]), "{kind}");
        assert_eq!(home.temp_files(), [""; 0], "{kind}");
        let steps = home.journal();
        assert_eq!(steps[steps.len() - 2..], ["verify.begin", "job.failed"], "{kind}");
    }
}

/// Damage to a page after its verification in memory is noticed by us or by IMPORT.
#[test]
fn damage_on_the_way_to_the_server_fails_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let home = Home::new();
    let file = home.file("rows.txt", lines(20_000));
    let table = format!("{database}.t");
    session.exec(&format!("CREATE TABLE {table} {COLUMNS}")).unwrap();
    session.exec(&format!("INSERT INTO {table} VALUES (1, 1, 'old', NULL)")).unwrap();
    let old = contents(&mut session, &table);
    for (kind, reason) in [
        ("flipped-byte", "IMPORT TABLESPACE"),
        ("swapped-pages", "the file's contents differ from those that were written"),
        ("lost-page", "the file's contents differ from those that were written"),
        ("torn-file", "expected a whole number of pages"),
    ] {
        let mut command = home.load(server, &table, &file);
        command.args(["--mode", "replace", "--quiet"]);
        command.env("INRUSH_FAILPOINT", format!("pages.written=damage:{kind}"));
        let outcome = run(&mut command);
        assert_eq!(outcome.status.code(), Some(1), "{kind}: {outcome:?}");
        outcome.refused(1, &[reason]);
        assert_eq!(contents(&mut session, &table), old, "{kind}");
        assert_eq!(tables(&mut session, &database), ["t"], "{kind}");
    }
}

/// A sound page with wrong contents is noticed only by reading it back.
#[test]
fn rows_that_are_not_those_of_the_input_are_not_published() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let home = Home::new();
    let file = home.file("rows.txt", lines(20_000));
    let table = format!("{database}.t");
    session.exec(&format!("CREATE TABLE {table} {COLUMNS}")).unwrap();
    session.exec(&format!("INSERT INTO {table} VALUES (1, 1, 'old', NULL)")).unwrap();
    let old = contents(&mut session, &table);
    let load = |is_compared: bool| {
        let mut command = home.load(server, &table, &file);
        command.args(["--mode", "replace", "--quiet"]);
        command.args((!is_compared).then_some("--no-verify"));
        run(command.env("INRUSH_FAILPOINT", "pages.written=damage:other-value"))
    };
    let outcome = load(true);
    outcome.refused(1, &["has 20000 row(s)", "but not the same 20000 row(s) that were read"]);
    assert_eq!(contents(&mut session, &table), old);
    assert_eq!(tables(&mut session, &database), ["t"]);
    let steps = home.journal();
    assert_eq!(steps[steps.len() - 2..], ["compare.begin", "job.failed"]);
    // Nobody else notices.
    assert_eq!(load(false).status.code(), Some(0));
    assert_eq!(contents(&mut session, &table).0, 20_000);
}

#[test]
fn rows_that_a_table_keeps_are_compared_too() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let home = Home::new();
    let text = |from: u32| {
        (from..from + 5_000).map(|id| format!("{id}\t{}\n", id % 7)).collect::<String>()
    };
    let [first, more] = [0, 5_000].map(|from| home.file(&format!("{from}.txt"), text(from)));
    let table = format!("{database}.t");
    session.exec(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, n INT, KEY (n))")).unwrap();
    run(&mut home.load(server, &table, &first)).done();
    session.exec(&format!("DELETE FROM {table} WHERE id % 3 = 0")).unwrap();
    let rows = |session: &mut Session| {
        let sql = format!("SELECT COUNT(*), SUM(id), SUM(n) FROM {table}");
        let row = session.query_row(&sql).unwrap();
        [0, 1, 2].map(|at| row.number::<u64>(at).unwrap())
    };
    let old = rows(&mut session);
    let append = |damage: &str| {
        let mut command = home.load(server, &table, &more);
        command.args(["--mode", "append", "--path", "direct", "--quiet"]);
        run(command.env("INRUSH_FAILPOINT", damage))
    };
    append("pages.written=damage:other-value").refused(1, &["but not the same"]);
    assert_eq!(rows(&mut session), old);
    append("").done();
    assert_eq!(rows(&mut session)[0], old[0] + 5_000);
    let steps = home.journal();
    assert!(steps.contains(&"compare.end".to_owned()), "{steps:?}");
}
