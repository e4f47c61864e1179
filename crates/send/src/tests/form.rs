//! How rows are written for INSERTs.

use super::*;
use crate::sender::insert_form;

/// A prepared statement is read in the character set of the values, so its names must be ASCII.
#[test]
fn values_are_sent_where_names_are_the_same_in_their_character_set() {
    let plain = "(id INT, v VARCHAR(9))";
    let other = "(id INT, `gr\u{f6}\u{df}e` VARCHAR(9))";
    for (charset, table, form) in [
        ("latin1", plain, Form::Values),
        ("utf8mb4", plain, Form::Values),
        ("utf8mb4", other, Form::Values),
        ("latin1", other, Form::Tuples),
    ] {
        let Some(mut bench) = Bench::new(charset, table) else { return };
        let ready = bench.ready(&[row(&["1", "NULL"])]);
        let name = TableName::new(&bench.database, "values");
        let seen = insert_form(&mut bench.session, &name, &ready.columns).unwrap();
        assert_eq!(seen, form, "{charset}, {table}");
    }
}
