//! Tables whose rows are the distinct values of some columns.

use super::shop::{Shop, lines, shown};
use crate::support::{finish, resume, start, wait_paused};

#[test]
fn each_entity_is_one_row_and_ids_follow_the_first_lines() {
    let Some(mut shop) = Shop::new() else { return };
    // Enough for many chunks, which two workers read in any order.
    let text = lines(20_000);
    shop.load(&text, &[]).done();
    assert_eq!(shop.joined(), shown(&text));
    let mut firsts: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    firsts.extend(
        text.lines().map(|line| line.split(',').nth(2).unwrap()).filter(|e| seen.insert(*e)),
    );
    assert_eq!(shop.desk.rows("SELECT email FROM customers ORDER BY id"), firsts);
    let range = shop.desk.rows("SELECT MIN(id), MAX(id) FROM orders");
    assert_eq!(range, ["1|20000"]);
    // The same again gives the same ids.
    let state = shop.state();
    shop.load(&text, &["--mode", "replace"]).done();
    assert_eq!(shop.state(), state);
}

#[test]
fn what_is_one_to_the_server_is_one_entity() {
    let Some(mut shop) = Shop::new() else { return };
    shop.edit(
        r#"id = "id" }

[[table]]
name = "products""#,
        r#"id = "id", on_conflict = "first" }

[[table]]
name = "products""#,
    );
    let text = "A,2026-01-01,Ann@x.de,Ann,1,S1,Nail,1.50,2\n\
                B,2026-01-02,ANN@X.DE  ,Anna,1,S1,Nail,1.50,3\n";
    shop.load(text, &[]).done();
    assert_eq!(shop.desk.rows("SELECT id, email, name FROM customers"), ["1|Ann@x.de|Ann"]);
    assert_eq!(shop.desk.rows("SELECT customer FROM orders"), ["1", "1"]);
}

#[test]
fn lines_that_say_different_things_of_one_entity_fail_or_count_as_was_said() {
    let Some(mut shop) = Shop::new() else { return };
    let text = "A,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\n\
                B,2026-01-02,b@x,Bob,1,S1,Nail,1.75,3\n\
                C,2026-01-03,a@x,Ann,1,S1,Nail,1.50,4\n\
                D,2026-01-04,d@x,Dan,1,S2,Bolt,9.00,5\n";
    let state = shop.state();
    shop.load(text, &[]).refused(
        1,
        &[
            "wide.csv line 3 and wide.csv line 2 have the same key but different values",
            "for a row of",
            "products: ",
            "on_conflict",
        ],
    );
    assert_eq!(shop.state(), state);
    for (rule, price, orders) in [("first", "1.50", 4), ("last", "1.50", 4)] {
        shop.edit("on_conflict = \"fail\"", &format!("on_conflict = \"{rule}\""));
        shop.load(text, &[]).done();
        assert_eq!(
            shop.desk.rows("SELECT price FROM products ORDER BY id"),
            [price, "9.00"],
            "{rule}"
        );
        assert_eq!(shop.counts()[2], orders, "{rule}");
        shop.reset();
        shop.edit(&format!("on_conflict = \"{rule}\""), "on_conflict = \"fail\"");
    }
    let without_the_last = text.replace("C,2026-01-03,a@x,Ann,1,S1,Nail,1.50,4\n", "");
    shop.edit("on_conflict = \"fail\"", "on_conflict = \"last\"");
    shop.load(&without_the_last, &[]).done();
    assert_eq!(shop.desk.rows("SELECT price FROM products ORDER BY id"), ["1.75", "9.00"]);
    shop.reset();
    shop.edit("on_conflict = \"last\"", "on_conflict = \"reject\"");
    shop.load(text, &[])
        .refused(1, &["line 3", "differs from the first line with the same row of products"]);
    let kept = shop.load(text, &["--rejects-max", "1", "--rejects", "bad.csv"]);
    assert_eq!(kept.code(), 3, "{kept:?}");
    assert_eq!(shop.counts(), [2, 2, 3, 3], "Bob is nobody's customer any more");
    let bad = std::fs::read_to_string(shop.path("bad.csv")).unwrap();
    assert!(bad.ends_with("\nB,2026-01-02,b@x,Bob,1,S1,Nail,1.75,3\n"), "{bad}");
}

/// Lines that a rule and a conflict refuse count for each other, in any order.
#[test]
fn a_line_that_is_not_unique_counts_for_its_entities_and_the_other_way_round() {
    let Some(mut shop) = Shop::new() else { return };
    let rule = "[[rule]]\nfield = \"customer\"\nunique = true\n[[table]]\nname = \"customers\"";
    shop.edit("[[table]]\nname = \"customers\"", rule);
    shop.edit("on_conflict = \"fail\"", "on_conflict = \"reject\"");
    let first = "A,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\n";
    // The second differs from the first, and is the first with the customer or the product of the third.
    let (conflict, same_customer) =
        ("B,2026-01-01,b@x,Bob,1,S1,Nail,1.75,2\n", "C,2026-01-01,c@x,Bob,1,S2,Bolt,9.00,2\n");
    let (not_unique, same_product) =
        ("B,2026-01-01,b@x,Ann,1,S2,Bolt,9.00,2\n", "C,2026-01-01,c@x,Cid,1,S2,Bolt,9.50,2\n");
    for (second, third) in [(conflict, same_customer), (not_unique, same_product)] {
        shop.reset();
        let loaded = shop.load(&format!("{first}{second}{third}"), &["--rejects-max", "2"]);
        assert_eq!(loaded.code(), 3, "{loaded:?}");
        assert_eq!(shop.counts(), [1, 1, 1, 1], "{second}{third}");
    }
}

#[test]
fn no_row_whose_id_others_have_is_left_out_for_another_key() {
    let Some(mut shop) = Shop::new() else { return };
    shop.desk.exec("ALTER TABLE customers ADD UNIQUE (name)");
    let text = "A,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\nB,2026-01-02,b@x,Ann,1,S1,Nail,1.50,3\n";
    for rule in ["skip", "replace"] {
        for mode in ["insert", "append"] {
            let typed = ["--on-duplicate", rule, "--mode", mode];
            shop.load(text, &typed).refused(1, &["customers", "`name`"]);
            assert_eq!(shop.counts(), [0; 4], "{typed:?}");
        }
    }
    // It goes for the other tables.
    let twice = "A,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\nA,2026-01-01,a@x,Ann,1,S1,Nail,1.50,3\n";
    shop.load(twice, &["--on-duplicate", "skip"]).done();
    assert_eq!(shop.counts(), [1; 4]);
    shop.edit("name = \"orders\"", "name = \"orders\"\non_duplicate = \"skip\"");
    shop.load(text, &[]).refused(2, &["job.toml line 21: on_duplicate of orders", "on_conflict"]);
}

#[test]
fn ids_that_lines_cannot_refer_to_are_named() {
    let Some(mut shop) = Shop::new() else { return };
    shop.desk.exec("ALTER TABLE orders DROP FOREIGN KEY orders_ibfk_1");
    shop.desk.exec("ALTER TABLE customers MODIFY id INT AUTO_INCREMENT");
    shop.desk.exec("INSERT INTO customers VALUES (-5, 'a@x', 'Ann'), (-6, 'z@x', 'Zoe')");
    let text = "A,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\n";
    shop.load(text, &["--mode", "append"])
        .refused(2, &["customers already has a row", "but its id is -5"]);
    shop.load(&text.replace("a@x", "b@x"), &["--mode", "append"]).done();
    assert_eq!(shop.desk.rows("SELECT customer FROM orders"), ["1"]);
}

#[test]
fn rows_that_are_there_keep_their_ids_and_new_ones_get_the_next() {
    let Some(mut shop) = Shop::new() else { return };
    let (first, second) = (lines(400), lines(900));
    shop.load(&first, &[]).done();
    shop.desk.exec("UPDATE customers SET name = 'Known before' WHERE id = 1");
    let known = shop.desk.rows("SELECT id, email, name FROM customers ORDER BY id");
    // What the first file had is left out of the second.
    let rest: String = second
        .lines()
        .filter(|line| line[1..].split(',').next().unwrap().parse::<u32>().unwrap() >= 400)
        .fold(String::new(), |text, line| text + line + "\n");
    shop.load(&rest, &["--mode", "append"]).done();
    let after = shop.desk.rows("SELECT id, email, name FROM customers ORDER BY id");
    assert_eq!(after[..known.len()], known);
    assert_eq!(shop.counts()[2..], [900, 2700]);
    let gaps = "SELECT MAX(id) - COUNT(*) FROM customers";
    assert_eq!(shop.desk.rows(gaps), ["0"], "no id is left out");
    // A bad last line leaves all as it was, and burns no id.
    let state = shop.state();
    let more = "Z1,2026-01-01,new@x,New,1,S1,Product 1,1.50,1\nZ2,2026-01-01,new@x,New,1,S1,Product 1,1.50,?\n";
    shop.load(more, &["--mode", "append"]).refused(1, &["wide.csv line 3", "\"?\" is not INT"]);
    assert_eq!(shop.state(), state);
}

/// Ids are those of no other load: a load that came between would give them to its own rows.
#[test]
fn tables_are_taken_before_ids_are_chosen() {
    let Some(mut shop) = Shop::new() else { return };
    let good = lines(40);
    let mut command = shop.command(&good);
    let mut child = start(command.env("INRUSH_FAILPOINT", "thread.ids=pause"));
    wait_paused(&mut child);
    let file = shop.desk.home.file("others.csv", "1,other@example.org,Other\n");
    let other = shop.desk.load("customers", &file, &["--lock-wait", "1"]);
    assert!(other.code() != 0 && other.err.contains("another load into"), "{other:?}");
    // Each of its threads stops there.
    while child.try_wait().unwrap().is_none() {
        resume(&child);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    finish(child).done();
    assert_eq!(shop.joined(), shown(&good));
}
