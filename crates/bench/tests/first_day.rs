//! Files of a folder, each loaded by one command, in whole and in halves.

use std::fmt::Write as _;
use std::fs;

use crate::support::{Home, run};

/// Rows of numbers, dates, prices, words and empty fields, which differ from file to file.
fn table(seed: u32) -> String {
    let mut text = String::from("id,name,amount,price,day,paid,code\n");
    for row in 1..=40_u32 {
        let x = row.wrapping_mul(7_919).wrapping_add(seed * 31) % 1_000;
        let name = ["Ann", "Bob \"the\" Tall", "Smith, J", ""][x as usize % 4].replace('"', "\"\"");
        let amount = if x % 7 == 0 { String::new() } else { (x * x).to_string() };
        let (month, day) = (x % 12 + 1, x % 28 + 1);
        let paid = if x % 2 == 0 { "yes" } else { "no" };
        let price = format!("{}.{:02}", x % 90, x % 100);
        writeln!(
            text,
            "{row},\"{name}\",{amount},{price},2026-{month:02}-{day:02},{paid},{:05}",
            x
        )
        .unwrap();
    }
    text
}

#[test]
fn halves_of_generated_files_fit_one_table_and_failures_are_named() {
    if testkit::TestServer::shared().is_none() {
        return;
    }
    let home = Home::new();
    let folder = home.path().join("files");
    fs::create_dir_all(folder.join("more")).unwrap();
    for seed in 0..6 {
        fs::write(folder.join(format!("a{seed}.csv")), table(seed)).unwrap();
    }
    let semicolons = table(7).replace(',', ";");
    fs::write(folder.join("more/b.csv"), format!("Sales of May\n{semicolons}")).unwrap();
    fs::write(folder.join("more/few.csv"), "id,n\n1,5\n2,6\n").unwrap();
    fs::write(folder.join("logo.csv"), b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR").unwrap();
    fs::write(folder.join(".hidden"), "no").unwrap();
    let words = format!("first-day {}", folder.display());
    let outcome = run(home.bench(&words).arg("--data-dir").arg(home.path().join("bench")));
    assert_eq!(outcome.code, Some(0), "{}", outcome.err);
    let lines: Vec<&str> = outcome.out.lines().collect();
    let line = |name: &str| lines.iter().find(|line| line.starts_with(name)).unwrap();
    let words = |name: &str| line(name).split_whitespace().collect::<Vec<_>>();
    assert_eq!(words("a0.csv"), ["a0.csv", "7", "5", "yes", "yes"], "{}", outcome.out);
    assert_eq!(words("more/few.csv"), ["more/few.csv", "2", "2", "yes", "-"]);
    assert_eq!(words("logo.csv "), ["logo.csv", "0", "0", "no", "-"]);
    assert!(line("logo.csv:").contains("is a PNG image"), "{}", outcome.out);
    let totals =
        "8 of 9 files load by one command; 7 of 7 in halves; 37 of 51 columns are not text";
    assert_eq!(lines.last(), Some(&totals), "{}", outcome.out);
    assert!(!outcome.out.contains("hidden"), "{}", outcome.out);
    assert!(!home.path().join("bench/server").exists());

    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let none = run(&mut home.bench_json(&format!("first-day {}", empty.display())));
    assert!(none.out.contains("has no files"), "{}", none.out);
}
