//! The verifier on files a server wrote, fresh and after changes at random.

use std::cmp::Ordering;
use std::sync::Arc;

use innodb::cfg::Cfg;
use innodb::ids::PageNo;
use innodb::reader::SpaceReader;
use innodb::record::RecordShape;
use innodb::verify::{Compare, Context, Report, Writer, verify_space};

use crate::cases::CASES;
use crate::server::TestServer;

/// latin1_swedish_ci and utf8mb4_general_ci, as far as the text of the tests goes: ASCII and u
/// with two dots, which is a u to the one and a y to the other, but occurs in the one only.
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let fold = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).replace('\u{FC}', "u");
        text.trim_end_matches(' ').to_ascii_uppercase().into_bytes()
    };
    let (mut a, mut b) = (fold(a), fold(b));
    let len = a.len().max(b.len());
    a.resize(len, b' ');
    b.resize(len, b' ');
    a.cmp(&b)
}

fn collations(collation: u32, _: bool) -> Option<Compare> {
    matches!(collation, 8 | 45).then(|| Arc::new(compare) as Compare)
}

fn verify(file: &[u8], cfg: Option<&Cfg>) -> Report {
    let context = Context { writer: Writer::Server, cfg, collations: &collations };
    verify_space(&file, file.len() as u64, context).unwrap()
}

/// Exports a table, verifies it with and without its `.cfg`, reads it record by record.
fn assert_clean(server: &TestServer, table: &str) -> Report {
    let (file, cfg) = server.export(table);
    let cfg = Cfg::parse(&cfg).unwrap();
    let report = verify(&file, Some(&cfg));
    let rows: u64 = server.sql(&format!("select count(*) from p.{table}")).trim().parse().unwrap();
    for report in [&report, &verify(&file, None)] {
        let first = report.violations.kept().iter().take(5).map(ToString::to_string);
        let first: Vec<_> = first.collect();
        assert!(report.violations.is_empty(), "{table}: {first:#?}");
        assert_eq!(report.indexes.len(), cfg.indexes.len(), "{table}");
        assert!(report.indexes.iter().all(|index| index.records() == rows), "{table}");
    }
    let reader = SpaceReader::open(&file, file.len() as u64).unwrap();
    for (index, known) in cfg.indexes.iter().enumerate() {
        assert_eq!(reader.indexes()[index].root, known.root);
        let shape = RecordShape::leaf(&cfg, known).unwrap();
        let mut records = reader.records(PageNo(known.root), &shape).unwrap();
        let mut live = 0;
        while let Some(record) = records.advance().unwrap() {
            live += u64::from(!record.is_deleted);
        }
        assert!(records.advance().unwrap().is_none());
        assert_eq!(live, rows, "{table} {}", known.name);
    }
    report
}

#[test]
fn tables_of_a_server_are_clean_before_and_after_changes() {
    let Some(server) = TestServer::start() else { return };
    for case in &CASES {
        server.sql(&case.create());
        server.sql(&case.fill());
        let table = format!("{}_source", case.name);
        let report = assert_clean(&server, &table);
        let levels = report.indexes.iter().map(|index| index.levels.len()).max();
        assert!(levels >= Some(case.levels_min), "{table} {levels:?}");
        server.sql(&case.change(&table));
        assert_clean(&server, &table);
    }
    random_changes(&server);
    many_indexes(&server);
    other_tables(&server);
}

/// Pages split and merged, off-page values moved, rows at both ends deleted; one seed.
fn random_changes(server: &TestServer) {
    server.sql(
        "create table p.r (a int, b int, c varchar(40) character set latin1, d mediumblob,
            e double, primary key (a, b), unique key (c), key (b desc, e), key (d(20))) engine=innodb;
         set rand_seed1 = 20260801, rand_seed2 = 7;
         insert ignore into p.r select rand() * 3000, seq % 5, md5(rand()),
            if(rand() < .1, repeat('d', rand() * 40000), left(md5(rand()), rand() * 32)),
            rand() - 0.5 from seq_1_to_12000",
    );
    for round in 0..6 {
        server.sql(&format!(
            "set rand_seed1 = {round}, rand_seed2 = 11;
             delete from p.r where rand() < 0.2;
             delete from p.r where a < {0};
             update ignore p.r set a = a + rand() * 500 where rand() < 0.1;
             update p.r set d = repeat('x', rand() * 30000) where rand() < 0.05;
             update p.r set c = md5(rand()), e = -e where rand() < 0.2;
             insert ignore into p.r select 3000 * rand(), rand() * 9, md5(rand()), null, rand()
                from seq_1_to_2000",
            round * 100
        ));
        assert_clean(server, "r");
    }
    server.sql("delete from p.r where a % 50");
    assert_clean(server, "r");
}

/// Tables that this crate does not build but should not slander: instant ALTER, R-trees, virtual
/// columns, full text, the old record format.
fn other_tables(server: &TestServer) {
    server.sql(
        "create table p.x_instant (id int primary key, a varchar(20), key (a)) engine=innodb;
         insert into p.x_instant select seq, left(md5(seq), 20) from seq_1_to_3000;
         alter table p.x_instant add column z int default 5 first, algorithm=instant;
         insert into p.x_instant values (1, 90000, 'x');
         delete from p.x_instant where id < 100;
         create table p.x_spatial (id int primary key, p point not null, spatial index (p))
            engine=innodb;
         insert into p.x_spatial select seq, point(seq, seq % 7) from seq_1_to_3000;
         delete from p.x_spatial where id % 3 = 0;
         create table p.x_virtual (id int primary key, a int, v int as (a + 1) virtual, key (v))
            engine=innodb;
         insert into p.x_virtual (id, a) select seq, seq from seq_1_to_3000;
         create table p.x_text (id int primary key, a text, fulltext (a)) engine=innodb;
         insert into p.x_text select seq, concat('word ', seq) from seq_1_to_300;
         create table p.x_redundant (id int primary key, a varchar(20), key (a))
            engine=innodb row_format=redundant;
         insert into p.x_redundant select seq, left(md5(seq), 20) from seq_1_to_3000",
    );
    for table in ["x_instant", "x_spatial", "x_virtual", "x_text", "x_redundant"] {
        let (file, cfg) = server.export(table);
        let report = verify(&file, Some(&Cfg::parse(&cfg).unwrap()));
        let first = report.violations.kept().iter().take(5).map(ToString::to_string);
        let first: Vec<_> = first.collect();
        assert!(report.violations.is_empty(), "{table}: {first:#?}");
        assert!(table == "x_text" || report.notes.len() == 1, "{table} {:?}", report.notes);
    }
}

/// 64 secondary indexes need a second inode page.
fn many_indexes(server: &TestServer) {
    let keys: Vec<_> = (0..63).map(|key| format!("key k{key} (a, b)")).collect();
    server.sql(&format!(
        "create table p.many (id int primary key, a int, b int, {}) engine=innodb;
         insert into p.many select seq, seq % 7, seq % 11 from seq_1_to_500",
        keys.join(", ")
    ));
    let report = assert_clean(server, "many");
    assert_eq!(report.indexes.len(), 64);
}
