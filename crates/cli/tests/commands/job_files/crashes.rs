//! Killed at any point, all tables are the old ones or all the new ones; readers see one or the other.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, Ordering};

use super::shop::{Shop, lines, shown};
use crate::scene::SWAPPED;
use crate::support::run;

const KILL: i32 = 9;

/// Kills a load at places of which the tables are new from the marked one on, then has the same command
/// finish what was begun.
fn kill_at(shop: &mut Shop, places: &[(&str, bool)], old: &str, new: &str, more: &[&str]) {
    for (place, is_new) in places {
        shop.reset();
        if !old.is_empty() {
            shop.load(old, &[]).done();
        }
        let before = shop.rows();
        let mut command = shop.command(new);
        let killed = run(command.args(more).env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        match is_new {
            true => assert_ne!(shop.rows(), before, "{place}"),
            false => assert_eq!(shop.rows(), before, "{place}"),
        }
        let all = if more.contains(&"append") { format!("{old}{new}") } else { new.to_owned() };
        if !is_new {
            run(shop.again().args(more)).done();
        }
        assert_eq!(shop.joined(), shown(&all), "{place}");
    }
}

#[test]
fn a_job_killed_at_any_step_leaves_all_tables_empty_or_all_full() {
    let Some(mut shop) = Shop::new() else { return };
    let places = [
        ("job.begin", false),
        ("inspect.begin", false),
        ("thread.lines", false),
        ("inspect.end", false),
        ("customers.staging.begin", false),
        ("orders.rows.begin", false),
        ("order_lines.verify.end", false),
        ("products.import.begin", false),
        ("order_lines.import.end", false),
        ("publish.begin", false),
        (SWAPPED, true),
        ("job.end", true),
    ];
    kill_at(&mut shop, &places, "", &lines(2_000), &[]);
}

#[test]
fn a_replacing_job_killed_at_any_step_leaves_all_old_rows_or_all_new_ones() {
    let Some(mut shop) = Shop::new() else { return };
    let places = [
        ("thread.lines", false),
        ("inspect.end", false),
        ("customers.import.end", false),
        ("publish.begin", false),
        (SWAPPED, true),
    ];
    kill_at(&mut shop, &places, &lines(50), &lines(900), &["--mode", "replace"]);
}

#[test]
fn an_appending_job_killed_at_any_step_leaves_all_old_rows_or_adds_all_new_ones() {
    let Some(mut shop) = Shop::new() else { return };
    let new = lines(300).replace("\nN", "\nM").replacen('N', "M", 1);
    let places = [
        ("thread.lines", false),
        ("inspect.end", false),
        ("orders.rows.begin", false),
        ("order_lines.rows.end", false),
        ("publish.begin", false),
        ("publish.commit", false),
        ("publish.committed", true),
        ("job.end", true),
    ];
    kill_at(&mut shop, &places, &lines(200), &new, &["--mode", "append"]);
}

#[test]
fn readers_see_all_old_rows_or_all_new_ones() {
    let Some(mut shop) = Shop::new() else { return };
    let (few, many) = (lines(40), lines(800));
    shop.load(&few, &[]).done();
    let (old, mut readers) = (shop.counts(), 0);
    for more in [["--mode", "replace"], ["--mode", "append"]] {
        let text = match more[1] {
            "append" => many.replace("\nN", "\nM").replacen('N', "M", 1),
            _ => many.clone(),
        };
        let before = shop.counts();
        let (done, mut seen) = (AtomicBool::new(false), Vec::new());
        let mut command = shop.command(&text);
        std::thread::scope(|scope| {
            let loading = scope.spawn(|| {
                let outcome = run(command.args(more));
                done.store(true, Ordering::SeqCst);
                outcome
            });
            while !done.load(Ordering::SeqCst) {
                // One statement reads all tables, of one moment.
                let sql = "SELECT (SELECT COUNT(*) FROM customers), (SELECT COUNT(*) FROM products), \
                           (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM order_lines)";
                seen.extend(shop.desk.rows(sql));
                readers += 1;
            }
            loading.join().unwrap().done();
        });
        let text = |counts: [u64; 4]| counts.map(|count| count.to_string()).join("|");
        let (before, after) = (text(before), text(shop.counts()));
        seen.dedup();
        assert!(seen.iter().all(|one| *one == before || *one == after), "{more:?}: {seen:?}");
        assert!(seen.len() <= 2 && before != after, "{more:?}: {seen:?}");
    }
    assert!(readers > 1 && old != shop.counts());
}
