//! Several tables that take their places at once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use schema::{Mode, TableName, first_of};
use server::{Error, Session};
use targets::swap::{Before, Pair, Swap};
use testkit::TestServer;

const WAIT: Duration = Duration::from_secs(20);

fn count(session: &mut Session, name: &TableName) -> u64 {
    let sql = format!("SELECT COUNT(*) FROM {}", name.quoted());
    session.query_row(&sql).unwrap().number(0).unwrap()
}

/// A table of a row that takes the place of another.
fn pair(session: &mut Session, database: &str, table: &str, before: Option<Mode>) -> Pair {
    let [name, new, aside] = [table.to_owned(), format!("{table}_new"), format!("{table}_old")]
        .map(|name| TableName::new(database, name));
    session.exec(&format!("CREATE TABLE {} LIKE {}", new.quoted(), name.quoted())).unwrap();
    session.exec(&format!("INSERT INTO {} VALUES (NULL, 'new')", new.quoted())).unwrap();
    let definition = catalog::read(session, &name).unwrap().definition;
    let before = match before {
        Some(mode) => {
            Before::Unchanged { aside, definition, foreign_keys: Vec::new(), mode, triggers: None }
        }
        None => Before::Whatever { aside },
    };
    Pair { table: name, replacement: new, before }
}

fn aside(pair: &Pair) -> TableName {
    match &pair.before {
        Before::Unchanged { aside, .. } | Before::Whatever { aside } => aside.clone(),
        Before::Nothing => panic!("there is none"),
    }
}

fn create(session: &mut Session, database: &str, table: &str) {
    let columns = "(a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(20))";
    session.exec(&format!("CREATE TABLE {database}.{table} {columns}")).unwrap();
}

#[test]
fn no_insert_is_lost_in_a_swap_of_two_tables() {
    no_insert_is_lost(&["t", "u"], 40);
}

/// More tables than connections that hold them, so that each holds several: a row that slips in
/// before the swap is in the table put aside.
#[test]
fn no_insert_is_lost_in_a_swap_of_many_tables() {
    let names: Vec<String> = (10..30).map(|number| format!("t{number}")).collect();
    no_insert_is_lost(&names.iter().map(String::as_str).collect::<Vec<_>>(), 20);
}

fn no_insert_is_lost(tables: &[&str], rounds: u64) {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    tables.iter().for_each(|table| create(&mut session, &database, table));
    let (mut stopped, mut swapped, mut aside_rows) = (0, 0, 0);
    // When the writers begin: about when the swap is, however long it takes here.
    let mut delay = Duration::ZERO;
    for round in 0..rounds {
        let made = tables.iter().map(|t| pair(&mut session, &database, t, Some(Mode::Insert)));
        let pairs: Vec<Pair> = made.collect();
        let swap = Swap::new(pairs.clone());
        let go = AtomicBool::new(true);
        let written: Vec<AtomicU64> = pairs.iter().map(|_| AtomicU64::new(0)).collect();
        let outcome = std::thread::scope(|scope| {
            // Two for the first table and two for the last.
            for at in [0, pairs.len() - 1, 0, pairs.len() - 1] {
                let mut session = server.connect().unwrap();
                let insert = format!("INSERT INTO {} (b) VALUES ('w')", pairs[at].table.quoted());
                let (go, written) = (&go, &written[at]);
                scope.spawn(move || {
                    std::thread::sleep(delay);
                    while go.load(Ordering::Relaxed) {
                        session.exec(&insert).unwrap();
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let outcome = swap.run(&mut session, WAIT);
            std::thread::sleep(Duration::from_millis(5));
            go.store(false, Ordering::Relaxed);
            outcome
        });
        for (pair, written) in pairs.iter().zip(written) {
            let (count, written) = (count(&mut session, &pair.table), written.into_inner());
            match &outcome {
                Ok(()) => {
                    let left = self::count(&mut session, &aside(pair));
                    aside_rows += left;
                    assert_eq!(count + left, written + 1, "round {round} {}", pair.table);
                    session.exec(&format!("DROP TABLE {}", aside(pair).quoted())).unwrap();
                }
                Err(Error::NotEmpty(_)) => {
                    assert_eq!(count, written, "round {round} {}", pair.table);
                    session.exec(&format!("DROP TABLE {}", pair.replacement.quoted())).unwrap();
                }
                Err(e) => panic!("{e}"),
            }
            session.exec(&format!("DELETE FROM {}", pair.table.quoted())).unwrap();
        }
        if outcome.is_ok() {
            swapped += 1;
            delay = delay * 3 / 4;
        } else {
            stopped += 1;
            delay = delay * 2 + Duration::from_micros(400);
        }
    }
    println!("{swapped} swapped, {stopped} stopped, {aside_rows} rows slipped in");
    assert!(swapped > 0 && stopped > 0, "{swapped} swapped, {stopped} stopped: nothing was tested");
}

/// Each table's holders were asked for, and joined: 21 KB for a folder.
#[test]
fn who_keeps_many_tables_is_named_once_and_the_load_itself_never() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let tables: Vec<String> = (0..12).map(|number| format!("t{number}")).collect();
    let mut pairs = Vec::new();
    for table in &tables {
        create(&mut session, &database, table);
        pairs.push(pair(&mut session, &database, table, None));
    }
    let mut other = server.connect().unwrap();
    other.exec("START TRANSACTION").unwrap();
    for table in &tables {
        other.query(&format!("SELECT * FROM {database}.{table}")).unwrap();
    }
    let error = Swap::new(pairs).run(&mut session, Duration::from_secs(1)).unwrap_err();
    let text = error.to_string();
    let wanted = format!("connection {} of", other.id());
    assert_eq!(text.matches(&wanted).count(), 1, "{text}");
    assert!(!text.contains(&format!("connection {} of", session.id())), "{text}");
    assert!(text.contains(&format!("{database}.t10, and 9 more")), "{text}");
    assert!(text.len() < 2000, "{} bytes: {text}", text.len());
}

#[test]
fn one_table_that_is_not_as_it_was_keeps_all_from_their_places() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    for table in ["t", "u", "v"] {
        create(&mut session, &database, table);
        session.exec(&format!("INSERT INTO {database}.{table} VALUES (7, 'old')")).unwrap();
    }
    let mut pairs = vec![
        pair(&mut session, &database, "t", Some(Mode::Replace)),
        pair(&mut session, &database, "u", Some(Mode::Insert)),
        pair(&mut session, &database, "v", None),
    ];
    create(&mut session, &database, "w_new");
    pairs.push(Pair {
        table: TableName::new(&*database, "w"),
        replacement: TableName::new(&*database, "w_new"),
        before: Before::Nothing,
    });
    let swap = Swap::new(pairs.clone());
    match swap.run(&mut session, WAIT) {
        Err(Error::NotEmpty(name)) => assert_eq!(name, pairs[1].table.to_string()),
        other => panic!("{other:?}"),
    }
    // Nothing is locked any more.
    let mut other = server.connect().unwrap();
    other.exec("SET lock_wait_timeout=30").unwrap();
    other.exec(&format!("DELETE FROM {database}.u")).unwrap();
    other.exec(&format!("ALTER TABLE {database}.t COMMENT='x'")).unwrap();
    assert!(matches!(swap.run(&mut session, WAIT), Err(Error::Altered { .. })));
    other.exec(&format!("ALTER TABLE {database}.t COMMENT=''")).unwrap();
    // Somebody keeps the last table, which nobody looks at.
    other.exec("START TRANSACTION").unwrap();
    other.query(&format!("SELECT * FROM {database}.v")).unwrap();
    match swap.run(&mut session, Duration::from_secs(1)) {
        Err(Error::LockWait { target, holders, .. }) => {
            let wanted = format!("connection {} of", other.id());
            assert!(holders.iter().any(|text| text.starts_with(&wanted)), "{holders:?}");
            assert_eq!(target, first_of(["t", "u", "v", "w"].map(|t| format!("{database}.{t}"))));
        }
        other => panic!("{other:?}"),
    }
    other.exec("COMMIT").unwrap();
    swap.run(&mut session, WAIT).unwrap();
    for (pair, old) in pairs.iter().zip([1, 0, 1]) {
        assert_eq!(count(&mut session, &pair.table), 1);
        assert_eq!(count(&mut session, &aside(pair)), old);
    }
    assert_eq!(count(&mut session, &pairs[3].table), 0);
}
