//! `inrush inspect` on files that a load made.

use std::fs;

use serde_json::Value;

use crate::support::{COLUMNS, Desk, lines, run};

#[test]
fn inspect_shows_a_loaded_file_and_finds_what_is_wrong_with_a_broken_one() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(&format!("CREATE TABLE t {COLUMNS}"));
    let file = desk.home.file("rows.txt", lines(20_000));
    desk.load("t", &file, &[]).done();
    desk.exec("FLUSH TABLES t FOR EXPORT");
    let copy = desk.home.path().join("t.ibd");
    for ending in ["ibd", "cfg"] {
        let name = format!("t.{ending}");
        let from = desk.server.datadir().join(&desk.database).join(&name);
        fs::copy(from, desk.home.path().join(&name)).unwrap();
    }
    desk.exec("UNLOCK TABLES");
    let inspect = |more: &[&str]| run(desk.home.inrush(["inspect", "t.ibd"]).args(more));
    let text = inspect(&[]);
    for part in ["PRIMARY", "name", "index pages", "off-page", "20,000", "height"] {
        assert!(text.done().out.contains(part), "{part}: {text:?}");
    }
    // MySQL's first tree begins behind the dictionary page.
    let root = if desk.server.is_mysql() { "4" } else { "3" };
    let page = inspect(&["--page", root]);
    for part in [&format!("page {root}"), "PAGE_LEVEL", "node pointer"] {
        assert!(page.done().out.contains(part), "{part}: {page:?}");
    }
    inspect(&["--page", "999999"]).refused(2, &["has pages 0 to ", "no page 999999"]);
    assert!(inspect(&["--verify"]).done().out.contains("verify: ok"));
    let json: Value = serde_json::from_str(&inspect(&["--json"]).done().out).unwrap();
    assert_eq!(json["indexes"][0]["name"], "PRIMARY");
    assert_eq!(json["indexes"][0]["records"], 20_000);

    let mut bytes = fs::read(&copy).unwrap();
    bytes[100 * 16_384 + 5_000] ^= 1;
    fs::write(&copy, &bytes).unwrap();
    let broken = inspect(&["--verify"]);
    assert_eq!(broken.code(), 1, "{broken:?}");
    let broken_checksum = match desk.server.is_mysql() {
        true => "page 100, byte 0: checksum is",
        false => "page 100, byte 16380: checksum is",
    };
    assert!(broken.out.contains(broken_checksum), "{broken:?}");
    fs::write(&copy, &bytes[..1_000]).unwrap();
    inspect(&[])
        .refused(1, &["t.ibd: ", "file size is 1000, expected at least a page", "FOR EXPORT"]);
    run(&mut desk.home.inrush(["inspect", "no.ibd"])).refused(2, &["no.ibd: No such file"]);
    run(&mut desk.home.inrush(["inspect", "/tmp"])).refused(2, &["/tmp is a directory"]);
}
