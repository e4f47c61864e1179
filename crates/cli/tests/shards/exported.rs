//! Exports of a table on shards.

use super::*;

fn export(scene: &Scene<'_>, output: &str, more: &[&str]) -> Command {
    let table = scene.table();
    let mut export = scene.home.inrush(["export", &table, "-o", output, "--force"]);
    export.args(["--host", "127.0.0.1", "--user", "shard", "--port"]);
    let port = scene.shards.options().port.unwrap();
    export.arg(port.to_string()).env("MYSQL_PWD", "secret").args(more);
    export
}

/// How many rows a table has, and sums over them.
fn sums(scene: &mut Scene<'_>, table: &str) -> [String; 3] {
    let sum = format!(
        "SELECT COUNT(*), BIT_XOR(CRC32(CONCAT_WS('|', id, name, day))), SUM(CRC32(CONCAT(id, name))) FROM {table}"
    );
    let row = scene.session.query_row(&sum).unwrap();
    [0, 1, 2].map(|at| row.text_lossy(at))
}

#[test]
fn rows_of_all_shards_come_out_and_give_an_equal_table() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::new(&shards, "HASH (id)", &[]);
    scene.rows(1, 5_000);
    scene.load(&[]).done();
    let (database, table) = (scene.database.clone(), scene.table());
    let back = format!("{database}.back");
    let create = format!("CREATE TABLE {back} ({COLUMNS}) ENGINE=InnoDB CHARSET=utf8mb4");
    scene.session.exec(&create).unwrap();
    for file in ["out.csv", "out.txt.gz", "out.parquet", "out.arrow"] {
        let out = run(&mut export(&scene, file, &[]));
        for part in ["5,000 rows exported", "3 threads", "from 3 shards, all at one moment"] {
            assert!(out.done().out.contains(part), "{out:?}");
        }
        let mut load = scene.home.inrush(["load", file, "--into", &back, "--mode", "replace"]);
        load.args(["--host", "127.0.0.1", "--user", "shard", "--port"]);
        load.arg(shards.options().port.unwrap().to_string()).env("MYSQL_PWD", "secret");
        run(&mut load).done();
        assert_eq!(sums(&mut scene, &back), sums(&mut scene, &table), "{file}");
    }
    let folder = ["--split-rows", "900", "--dialect", "csv", "--json"];
    let out = run(&mut export(&scene, "out/", &folder));
    assert_eq!(out.done().out.matches("/t.000").count(), 6, "{out:?}");

    // Through the head, and it is said what that means.
    for (more, why, rows) in [
        (
            ["--where", "id > 100"],
            "through the Spider server: only the Spider server can evaluate --where",
            "4,900 rows",
        ),
        (["--shard", "s2=127.0.0.1:1"], "s2 (127.0.0.1:1) is unreachable", "5,000 rows"),
    ] {
        let out = run(&mut export(&scene, "out.csv", &more));
        for part in [why, rows, "rows are read through the Spider server, which reads one"] {
            assert!(out.done().out.contains(part), "{out:?}");
        }
    }
    let there = &shards.tables(&database).unwrap()[3][0];
    let alter = format!("ALTER TABLE {database}.`{there}` ADD COLUMN more INT");
    shards.nodes[2].connect().unwrap().exec(&alter).unwrap();
    let out = run(&mut export(&scene, "out.csv", &[]));
    assert!(
        out.done().out.contains("is not an InnoDB table with the columns of the Spider table"),
        "{out:?}"
    );
    scene.session.exec(&format!("DROP TABLE {back}")).unwrap();
}

/// Accounts on shards, between which transactions of the head move what they hold.
fn accounts(shards: &Shards) -> Scene<'_> {
    let scene = Scene::with(shards, "id INT PRIMARY KEY, held INT NOT NULL", "HASH (id)", &[]);
    let rows: Vec<String> = (1..=300).map(|id| format!("({id},100)")).collect();
    let fill = format!("INSERT INTO {} VALUES {}", scene.table(), rows.join(","));
    shards.session().unwrap().exec(&fill).unwrap();
    scene
}

/// Moves something from the account of one shard to that of another.
fn transfer(session: &mut Session, table: &str, turn: u32) -> Result<(), server::Error> {
    let (from, to) = (turn % 299 + 1, (turn + 1) % 299 + 1);
    session.exec("START TRANSACTION")?;
    for (account, sign) in [(from, '-'), (to, '+')] {
        let update = format!("UPDATE {table} SET held = held {sign} 7 WHERE id = {account}");
        session.exec(&update)?;
    }
    session.exec("COMMIT").map(drop)
}

#[track_caller]
fn is_of_one_moment(scene: &Scene<'_>, outcome: &Outcome) {
    assert!(outcome.done().out.contains("300 rows exported"), "{outcome:?}");
    assert!(outcome.out.contains("shards, all at one moment"), "{outcome:?}");
    let text = std::fs::read_to_string(scene.home.path().join("out.csv")).unwrap();
    let held = text.lines().map(|line| line.split_once(',').unwrap().1.parse::<i64>().unwrap());
    assert_eq!(held.sum::<i64>(), 30_000);
}

#[test]
fn what_moves_between_shards_is_exported_once() {
    let Some(shards) = shards() else { return };
    let scene = accounts(&shards);
    let (done, table) = (AtomicBool::new(false), scene.table());
    let mut session = shards.session().unwrap();
    let moved = std::thread::scope(|scope| {
        let moving = scope.spawn(|| {
            let (mut moved, begun) = (0, Instant::now());
            for turn in 0.. {
                if done.load(Ordering::Relaxed) || begun.elapsed() > PATIENCE {
                    break;
                }
                match transfer(&mut session, &table, turn) {
                    Ok(()) => moved += 1,
                    Err(_) => drop(session.exec("ROLLBACK")),
                }
            }
            moved
        });
        let outcomes: Vec<Outcome> =
            (0..4).map(|_| run(&mut export(&scene, "out.csv", &[]))).collect();
        // One is stopped between the snapshots of two shards.
        let mut command = export(&scene, "out.csv", &[]);
        let mut child = start(command.env("INRUSH_FAILPOINT", "export.snapshot.1=pause"));
        wait_paused(&mut child);
        std::thread::sleep(Duration::from_millis(300));
        resume(&child);
        let stopped = finish(child);
        done.store(true, Ordering::Relaxed);
        for outcome in outcomes.iter().chain([&stopped]) {
            is_of_one_moment(&scene, outcome);
        }
        moving.join().unwrap()
    });
    assert!(moved > 5, "{moved} transactions");
}

#[test]
fn who_waits_for_an_export_at_one_shard_is_not_waited_for_at_another() {
    let Some(shards) = shards() else { return };
    let scene = accounts(&shards);
    let table = scene.table();
    let mut session = shards.session().unwrap();
    session.exec("START TRANSACTION").unwrap();
    // Of the last shard, which is locked when the first one is.
    session.exec(&format!("UPDATE {table} SET held = held - 7 WHERE id = 2")).unwrap();
    let child = start(&mut export(&scene, "out.csv", &[]));
    std::thread::sleep(Duration::from_millis(700));
    session.exec(&format!("UPDATE {table} SET held = held + 7 WHERE id = 3")).unwrap();
    session.exec("COMMIT").unwrap();
    is_of_one_moment(&scene, &finish(child));
}
