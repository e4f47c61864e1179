#![allow(clippy::unwrap_used)]

use super::*;

fn options(folder: &Path) -> ReplayOptions {
    let dump = folder.join("d.sql");
    if !dump.exists() {
        std::fs::write(&dump, "SELECT 1;").unwrap();
    }
    ReplayOptions { state_dir: folder.to_owned(), ..ReplayOptions::new(dump) }
}

fn spot(offset: u64) -> Spot {
    Spot { part: 0, offset }
}

/// A journal with one line of each kind, closed.
fn written(options: &ReplayOptions) -> PathBuf {
    let mut journal = Journal::begin(options, Vec::new(), "here").unwrap();
    let (t, u) = (TableName::new("d", "t"), TableName::new("d", "u"));
    journal.table(&t, spot(10), spot(50), 7).unwrap();
    journal.table(&u, spot(60), spot(70), 0).unwrap();
    journal.write(Line::Begin(spot(80))).unwrap();
    journal.write(Line::Done(spot(80))).unwrap();
    journal.gone(&u).unwrap();
    journal.write(Line::Begin(spot(90))).unwrap();
    journal.path.clone()
}

#[test]
fn the_same_command_goes_on_where_the_other_ended() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    written(&options);
    let mut journal = Journal::begin(&options, Vec::new(), "here").unwrap();
    let (t, u) = (TableName::new("d", "t"), TableName::new("d", "u"));
    let of_t: Vec<u64> =
        (0..100).step_by(5).filter(|&at| journal.is_table_done(&t, spot(at))).collect();
    assert_eq!(of_t, [10, 15, 20, 25, 30, 35, 40, 45, 50]);
    // The dump has dropped it since, and may make it again.
    assert!(journal.is_table_done(&u, spot(60)) && !journal.is_table_done(&u, spot(75)));
    assert!(!journal.is_table_done(&t, Spot { part: 1, offset: 20 }));
    assert!(journal.is_done(spot(80)) && !journal.is_done(spot(90)));
    assert!(journal.is_unclear(spot(90)) && !journal.is_unclear(spot(80)));
    assert_eq!(journal.finished().collect::<Vec<_>>(), [(&t, 7)]);
    let path = journal.path.clone();
    journal.forget().unwrap();
    assert!(!path.exists());
}

#[test]
fn statements_that_were_committed_together_are_done_together() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let begin = || Journal::begin(&options, Vec::new(), "here").unwrap();
    let mut journal = begin();
    journal.write(Line::Commit(vec![spot(1), spot(2)])).unwrap();
    journal.write(Line::Commit(vec![spot(3)])).unwrap();
    drop(journal);
    let mut journal = begin();
    assert!([1, 2, 3].iter().all(|&at| journal.is_unclear(spot(at)) && !journal.is_done(spot(at))));
    // Killed behind the first line: the COMMIT was done.
    journal.table(&TableName::new("d", "t"), spot(2), spot(2), 7).unwrap();
    drop(journal);
    let mut journal = begin();
    assert!([1, 3].iter().all(|&at| !journal.is_unclear(spot(at)) && journal.is_done(spot(at))));
    // One that was refused is not done, and says nothing of the others.
    [4, 5, 6].iter().for_each(|&at| journal.write(Line::Commit(vec![spot(at)])).unwrap());
    journal.write(Line::Undone(spot(6))).unwrap();
    drop(journal);
    let mut journal = begin();
    assert!([4, 5].iter().all(|&at| journal.is_unclear(spot(at))) && !journal.is_unclear(spot(6)));
    // Told of one, the user is told of all.
    journal.write(Line::Told(spot(5))).unwrap();
    drop(journal);
    let journal = begin();
    assert!([4, 5].iter().all(|&at| !journal.is_unclear(spot(at)) && !journal.is_done(spot(at))));
}

#[test]
fn another_dump_server_or_wish_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let is_new = |options: &ReplayOptions, server: &str| {
        let journal = Journal::begin(options, Vec::new(), server).unwrap();
        journal.tables.is_empty() && journal.done.is_empty() && journal.begun.is_empty()
    };
    written(&options);
    assert!(is_new(&options, "there"));
    assert!(is_new(&ReplayOptions { into: Some("x".into()), ..options.clone() }, "here"));
    assert!(!is_new(&options, "here"));
    assert!(is_new(&ReplayOptions { tables: vec!["t".into()], ..options.clone() }, "here"));
    written(&options);
    std::fs::write(&options.dump, "SELECT 12;").unwrap();
    assert!(is_new(&options, "here"));
}

#[test]
fn a_journal_of_added_rows_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let begin = |options: &ReplayOptions| Journal::begin(options, Vec::new(), "here");
    let refused = |options: &ReplayOptions| {
        let error = begin(options).unwrap_err().to_string();
        assert!(error.contains("added rows to d.t") && error.contains("--fresh"), "{error}");
    };
    let t = TableName::new("d", "t");
    begin(&options).unwrap().table(&t, spot(7), spot(7), 3).unwrap();
    refused(&ReplayOptions { tables: vec!["u".into()], ..options.clone() });
    assert!(begin(&options).unwrap().is_table_done(&t, spot(7)));
    std::fs::write(&options.dump, "SELECT 12;").unwrap();
    refused(&options);
    let fresh = ReplayOptions { fresh: true, ..options };
    assert!(!begin(&fresh).unwrap().is_table_done(&t, spot(7)));
}

/// The next command forgot them, and would have changed the rows twice.
#[test]
fn changes_that_may_be_in_are_not_forgotten() {
    for is_undone in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path());
        let mut journal = Journal::begin(&options, Vec::new(), "here").unwrap();
        journal.write(Line::Commit(vec![spot(7)])).unwrap();
        if is_undone {
            journal.write(Line::Undone(spot(7))).unwrap();
        }
        drop(journal);
        std::fs::write(&options.dump, "SELECT 12;").unwrap();
        match Journal::begin(&options, Vec::new(), "here").map_err(|error| error.to_string()) {
            Ok(_) => assert!(is_undone),
            Err(error) => {
                assert!(!is_undone && error.contains("may have changed rows"), "{error}");
                assert!(error.contains("--fresh"), "{error}");
            }
        }
    }
}

#[test]
fn a_torn_line_ends_it_there_and_a_damaged_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let path = written(&options);
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let mut journal = Journal::begin(&options, Vec::new(), "here").unwrap();
        journal.write(Line::Done(spot(1000))).unwrap();
        drop(journal);
        let journal = Journal::begin(&options, Vec::new(), "here").unwrap();
        assert!(journal.is_done(spot(1000)), "cut at {cut}");
        let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(journal.is_table_done(&TableName::new("d", "t"), spot(10)), lines >= 3, "{cut}");
    }
    let mut bent = whole.clone();
    bent[whole.len() - 20] ^= 1;
    std::fs::write(&path, &bent).unwrap();
    assert!(!Journal::begin(&options, Vec::new(), "here").unwrap().is_unclear(spot(90)));
    let refused = |options: &ReplayOptions, seen: &str| {
        let error = Journal::begin(options, Vec::new(), "here").unwrap_err().to_string();
        let expected = format!("reading the journal {}: it is {seen}", path.display());
        assert!(error.starts_with(&expected), "{error}");
    };
    bent[whole.len() / 2] ^= 1;
    std::fs::write(&path, &bent).unwrap();
    refused(&options, "damaged in line");
    // Of a build whose journals had no first line.
    let first = whole.iter().position(|&byte| byte == b'\n').unwrap();
    std::fs::write(&path, &whole[first + 1..]).unwrap();
    refused(&options, "the replay journal of a different build of Inrush");
    let anew = ReplayOptions { fresh: true, ..options.clone() };
    assert!(Journal::begin(&anew, Vec::new(), "here").unwrap().done.is_empty());
    Journal::begin(&options, Vec::new(), "here").unwrap();
}

#[test]
fn two_of_one_dump_do_not_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let first = Journal::begin(&options, Vec::new(), "here").unwrap();
    let error = Journal::begin(&options, Vec::new(), "here").unwrap_err().to_string();
    assert!(error.contains("is already running"), "{error}");
    drop(first);
    Journal::begin(&options, Vec::new(), "here").unwrap();
}

#[test]
fn what_cannot_be_read_twice_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReplayOptions { dump: "/dev/null".into(), ..options(folder.path()) };
    let mut journal = Journal::begin(&options, Vec::new(), "here").unwrap();
    journal.write(Line::Done(spot(3))).unwrap();
    journal.forget().unwrap();
    assert!(!folder.path().join("replays").exists());
}

#[test]
fn tables_that_are_gone_or_emptied_begin_it_anew() {
    let Some(server) = testkit::TestServer::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let database = server.database().unwrap();
    let mut own = server.connect().unwrap();
    let name = TableName::new(&*database, "t");
    let mut journal = Journal::begin(&options, Vec::new(), "here").unwrap();
    assert!(!journal.check(&mut own).unwrap().goes_on);
    own.exec(&format!("CREATE TABLE {} (a INT)", name.quoted())).unwrap();
    own.exec(&format!("INSERT INTO {} VALUES (1)", name.quoted())).unwrap();
    journal.table(&name, spot(1), spot(2), 1).unwrap();
    assert!(journal.check(&mut own).unwrap().goes_on && journal.is_table_done(&name, spot(2)));
    own.exec(&format!("DELETE FROM {}", name.quoted())).unwrap();
    assert!(!journal.check(&mut own).unwrap().goes_on);
    journal.table(&name, spot(1), spot(2), 0).unwrap();
    assert!(journal.check(&mut own).unwrap().goes_on);
    own.exec(&format!("DROP TABLE {}", name.quoted())).unwrap();
    assert!(!journal.check(&mut own).unwrap().goes_on);
    // So it says the next time too.
    drop(journal);
    assert!(Journal::begin(&options, Vec::new(), "here").unwrap().tables.is_empty());
}
