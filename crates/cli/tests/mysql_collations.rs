//! Built indexes over text of MySQL's collations, beside those of its own LOAD DATA. Runs where
//! INRUSH_TEST_MYSQLD names a `mysqld`.

use std::fmt::Write as _;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use server::Session;
use testkit::TestServer;

use crate::support::{Home, Outcome, run};

const COLLATIONS: [&str; 14] = [
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_0900_bin",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_bin",
    "utf8mb3_general_ci",
    "utf8mb3_unicode_ci",
    "utf8mb3_bin",
    "latin1_swedish_ci",
    "latin1_general_ci",
    "latin1_bin",
    "ascii_general_ci",
];
/// Pieces of text as LOAD DATA reads them: case, accents, expansions, ignorable characters, spaces and
/// what sorts before them.
const ASCII: &str = "a A b B ss ae z Z ch dz fi i 0 9 - ! ~ \\t \\0 \u{1}";
const LATIN1: &str = "á Á ä Ä ß æ é Ö ø ÿ \u{a0} \u{ad} €";
const UTF8MB3: &str = "a\u{308} e\u{301} \u{301} ﬁ ı İ ſ ー カ ガ か ｶ 가 \u{1100}\u{1161} 漢 字 \u{200d} ﷺ เก ก \u{feff}";
const UTF8MB4: &str = "\u{1f600} \u{10348} \u{20000} \u{1d400}";

/// A MySQL of the test's own.
struct Scene {
    server: TestServer,
    session: Session,
    home: Home,
    state: u64,
}

impl Scene {
    fn new() -> Option<Scene> {
        let server = TestServer::mysql(Vec::new())?;
        let mut session = server.connect().unwrap();
        session.exec("CREATE DATABASE d").unwrap();
        session.exec("USE d").unwrap();
        Some(Scene { server, session, home: Home::new(), state: 1 })
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % limit
    }

    /// A text of few different pieces, so that many are equal; spaces anywhere.
    fn text(&mut self, pieces: &[&str], chars_max: usize) -> String {
        let few = [self.below(pieces.len()), self.below(pieces.len()), self.below(pieces.len())];
        let mut text = String::new();
        for _ in 0..self.below(5) {
            let piece = match self.below(5) {
                0 => " ",
                _ => pieces[few[self.below(3)]],
            };
            if text.chars().count() + piece.chars().count() > chars_max {
                break;
            }
            text.push_str(piece);
        }
        text.push_str(&"  "[..self.below(3).min(chars_max - text.chars().count().min(chars_max))]);
        text
    }

    /// Both tables, the server's own filled; the file of the other one.
    fn tables(&mut self, columns: &str, rows: &str, ignore: &str) -> PathBuf {
        for table in ["own", "built"] {
            self.session.exec(&format!("DROP TABLE IF EXISTS {table}")).unwrap();
            self.session.exec(&format!("CREATE TABLE {table} ({columns})")).unwrap();
        }
        let sql =
            format!("LOAD DATA LOCAL INFILE 'x' {ignore} INTO TABLE own CHARACTER SET utf8mb4");
        self.session.load_local(&sql, Cursor::new(rows.as_bytes().to_vec())).unwrap();
        self.home.file("rows.txt", rows)
    }

    fn load(&self, file: &Path, more: &[&str]) -> Outcome {
        run(self.home.load(&self.server, "d.built", file).arg("--unlogged").args(more))
    }

    /// First column of each row.
    fn column(&mut self, sql: &str) -> Vec<String> {
        self.session.query(sql).unwrap().iter().map(|row| row.text_lossy(0)).collect()
    }

    /// Ids in the order of an index.
    fn ids(&mut self, table: &str, index: &str) -> Vec<String> {
        self.session.exec(&format!("HANDLER {table} OPEN")).unwrap();
        let ids = self.column(&format!("HANDLER {table} READ `{index}` FIRST LIMIT 1000000"));
        self.session.exec(&format!("HANDLER {table} CLOSE")).unwrap();
        ids
    }

    #[track_caller]
    fn compare(&mut self, what: &str, indexes: &[&str]) {
        let check = self.session.query("CHECK TABLE built EXTENDED").unwrap();
        assert_eq!(check.last().unwrap().text_lossy(3), "OK", "{what}");
        let all = "SELECT CONCAT_WS('|', id, HEX(v), HEX(c), HEX(t)) FROM";
        let [own, built] = ["own", "built"]
            .map(|table| self.column(&format!("{all} {table} FORCE INDEX (id) ORDER BY id")));
        assert!(own == built, "{what}: rows differ");
        for index in indexes {
            let [own, built] = ["own", "built"].map(|table| self.ids(table, index));
            let first = own.iter().zip(&built).position(|(own, built)| own != built);
            assert!(own.len() == built.len() && first.is_none(), "{what}, {index}: {first:?}");
        }
    }
}

fn pieces(collation: &str) -> Vec<&'static str> {
    let sets: &[&str] = match collation {
        name if name.starts_with("ascii") => &[ASCII],
        name if name.starts_with("latin1") => &[ASCII, LATIN1],
        name if name.starts_with("utf8mb3") => &[ASCII, LATIN1, UTF8MB3],
        _ => &[ASCII, LATIN1, UTF8MB3, UTF8MB4],
    };
    sets.iter().flat_map(|set| set.split(' ')).collect()
}

/// Columns of a table whose texts have this collation, and its keys.
fn columns(collation: &str, keys: &str) -> String {
    let text = format!("COLLATE {collation}");
    format!(
        "id INT NOT NULL, v VARCHAR(60) {text}, c CHAR(12) {text} NOT NULL, t TEXT {text} NOT NULL, \
         KEY id (id), {keys}"
    )
}

#[test]
fn built_indexes_are_those_of_mysql() {
    let Some(mut scene) = Scene::new() else { return };
    for collation in COLLATIONS {
        let pieces = pieces(collation);
        let mut rows = String::new();
        for id in 0..4000 {
            let v = match scene.below(50) {
                0 => "\\N".to_owned(),
                _ => scene.text(&pieces, 40),
            };
            let (c, t) = (scene.text(&pieces, 10), scene.text(&pieces, 40));
            writeln!(rows, "{id}\t{v}\t{c}\t{t}").unwrap();
        }
        let keys = "PRIMARY KEY (c, t(4), id), KEY v (v), KEY v_down_c (v DESC, c), KEY v_prefix (v(2), id), \
                    KEY c (c), KEY c_prefix (c(2), v), KEY c_down (c DESC, v), KEY t (t(3)), \
                    KEY t_down (t(9) DESC, id)";
        let file = scene.tables(&columns(collation, keys), &rows, "");
        scene.load(&file, &[]).done();
        let indexes =
            ["PRIMARY", "v", "v_down_c", "v_prefix", "c", "c_prefix", "c_down", "t", "t_down"];
        scene.compare(collation, &indexes);
    }
}

#[test]
fn duplicates_are_those_of_mysql() {
    let Some(mut scene) = Scene::new() else { return };
    for collation in COLLATIONS {
        let pieces = pieces(collation);
        for unique in ["v (v)", "v (c)", "v (t(3))", "v (v(2), c)"] {
            let mut rows = String::new();
            for id in 0..1500 {
                let [v, c, t] = [(); 3].map(|()| scene.text(&pieces, 10));
                writeln!(rows, "{id}\t{v}\t{c}\t{t}").unwrap();
            }
            let columns = columns(collation, &format!("UNIQUE KEY {unique}, KEY c (c)"));
            let file = scene.tables(&columns, &rows, "IGNORE");
            scene.load(&file, &[]).refused(1, &["uplicate"]);
            scene.load(&file, &["--on-duplicate", "skip"]).done();
            scene.compare(&format!("{collation}, {unique}"), &["v", "c"]);
        }
    }
}

#[test]
fn labels_are_those_of_mysql() {
    let Some(mut scene) = Scene::new() else { return };
    let texts = [
        "a", "A", "á", "a ", "é", "E", "É", "e\u{301}", "STRASSE", "strasse", "straße ", "Straße",
        "x y", "X  Y", "X\u{a0}Y", " a", "\u{ff41}", "5", "1", "a\u{ad}", "",
    ];
    let mut rows = String::new();
    for (id, text) in texts.iter().enumerate() {
        writeln!(rows, "{id}\t{text}").unwrap();
    }
    for collation in COLLATIONS.into_iter().filter(|name| !name.starts_with("ascii")) {
        let columns =
            format!("id INT PRIMARY KEY, e ENUM('a','é','straße','x y') COLLATE {collation}");
        let file = scene.tables(&columns, &rows, "IGNORE");
        let outcome = scene.load(&file, &["--rejects-max", "100"]);
        assert_eq!(outcome.code(), 3, "{outcome:?}");
        // The server's IGNORE stores 0 where Inrush rejects the row.
        let [own, built] = ["own", "built"].map(|table| {
            scene.column(&format!("SELECT CONCAT_WS('|', id, e + 0) FROM {table} WHERE e > 0"))
        });
        assert_eq!(own, built, "{collation}");
    }
}
