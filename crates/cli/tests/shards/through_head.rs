//! Rows that go through the head: it alone can tell where, or reach the shards.

use super::*;

/// KEY of a text: which partition takes a row depends on the server's collations.
pub(super) const BY_NAME: &str =
    "id INT NOT NULL, name VARCHAR(20) NOT NULL, day DATE, PRIMARY KEY (id, name)";
/// Where a load is killed; the last three by INRUSH_TEST_KILLS only.
const PLACES: [&str; 7] = [
    "shards.created.1",
    "head.committed",
    "shards.swapped",
    "shards.removed",
    "shards.head",
    "head.sent",
    "shards.swap",
];

#[test]
fn rows_that_only_the_head_can_tell_apart_go_through_it() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::with(&shards, BY_NAME, "KEY (name)", &[]);
    scene.rows(1, 2_000);
    let plan = run(&mut scene.command("plan", &[]));
    for part in [
        "loads with the insert path",
        "rows are sent through the Spider server",
        "not shards: partitions by KEY",
    ] {
        assert!(plan.done().out.contains(part), "{plan:?}");
    }
    let loaded = scene.load(&[]);
    assert!(
        loaded.done().out.contains("so only the Spider server can divide the rows"),
        "{loaded:?}"
    );
    scene.is_whole("through the head");
    assert!(scene.counts().iter().all(|count| *count > 100), "{:?}", scene.counts());
    let other: u64 = 700;
    scene.rows(300, 700);
    scene.load(&replace(&["--path", "insert"])).done();
    scene.is_whole("replaced through the head");
    scene
        .load(&replace(&["--path", "stream"]))
        .refused(2, &["only INSERT sends rows through the Spider server"]);
    scene.load(&replace(&["--on-duplicate", "skip"])).refused(2, &["--on-duplicate fail"]);
    for (rows, parts) in [
        ("7\tseven\t2020-01-01\n7\tseven\t2020-01-01\n", ["two rows have the same", "7-seven"]),
        ("7\tseven\t2020-01-01\n8\teight\tx\n", ["line 2", "x"]),
    ] {
        scene.home.file("rows", rows);
        scene.load(&replace(&[])).refused(1, &parts);
        assert_eq!(scene.count(), other);
        scene.is_clean(rows);
    }
}

#[test]
fn the_head_is_asked_where_it_is_wanted_or_alone_knows_the_partition() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::new(&shards, "HASH (id)", &[]);
    scene.rows(1, 400);
    let loaded = scene.load(&["--path", "coordinator"]);
    assert!(loaded.done().out.contains("--path coordinator was requested"), "{loaded:?}");
    scene.is_whole("--path head");
    scene.load(&[]).refused(2, &["the table is not empty; --mode append"]);
    scene.session.exec(&format!("CREATE TABLE {}.own (a INT)", scene.database)).unwrap();
    for verb in ["load", "plan"] {
        let mut command = scene.command(verb, &["--path", "head"]);
        command.args(["--into", &format!("{}.own", scene.database)]);
        run(&mut command)
            .refused(2, &["--path coordinator is for tables with partitions on other servers"]);
    }
    scene.session.exec(&format!("DROP TABLE {}.own", scene.database)).unwrap();

    // Spider has shards call a function that they lack.
    let floats = "id INT NOT NULL, name VARCHAR(20), day FLOAT, PRIMARY KEY (id)";
    let scene = Scene::with(&shards, floats, "HASH (id)", &[]);
    scene.home.file("rows", "1\tone\t1.5\n");
    scene.load(&["--path", "head"]).refused(2, &["to_float"]);
    scene.load(&[]).done();

    // What TO_DAYS gives of a day that no month has is not known here.
    let days = "id INT NOT NULL, name VARCHAR(20), day DATE NOT NULL, PRIMARY KEY (id, day)";
    let mut scene = Scene::with(&shards, days, "HASH (TO_DAYS(day))", &[]);
    let odd = ["--sql-mode", "ALLOW_INVALID_DATES", "--mode", "replace"];
    scene.home.file("rows", "1\tone\t2020-01-01\n2\ttwo\t2020-00-00\n");
    let loaded = scene.load(&odd);
    assert!(
        loaded.done().out.contains("some rows of the input have an unknown partition"),
        "{loaded:?}"
    );
    assert_eq!(scene.count(), 2);
    let days = |at: u32| format!("{at}\tx\t2020-01-{:02}\n", at % 28 + 1);
    let rows = (0..3_000).map(days).collect::<String>() + "3000\tlast\t2020-00-00\n";
    scene.home.file("rows", rows);
    scene.load(&odd).refused(1, &["line 3001", "--path coordinator lets it choose"]);
    scene.load(&[&odd[..], &["--path", "head"]].concat()).done();
    assert_eq!(scene.count(), 3_001);
    scene.is_clean("days of no month");
}

#[test]
fn a_load_through_the_head_leaves_the_old_rows_or_the_new_ones() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::new(&shards, "HASH (id)", &[]);
    scene.rows(1, 300);
    scene.load(&[]).done();
    // A shard that cannot be reached from here: the head makes the tables too.
    let far = ["--shard", "s2=127.0.0.1:1"];
    let all = std::env::var_os("INRUSH_TEST_KILLS").is_some();
    for (at, place) in PLACES.iter().take(if all { 7 } else { 4 }).enumerate() {
        let (before, count) = (scene.count(), 400 + at as u32 * 10);
        scene.rows(1, count);
        let mut command = scene.command("load", &replace(&far));
        let killed = run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        let is_new = BEHIND.contains(place);
        assert_eq!(scene.count(), if is_new { u64::from(count) } else { before }, "{place}");
        // The next may go to each shard by itself again.
        let loaded = scene.load(&replace(if at % 2 == 0 { &far } else { &[] }));
        let through_head = loaded.done().out.contains("through the Spider server");
        match is_new && at % 2 == 0 {
            true => assert!(loaded.out.contains("loaded already"), "{loaded:?}"),
            false => assert_eq!(through_head, at % 2 == 0, "{loaded:?}"),
        }
        scene.is_whole(place);
    }
    let before = scene.count();
    scene.rows(1, 900);
    let mut command = scene.command("load", &replace(&far));
    let mut child = start(command.env("INRUSH_FAILPOINT", "head.sent=pause"));
    wait_paused(&mut child);
    shards.nodes[2].kill_9().unwrap();
    resume(&child);
    let outcome = finish(child);
    shards.nodes[2].restart().unwrap();
    assert_eq!(outcome.code(), 1, "{outcome:?}");
    assert_eq!(scene.count(), before, "{outcome:?}");
    scene.load(&replace(&far)).done();
    scene.is_whole("a shard was killed");
}
