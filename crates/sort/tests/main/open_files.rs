//! Few files that may be open.

use std::process::Command;

use crate::model::{TINY, add_keys, count, shape, store};

/// Set in the process that has few.
const FEW: &str = "INRUSH_TEST_FEW_FILES";

/// The runs of a table with many indexes took all files that the process could have open.
#[test]
fn many_stores_share_the_files_that_may_be_open() {
    if std::env::var_os(FEW).is_some() {
        return spill();
    }
    let name = "open_files::many_stores_share_the_files_that_may_be_open";
    let limited = format!("ulimit -n 96 && exec \"$0\" --exact {name}");
    let program = std::env::current_exe().unwrap();
    let output = Command::new("sh").arg("-c").arg(limited).arg(program).env(FEW, "1").output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn spill() {
    let stores: Vec<_> = (0..12).map(|_| store(shape(Some(8), false), TINY, 1)).collect();
    for round in 0..100 {
        stores.iter().for_each(|store| add_keys(store, 10 * round..10 * (round + 1)));
    }
    for store in stores {
        let runs = store.finish().unwrap();
        assert!(runs.stats().premerges > 0);
        assert_eq!(count(&runs), 500_000);
    }
}
