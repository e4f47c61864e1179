//! `inrush verify -c`: the tables of a job file compared with its lines.

use serde_json::Value;

use super::shop::{Shop, TABLES, lines};
use crate::support::{Outcome, run};

fn verify(shop: &Shop, more: &[&str]) -> Outcome {
    let load = shop.again();
    let words = load.get_args().skip(1).filter(|word| *word != "--quiet");
    run(shop.desk.home.inrush(["verify"]).args(words).args(more))
}

#[test]
fn all_tables_of_a_job_file_are_compared_with_its_lines() {
    let Some(mut shop) = Shop::new() else { return };
    // Ids of entities are those that the tables have.
    shop.desk.exec("ALTER TABLE customers AUTO_INCREMENT=700");
    shop.load(&lines(20), &[]).done();
    let same = verify(&shop, &[]);
    assert_eq!(same.done().out.matches(": the same, ").count(), TABLES.len(), "{same:?}");
    shop.desk.exec("UPDATE order_lines SET quantity=quantity+1 WHERE line=2 LIMIT 1");
    shop.desk.exec("UPDATE customers SET name='Nobody' ORDER BY id LIMIT 1");
    let other = verify(&shop, &["--json"]);
    assert_eq!(other.code(), 3, "{other:?}");
    let report: Value = serde_json::from_str(&other.out).unwrap();
    let changed: Vec<u64> = report["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["changed_rows"].as_u64().unwrap())
        .collect();
    assert_eq!(changed, [1, 0, 0, 1], "{report}");
}

#[test]
fn bad_lines_are_in_no_table_and_are_counted() {
    let Some(shop) = Shop::new() else { return };
    let text = format!("{}N9,no date,a@b,A,1,S1,Product 1,1.50,1\n", lines(5));
    let loaded = shop.load(&text, &["--rejects-max", "1"]);
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    let told = verify(&shop, &[]);
    assert_eq!(told.code(), 3, "{told:?}");
    assert_eq!(told.out.matches(": the same, ").count(), TABLES.len(), "{told:?}");
    assert!(told.out.contains("1 bad line not compared"), "{told:?}");
}

#[test]
fn bad_lines_without_end_are_refused_by_a_comparison() {
    let Some(shop) = Shop::new() else { return };
    let line = format!("B1,no date,a@x,{},1,S1,P,1.50,1\n", "x".repeat(20_000));
    shop.command(&line.repeat(1_000));
    verify(&shop, &[]).refused(2, &["bad lines take more than 12 MB", "use more --memory"]);
}
