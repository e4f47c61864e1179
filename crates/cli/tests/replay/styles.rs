//! The same databases in every style of mariadb-dump.

use super::yard::{WAYS, Yard};
use crate::support::run;

/// With all that is not a table.
const WHOLE: [&str; 3] = ["--routines", "--triggers", "--events"];
/// Databases whose names mariadb-dump writes in every style.
const SIMPLE: [&str; 3] = ["types", "links", "code"];

/// Replays the dumps of `styles`, each of which loses nothing.
#[track_caller]
fn nothing_is_lost(names: &[&str], styles: &[&[&str]]) {
    let Some(mut yard) = Yard::of(names) else { return };
    let expected = yard.seen();
    let dumps = dumps(&yard, styles);
    for (dump, style) in dumps.iter().zip(styles) {
        yard.check(&style.join(" "), dump, &[], &expected);
    }
}

/// Replays the dumps of `styles`, which lose as much as when the client runs them.
#[track_caller]
fn nothing_more_is_lost(names: &[&str], styles: &[&[&str]]) {
    let Some(mut yard) = Yard::of(names) else { return };
    let dumps = dumps(&yard, styles);
    for (dump, style) in dumps.iter().zip(styles) {
        yard.wipe();
        yard.client(None, dump).unwrap();
        let expected = yard.seen();
        yard.check(&style.join(" "), dump, &[], &expected);
    }
}

fn dumps(yard: &Yard, styles: &[&[&str]]) -> Vec<std::path::PathBuf> {
    let dump = |(index, style): (usize, &&[&str])| {
        let arguments: Vec<&str> = WHOLE.iter().chain(style.iter()).copied().collect();
        yard.dump_all(&format!("{index}.sql"), &arguments)
    };
    styles.iter().enumerate().map(dump).collect()
}

#[test]
fn dumps_as_they_come_are_replayed() {
    let styles: [&[&str]; 2] = [&["--opt"], &["--hex-blob", "--complete-insert"]];
    nothing_is_lost(&Yard::ZOO, &styles);
}

#[test]
fn a_row_a_statement_is_replayed() {
    nothing_is_lost(
        &Yard::ZOO,
        &[&["--skip-extended-insert", "--no-autocommit", "--add-drop-database"]],
    );
}

#[test]
fn replacing_and_ignoring_dumps_are_replayed() {
    nothing_is_lost(
        &Yard::ZOO,
        &[
            &["--replace", "--skip-add-locks", "--single-transaction"],
            &["--insert-ignore", "--skip-tz-utc", "--skip-disable-keys"],
        ],
    );
}

#[test]
fn dumps_in_other_character_sets_and_orders_are_replayed() {
    let binary = ["--default-character-set=binary", "--order-by-primary"];
    nothing_more_is_lost(&Yard::ZOO, &[&binary]);
    let bare =
        ["--skip-comments", "--skip-quote-names", "--add-drop-trigger", "--skip-add-drop-table"];
    nothing_is_lost(&["types", "links"], &[&bare]);
}

#[test]
fn dumps_that_lose_something_lose_nothing_more() {
    nothing_more_is_lost(
        &SIMPLE,
        &[
            &["--skip-opt"],
            &["--default-character-set=latin1"],
            &["--compatible=no_key_options,no_table_options,no_field_options"],
        ],
    );
}

#[test]
fn dumps_for_other_systems_are_replayed_as_far_as_they_are_sql() {
    let styles: [&[&str]; 2] = [&["--compatible=ansi"], &["--compatible=oracle"]];
    nothing_more_is_lost(&["types", "links"], &styles);
    let Some(mut yard) = Yard::of(&["links"]) else { return };
    let dump = yard.dump_all("old.sql", &["--compatible=mysql40"]);
    yard.wipe();
    assert!(yard.client(None, &dump).unwrap_err().contains("near 'TYPE=InnoDB'"));
    for way in WAYS {
        // A file of its own: no replay is to go on where the one before failed.
        let name = format!("old {way}.sql");
        let dump = yard.home.file(&name, std::fs::read(&dump).unwrap());
        yard.wipe();
        // The line of the first CREATE TABLE.
        let refused = run(&mut yard.replay(&dump, &["--as", way]));
        refused.refused(1, &[&name, "line 27", "CREATE TABLE `a_child`", "TYPE=InnoDB"]);
    }
}

#[test]
fn rows_alone_go_into_the_tables_that_are_there() {
    let Some(mut yard) = Yard::of(&["types", "links"]) else { return };
    let expected = yard.seen();
    let rows = yard.dump_all("rows.sql", &["--no-create-info", "--skip-triggers"]);
    let tables = yard.dump_all("tables.sql", &["--no-data", "--routines"]);
    for way in WAYS {
        yard.wipe();
        yard.client(None, &tables).unwrap();
        let outcome = run(&mut yard.replay(&rows, &["--as", way, "--small", "1"]));
        yard.compare(&format!("--no-create-info as {way}"), &outcome, &expected);
    }
}

/// Rows that are there, rows of the same keys in the dump, and triggers that fire.
#[test]
fn rows_are_added_and_replaced_as_the_client_does() {
    let Some(mut yard) = Yard::of(&["code"]) else { return };
    let alone = ["--no-create-info", "--skip-triggers"];
    let style = |more: &str| -> Vec<String> {
        alone.iter().chain([&more]).map(|&option| option.to_owned()).collect()
    };
    let there = yard.dump_all("there.sql", &WHOLE);
    for more in ["--replace", "--insert-ignore"] {
        let style = style(more);
        let style: Vec<&str> = style.iter().map(String::as_str).collect();
        let database = yard.databases[0].clone();
        let dump = yard.dump_all("more.sql", &style);
        let change = yard.home.file(
            "change.sql",
            "DELETE FROM t WHERE id % 3 = 0; UPDATE t SET v = 'changed' WHERE id % 5 = 0;",
        );
        let prepare = |yard: &mut Yard| {
            yard.wipe();
            yard.client(None, &there).unwrap();
            yard.client(Some(&database), &change).unwrap();
        };
        prepare(&mut yard);
        yard.client(None, &dump).unwrap();
        let expected = yard.seen();
        for way in WAYS {
            prepare(&mut yard);
            let outcome = run(&mut yard.replay(&dump, &["--as", way, "--small", "1"]));
            yard.compare(&format!("{more} as {way}"), &outcome, &expected);
        }
        prepare(&mut yard);
    }
}

#[test]
fn xml_is_refused_by_name() {
    let Some(yard) = Yard::of(&["links"]) else { return };
    let dump = yard.dump("links.xml", &["--xml", &yard.databases[0]]);
    run(&mut yard.replay(&dump, &[])).refused(2, &["links.xml", "XML", "--xml"]);
}
