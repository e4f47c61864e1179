//! Whatever way the rows go in, it is all tables or none.

use super::shop::{Shop, lines, shown};

#[test]
fn tables_that_no_other_can_stand_in_for_get_their_rows_by_one_transaction() {
    let Some(mut shop) = Shop::new() else { return };
    let text = lines(300);
    let bad = format!("{text}X,2026-01-01,a@x,Ann,1,S1,Product 1,1.50,many\n");
    for path in ["stream", "insert"] {
        shop.load(&bad, &["--path", path]).refused(1, &["\"many\" is not INT"]);
        assert_eq!(shop.counts(), [0; 4], "{path}");
        let twice =
            format!("{text}N0,2026-03-01,c0@example.org,Customer 0,1,S31,Product 31,31.50,1\n");
        shop.load(&twice, &["--path", path]).refused(1, &["none of the 4 tables was changed"]);
        assert_eq!(shop.counts(), [0; 4], "{path}");
        shop.load(&text, &["--path", path]).done();
        assert_eq!(shop.joined(), shown(&text), "{path}");
        // Neither are all replaced so, nor is it said that --each would.
        let refused = shop.load(&text, &["--path", path, "--mode", "replace"]);
        refused.refused(2, &["omit --mode replace"]);
        assert!(!refused.err.contains("--each"), "{refused:?}");
        shop.reset();
        shop.load(&text, &["--path", path, "--mode", "append"]).done();
        assert_eq!(shop.joined(), shown(&text), "{path}");
        shop.reset();
    }
}

#[test]
fn a_line_that_only_the_server_refuses_is_named_as_such() {
    let Some(mut shop) = Shop::new() else { return };
    shop.desk.exec("ALTER TABLE order_lines ADD CHECK (quantity < 1000)");
    let bad = "X,2026-01-01,a@x,Ann,1,S1,Product 1,1.50,1000\n";
    let text = format!("{}{bad}", lines(100));
    let refused = shop.load(&text, &["--rejects-max", "5"]);
    refused.refused(
        1,
        &[
            "wide.csv line 302",
            "cannot skip this line, because the fault shows only while rows are loaded: correct",
            "none of the 4 tables",
        ],
    );
    assert!(!refused.err.contains("--rejects-max is"), "{refused:?}");
    assert_eq!(shop.counts(), [0; 4]);
    let rule = "[[rule]]\nfield = \"quantity\"\nmax = 999\n[[table]]\nname = \"customers\"";
    shop.edit("[[table]]\nname = \"customers\"", rule);
    let loaded = shop.load(&text, &["--rejects-max", "5"]);
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    assert_eq!(shop.joined(), shown(&lines(100)));
}

#[test]
fn a_trigger_sees_the_rows_of_lines() {
    let Some(mut shop) = Shop::new() else { return };
    shop.desk.exec("CREATE TABLE seen (no VARCHAR(12))");
    shop.desk.exec(
        "CREATE TRIGGER seen AFTER INSERT ON orders FOR EACH ROW INSERT INTO seen VALUES (NEW.no)",
    );
    let text = lines(200);
    drop(shop.command(&text));
    let mut plan = shop.desk.home.inrush(["plan", "-c", "job.toml", "--socket"]);
    plan.arg(shop.desk.server.socket());
    if let Some(user) = shop.desk.server.options().user {
        plan.args(["--user", &user]);
    }
    let plan = crate::support::run(&mut plan);
    assert!(
        plan.done().out.contains("a table of the command keeps its rows, or no staging table"),
        "{plan:?}"
    );
    shop.load(&text, &[]).done();
    assert_eq!(shop.joined(), shown(&text));
    assert_eq!(shop.desk.rows("SELECT COUNT(*), COUNT(DISTINCT no) FROM seen"), ["200|200"]);
}
