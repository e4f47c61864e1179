//! Rows added to tables of which most pages get none: these go into the new file as pages, and the table
//! is what LOAD DATA makes of it.

use std::collections::HashSet;

use load::{LoadPath, Mode};
use testkit::tables::compare::{Exported, same_rows};
use testkit::tables::server::{Db, Server};

const ROWS: usize = 40_000;
const PAGE: usize = 16_384;
/// Bytes of a page before its records, and what every index page is called.
const HEAP: usize = 120;
const INDEX_PAGE: [u8; 2] = [0x45, 0xbf];

const TABLE: &str = "(id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, at INT NOT NULL, w VARCHAR(40), x INT, \
                     l LONGTEXT, KEY at (at), UNIQUE KEY w (w, id), KEY x (x))";

/// A row in which only `x` and some of `l` are in no order.
fn row(id: usize) -> String {
    let long = if id.is_multiple_of(2_110) { id * 7 % 30_000 } else { id % 50 };
    format!("{id}\t{}\tword {id:07}\t{}\t{}\n", id / 3, id * 7_919 % 10_007, "l".repeat(long))
}

fn text(ids: impl Iterator<Item = usize>) -> String {
    ids.map(row).collect()
}

/// The records of all leaves and nodes, page by page.
fn pages(server: &Server, db: &mut Db) -> HashSet<Vec<u8>> {
    let bytes = Exported::new(server, db, "b").source.file;
    let is_of_index = |page: &&[u8]| page[24..26] == INDEX_PAGE;
    let records = |page: &[u8]| {
        let heap_top = usize::from(u16::from_be_bytes([page[40], page[41]]));
        page[HEAP..heap_top].to_vec()
    };
    bytes.chunks(PAGE).filter(is_of_index).map(records).collect()
}

/// Both tables with the same rows: `b` filled by a build, or as `a` by the server.
fn filled(server: &Server, is_built: bool) -> Db {
    let mut db = server.database();
    let file = server.file(&db, "rows", text((1..=ROWS).map(|at| at * 10)));
    for table in ["a", "b"] {
        db.sql(&format!("CREATE TABLE {table} {TABLE}"));
        if table == "b" && is_built {
            server.load(&server.options(&db, table, vec![file.clone()])).unwrap();
        } else {
            db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE {table}", file.display()));
        }
    }
    db
}

fn append(server: &Server, db: &mut Db, ids: impl Iterator<Item = usize>) {
    let file = server.file(db, "more", text(ids));
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a", file.display()));
    let mut options = server.options(db, "b", vec![file]);
    (options.mode, options.path) = (Mode::Append, LoadPath::Direct);
    server.load(&options).unwrap();
    let folder = server.folder(&db.name);
    Exported::new(server, db, "b").verify(db, &folder);
    same_rows(db, "b", "a", &["PRIMARY", "at", "w", "x"]);
}

#[test]
fn rows_at_the_end_leave_the_pages_before_as_they_are() {
    let Some(server) = Server::get() else { return };
    // Its pages are not those that a build would make of its rows.
    let mut db = filled(&server, false);
    let before = pages(&server, &mut db);
    append(&server, &mut db, (1..300).map(|at| (ROWS + at) * 10));
    let kept = pages(&server, &mut db).intersection(&before).count();
    // Of the indexes that they are the last of; in the clustered one the server writes numbers of its own
    // into every row, and in that of `x` rows go everywhere.
    assert!(kept * 6 > before.len(), "{kept} of {}", before.len());
}

/// Pages that a server has filled, emptied and changed: some are taken, some written anew.
#[test]
fn pages_are_taken_between_others_that_are_not() {
    let Some(server) = Server::get() else { return };
    for is_built in [true, false] {
        let mut db = filled(&server, is_built);
        append(&server, &mut db, (1..40).map(|at| (ROWS + at) * 10).chain([5, 40_001, 80_005]));
        let deleted = [
            "DELETE FROM {} WHERE id BETWEEN 20000 AND 22000 OR id % 40000 = 0",
            "UPDATE {} SET l = 'another', x = -x WHERE id BETWEEN 60000 AND 60400",
            "UPDATE {} SET w = CONCAT('y', w) WHERE id BETWEEN 70000 AND 70100",
        ];
        for sql in deleted {
            for table in ["a", "b"] {
                db.sql(&sql.replace("{}", table));
            }
        }
        append(&server, &mut db, (1..9).map(|at| at * 10_003).chain([200_000]));
        // Nobody's business any more: what both take afterwards.
        for table in ["a", "b"] {
            db.sql(&format!("INSERT INTO {table} SELECT id + 500001, at, w, x, l FROM {table}"));
            db.sql(&format!("DELETE FROM {table} WHERE id % 30 < 5"));
        }
        same_rows(&mut db, "b", "a", &["PRIMARY", "at", "w", "x"]);
    }
}
