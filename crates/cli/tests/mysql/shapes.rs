//! GEOMETRY and VECTOR columns, built by the direct path, beside tables that LOAD DATA fills.

use std::fs;
use std::path::Path;

use testkit::TestServer;

use super::Scene;
use crate::support::{Outcome, run};

const TABLE: &str = "(id INT PRIMARY KEY, g GEOMETRY, p POINT NOT NULL SRID 4326, \
                     c GEOMETRYCOLLECTION SRID 0 INVISIBLE, v VECTOR(3) NOT NULL, w VECTOR(3000), \
                     x INT NOT NULL, KEY x (x))";
const COLUMNS: &str = "id,g,p,c,v,w,x";
const ROWS: u32 = 1_200;

fn scene() -> Option<Scene> {
    Scene::of(TestServer::mysql(vec!["--secure-file-priv=".to_owned()]))
}

fn numbers(count: u32, seed: u32) -> Vec<u8> {
    (0..count).flat_map(|at| (f64::from(at * seed) / 7.0 - 90.0).to_le_bytes()).collect()
}

fn floats(count: u32, seed: u32) -> Vec<u8> {
    (0..count).flat_map(|at| ((at * 31 + seed) as f32 / 3.0 - 900.0).to_le_bytes()).collect()
}

/// A shape of the kind of this number, with the count of its parts, if any.
fn shape(kind: u32, count: Option<u32>, parts: &[u8]) -> Vec<u8> {
    let count = count.map(u32::to_le_bytes);
    let count = count.as_ref().map_or(&[][..], |count| &count[..]);
    [&[1][..], &kind.to_le_bytes(), count, parts].concat()
}

fn line(positions: u32, seed: u32) -> Vec<u8> {
    shape(2, Some(positions), &numbers(2 * positions, seed))
}

fn with_srid(srid: u32, shape: &[u8]) -> Vec<u8> {
    [&srid.to_le_bytes()[..], shape].concat()
}

/// The fields behind `id`; none is NULL.
fn row(id: u32) -> [Option<Vec<u8>>; 6] {
    let point = shape(1, None, &numbers(2, id));
    let geometry = match id % 6 {
        0 => None,
        1 => Some(with_srid(0, &point)),
        2 => Some(with_srid(4326, &line(2 + id % 50, id))),
        3 => Some(with_srid(999_999, &line(800 + id, id))),
        4 => Some(with_srid(0, &shape(4, Some(2), &point.repeat(2)))),
        _ => {
            let ring = [&4u32.to_le_bytes()[..], &numbers(8, id)].concat();
            Some(with_srid(3857, &shape(3, Some(1), &ring)))
        }
    };
    let collection = match id % 4 {
        0 => None,
        1 => Some(shape(7, Some(0), &[])),
        2 => Some(shape(5, Some(1), &line(3, id))),
        _ => Some(shape(7, Some(2), &[point.clone(), shape(7, Some(1), &point)].concat())),
    };
    [
        geometry,
        Some(with_srid(4326, &point)),
        collection.map(|shape| with_srid(0, &shape)),
        Some(floats(1 + id % 3, id)),
        (!id.is_multiple_of(5)).then(|| floats(1 + id * 7 % 3_000, id)),
        Some((id % 90).to_string().into_bytes()),
    ]
}

fn push_line(id: u32, fields: &[Option<Vec<u8>>], text: &mut Vec<u8>) {
    text.extend_from_slice(id.to_string().as_bytes());
    for field in fields {
        text.push(b'\t');
        let Some(bytes) = field else {
            text.extend_from_slice(b"\\N");
            continue;
        };
        for byte in bytes {
            match byte {
                b'\t' | b'\n' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
                0 => text.extend_from_slice(b"\\0"),
                byte => text.push(*byte),
            }
        }
    }
    text.push(b'\n');
}

/// Lines of these rows, in an order that no index has.
fn lines(first: u32, count: u32) -> Vec<u8> {
    let mut text = Vec::new();
    for at in 0..count {
        let id = first + at * 7_919 % count;
        push_line(id, &row(id), &mut text);
    }
    text
}

fn load_data(scene: &mut Scene, table: &str, file: &Path) {
    scene.exec(&format!(
        "LOAD DATA INFILE '{}' INTO TABLE {table} CHARACTER SET binary ({COLUMNS})",
        file.display()
    ));
}

fn build(scene: &Scene, table: &str, file: &Path, more: &[&str]) -> Outcome {
    let options = ["--path", "direct", "--unlogged", "--charset", "binary", "--columns", COLUMNS];
    scene.load(table, file, &[&options, more].concat())
}

/// `inrush verify` or `check` of a file, with the options of [`build`].
fn compare(scene: &Scene, command: &str, table: &str, file: &Path) -> Outcome {
    let mut inrush = scene.home.inrush([command]);
    inrush.arg(file).args(["--into", &format!("d.{table}"), "--charset", "binary"]);
    inrush.args(["--columns", COLUMNS, "--socket"]).arg(scene.server.socket());
    run(&mut inrush)
}

#[track_caller]
fn assert_same(scene: &mut Scene, when: &str) {
    let all = |table: &str| format!("SELECT {COLUMNS} FROM {table} ORDER BY id");
    let (own, built) = (scene.values(&all("own")), scene.values(&all("built")));
    let differs = own.iter().zip(&built).position(|(own, built)| own != built);
    assert!(own.len() == built.len() && differs.is_none(), "{when}: row {differs:?}");
    let checksum = |scene: &mut Scene, table: &str| {
        let line = scene.lines(&format!("CHECKSUM TABLE {table}")).remove(0);
        line.rsplit('|').next().unwrap().to_owned()
    };
    assert_eq!(checksum(scene, "own"), checksum(scene, "built"), "{when}");
    let check = scene.lines("CHECK TABLE built EXTENDED");
    assert!(check.last().unwrap().ends_with("|OK"), "{when}: {check:?}");
}

#[test]
fn built_shapes_and_vectors_are_those_of_load_data() {
    let Some(mut scene) = scene() else { return };
    let file = scene.home.file("rows.txt", lines(1, ROWS));
    for table in ["own", "built"] {
        scene.exec(&format!("CREATE TABLE {table} {TABLE}"));
    }
    load_data(&mut scene, "own", &file);
    compare(&scene, "check", "built", &file).done();
    let loaded = build(&scene, "built", &file, &[]);
    assert!(loaded.done().out.contains("direct "), "{loaded:?}");
    assert_same(&mut scene, "built");
    compare(&scene, "verify", "built", &file).done();
    let more = scene.home.file("more.txt", lines(ROWS + 1, ROWS / 2));
    load_data(&mut scene, "own", &more);
    build(&scene, "built", &more, &["--mode", "append"]).done();
    assert_eq!(compare(&scene, "verify", "built", &file).code(), 3);
    assert_same(&mut scene, "merged");
    for change in [
        "UPDATE {} SET g = ST_GeomFromText('POINT(1 2)'), v = TO_VECTOR('[1,2,3]') WHERE id % 3 = 0",
        "UPDATE {} SET w = NULL, c = NULL WHERE id % 7 = 0",
        "UPDATE {} SET p = ST_SRID(POINT(3, 4), 4326), x = x + 1 WHERE id % 11 = 0",
        "DELETE FROM {} WHERE id % 5 = 0",
        "INSERT INTO {} (id, g, p, c, v, w, x) SELECT id + 10000, g, p, c, v, w, x FROM \
         (SELECT id, g, p, c, v, w, x FROM own WHERE id < 200) n",
    ] {
        for table in ["built", "own"] {
            scene.exec(&change.replace("{}", table));
        }
        assert_same(&mut scene, change);
    }
    for is_killed in [false, true] {
        if is_killed {
            scene.server.kill_9().unwrap();
        }
        scene.server.restart().unwrap();
        scene.session = scene.server.connect().unwrap();
        scene.exec("USE d");
        assert_same(&mut scene, &format!("killed: {is_killed}"));
    }
}

/// Every value that the server refuses is a reject, and no other one.
#[test]
fn values_that_the_server_refuses_are_rejects() {
    let Some(mut scene) = scene() else { return };
    scene.exec(&format!("CREATE TABLE t {TABLE}"));
    let point = shape(1, None, &numbers(2, 1));
    let nested = shape(7, Some(1), &[]).repeat(101);
    let no_geometry = "is not such a geometry as the server stores it";
    let bad: [(usize, Vec<u8>, &str); 13] = [
        (0, point.clone(), no_geometry),
        (0, b"POINT(1 2)".to_vec(), no_geometry),
        (0, with_srid(0, &line(1, 1)), no_geometry),
        (0, with_srid(0, &[&point[..], &[0]].concat()), no_geometry),
        (0, with_srid(0, &[&[0, 0, 0, 0, 1][..], &point[5..]].concat()), no_geometry),
        (0, with_srid(0, &[&[1, 0xe9, 3, 0, 0][..], &numbers(3, 1)].concat()), no_geometry),
        (1, with_srid(0, &point), "has SRID 0, not the column's: POINT SRID 4326"),
        (1, with_srid(4326, &line(2, 1)), no_geometry),
        (2, with_srid(0, &point), no_geometry),
        (3, floats(4, 1), "is too long: VECTOR(3)"),
        (3, b"[1,2,3]".to_vec(), "is not a vector"),
        (3, f32::NAN.to_le_bytes().to_vec(), "is not a vector"),
        (4, Vec::new(), "is not a vector"),
    ];
    let mut text = Vec::new();
    for (id, (field, value, _)) in (1..).zip(&bad) {
        let mut fields = row(1);
        fields[*field] = Some(value.clone());
        let mut one = Vec::new();
        push_line(id, &fields, &mut one);
        let file = scene.home.file("one.txt", &one);
        let sql = format!(
            "LOAD DATA INFILE '{}' INTO TABLE t CHARACTER SET binary ({COLUMNS})",
            file.display()
        );
        assert!(scene.session.exec(&sql).is_err(), "{id}");
        text.extend(one);
    }
    // The server takes it.
    let mut deep = row(1);
    deep[0] = Some(with_srid(0, &[&nested[..], &shape(7, Some(0), &[])].concat()));
    push_line(14, &deep, &mut text);
    push_line(15, &row(15), &mut text);
    let file = scene.home.file("rows.txt", &text);
    let rejects = scene.home.path().join("rejects");
    let more = ["--rejects", rejects.to_str().unwrap(), "--rejects-max", "20"];
    let outcome = build(&scene, "t", &file, &more);
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    assert_eq!(scene.lines("SELECT id FROM t"), ["15"]);
    let reasons = fs::read_to_string(scene.home.path().join("rejects.reasons.jsonl")).unwrap();
    let reasons: Vec<&str> = reasons.lines().collect();
    assert_eq!(reasons.len(), bad.len() + 1);
    for (of_row, (_, _, reason)) in reasons.iter().zip(&bad) {
        assert!(of_row.contains(reason), "{of_row}: {reason}");
    }
    assert!(reasons.last().unwrap().contains("has more than 100 collections"), "{reasons:?}");
}

#[test]
fn shapes_and_vectors_leave_and_come_back() {
    let Some(mut scene) = scene() else { return };
    let file = scene.home.file("rows.txt", lines(1, ROWS));
    for table in ["own", "built"] {
        scene.exec(&format!("CREATE TABLE {table} {TABLE}"));
    }
    build(&scene, "own", &file, &[]).done();
    let export = |scene: &Scene, path: &str, format: &str| {
        let out = scene.home.path().join(format!("{path}.{format}"));
        let mut command = scene.home.inrush(["export", "d.own", "-o", out.to_str().unwrap()]);
        let more = ["--force", "--path", path, "--columns", COLUMNS];
        let dialect = if format == "tsv" { &["--dialect", "mysql"][..] } else { &[] };
        run(command.args(more).args(dialect).arg("--socket").arg(scene.server.socket())).done();
        out
    };
    for (format, more) in [
        ("tsv", &["--charset", "binary", "--dialect", "mysql"][..]),
        ("jsonl", &["g", "p", "c", "v", "w"].map(|name| ["--format-of", name]).concat()[..]),
    ] {
        let [direct, select] = ["direct", "select"].map(|path| export(&scene, path, format));
        let sorted = |path: &Path| {
            let text = fs::read(path).unwrap();
            let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort_unstable();
            lines
        };
        assert!(sorted(&direct) == sorted(&select), "{format}");
        scene.exec("TRUNCATE TABLE built");
        let with_format: Vec<String> = more
            .iter()
            .map(|word| match word.len() {
                1 => format!("{word}=base64"),
                _ => (*word).to_owned(),
            })
            .collect();
        let mut options = vec!["--path", "direct", "--unlogged"];
        options.extend(with_format.iter().map(String::as_str));
        if format != "jsonl" {
            options.extend(["--columns", COLUMNS]);
        }
        scene.load("built", &direct, &options).done();
        assert_same(&mut scene, format);
    }
}

/// Columnar files have well-known binary, and the SRID of a column once.
#[test]
fn columnar_files_have_shapes_and_vectors() {
    let Some(mut scene) = scene() else { return };
    for table in ["own", "built"] {
        scene.exec(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, p POINT NOT NULL SRID 4326, g GEOMETRY, v VECTOR(3))"
        ));
    }
    let mut text = Vec::new();
    for id in 1..200 {
        let point = with_srid(4326, &shape(1, None, &numbers(2, id)));
        let line = (id % 3 > 0).then(|| with_srid(3857, &line(2 + id % 9, id)));
        push_line(id, &[Some(point), line, (id % 4 > 0).then(|| floats(3, id))], &mut text);
    }
    let file = scene.home.file("rows.txt", &text);
    let options = ["--path", "direct", "--unlogged", "--charset", "binary"];
    scene.load("own", &file, &options).done();
    for format in ["parquet", "arrow"] {
        for path in ["direct", "select"] {
            let out = scene.home.path().join(format!("{path}.{format}"));
            let mut command = scene.home.inrush(["export", "d.own", "-o", out.to_str().unwrap()]);
            run(command.args(["--path", path, "--socket"]).arg(scene.server.socket())).done();
            let options = ["--path", "direct", "--unlogged", "--mode", "replace"];
            scene.load("built", &out, &options).done();
            let all = |table: &str| format!("SELECT * FROM {table} ORDER BY id");
            assert_eq!(scene.values(&all("own")), scene.values(&all("built")), "{path}, {format}");
        }
    }
}

/// The default of a column is asked for by a row that has nothing else.
#[test]
fn columns_left_out_get_the_values_of_their_defaults() {
    let Some(mut scene) = scene() else { return };
    let columns = "(id INT PRIMARY KEY, d DATE DEFAULT (MAKEDATE(2026, 32)), p POINT NOT NULL SRID 4326, \
                   s MULTIPOLYGON NOT NULL, v VECTOR(3) NOT NULL, \
                   g GEOMETRY DEFAULT (x'000000000101000000000000000000F03F0000000000000040'), \
                   w VECTOR(2) DEFAULT (x'0000803f'))";
    for table in ["own", "built"] {
        scene.exec(&format!("CREATE TABLE {table} {columns}"));
    }
    let ring = [&4u32.to_le_bytes()[..], &numbers(8, 3)].concat();
    let polygons = shape(6, Some(1), &shape(3, Some(1), &ring));
    let mut text = Vec::new();
    for id in 1..50 {
        let point = with_srid(4326, &shape(1, None, &numbers(2, id)));
        let fields = [point, with_srid(0, &polygons), floats(2, id)].map(Some);
        push_line(id, &fields, &mut text);
    }
    let file = scene.home.file("rows.txt", &text);
    scene.exec(&format!(
        "LOAD DATA INFILE '{}' INTO TABLE own CHARACTER SET binary (id,p,s,v)",
        file.display()
    ));
    let options =
        ["--path", "direct", "--unlogged", "--charset", "binary", "--columns", "id,p,s,v"];
    scene.load("built", &file, &options).done();
    let all = |table: &str| format!("SELECT * FROM {table} ORDER BY id");
    assert_eq!(scene.values(&all("own")), scene.values(&all("built")));
}

#[test]
fn vectors_are_sent_as_bytes_that_are_no_text() {
    let Some(mut scene) = scene() else { return };
    scene.exec("SET GLOBAL local_infile=1");
    scene.exec("CREATE TABLE t (id INT PRIMARY KEY, v VECTOR(3), p POINT SRID 4326)");
    let point = with_srid(4326, &shape(1, None, &numbers(2, 1)));
    let mut text = Vec::new();
    for (id, vector) in (1..).zip([b"abcd".to_vec(), floats(3, 1), 2f32.to_le_bytes().to_vec()]) {
        push_line(id, &[Some(vector), Some(point.clone())], &mut text);
    }
    let file = scene.home.file("rows.txt", &text);
    let expected = scene.lines("SELECT HEX('abcd')").remove(0);
    let loads = |scene: &mut Scene| scene.lines("SHOW GLOBAL STATUS LIKE 'Com_load'").remove(0);
    for path in ["insert", "stream"] {
        for charset in ["binary", "latin1"] {
            let options = ["--path", path, "--mode", "replace", "--charset", charset];
            let before = loads(&mut scene);
            scene.load("t", &file, &options).done();
            // LOAD DATA would refuse each of them in a character set.
            let is_load = path == "stream" && charset == "binary";
            assert_eq!(loads(&mut scene) != before, is_load, "{path}, {charset}");
            let vectors = scene.lines("SELECT HEX(v) FROM t ORDER BY id");
            assert_eq!((vectors.len(), &vectors[0]), (3, &expected), "{path}, {charset}");
        }
    }
}
