//! Keys of lines of text.

use std::collections::HashMap;
use std::sync::Arc;

use schema::{IndexColumn, IndexKind};
use sources::{Dialect, Rows};
use values::{Charset, Collation, ConvertOptions, TextType};

use super::*;

fn bound(name: &str, sql_type: SqlType, input: Input, nullable: bool) -> BoundColumn {
    let converter = Converter::new(name, &sql_type, &ConvertOptions::default()).unwrap();
    let auto_increment = matches!(input, Input::AutoIncrement(_));
    let column = Column { nullable, auto_increment, ..Column::new(name, sql_type) };
    BoundColumn { column, input, on_null: None, converter }
}

fn integer() -> SqlType {
    SqlType::Integer { bytes: 4, unsigned: false }
}

fn text() -> SqlType {
    let text = TextType { charset: Charset::Utf8mb4, collation: "utf8mb4_bin".to_owned() };
    SqlType::VarChar { chars: 20, text }
}

/// `id` AUTO_INCREMENT, `a` int, `b` varchar, both nullable, `c` left out.
fn columns(id: Input) -> Vec<BoundColumn> {
    vec![
        bound("id", integer(), id, false),
        bound("a", integer(), Input::Field(1), true),
        bound("b", text(), Input::Field(2), true),
        bound("c", integer(), Input::Constant(Some(vec![0x80, 0, 0, 5])), true),
    ]
}

fn index(columns: &[(&str, Option<u32>, bool)]) -> Index {
    let column = |&(name, prefix, descending): &(&str, Option<u32>, bool)| IndexColumn {
        name: name.to_owned(),
        prefix,
        descending,
    };
    Index {
        name: "u".to_owned(),
        unique: true,
        kind: IndexKind::BTree,
        columns: columns.iter().map(column).collect(),
        without_overlaps: None,
    }
}

fn plan(indexes: &[Index], columns: &[BoundColumn]) -> KeyPlan {
    let bytewise = Arc::new(Collation::bytewise(Charset::Utf8mb4, true));
    let collations = HashMap::from([("utf8mb4_bin".to_owned(), bytewise)]);
    let indexes: Vec<&Index> = indexes.iter().collect();
    let columns: Vec<&BoundColumn> = columns.iter().collect();
    KeyPlan::new(&indexes, &columns, &collations, false)
}

/// The key of each line; none for one that will be refused.
fn keys(plan: &KeyPlan, index: usize, lines: &str) -> Vec<Option<Result<Vec<u8>, NoKey>>> {
    let found = Dialect::mysql().index(lines.as_bytes());
    let mut reader = KeyReader::new(plan.clone());
    let key = |row| {
        reader.read(row).then(|| {
            let mut key = b"before".to_vec();
            let pushed = reader.push(index, &mut key);
            let key = key.strip_prefix(b"before").unwrap().to_vec();
            assert!(pushed.is_ok() || key.is_empty());
            pushed.map(|()| key)
        })
    };
    found.rows(lines.as_bytes()).iter().map(key).collect()
}

#[test]
fn keys_order_and_equal_as_the_index() {
    let columns = columns(Input::Field(0));
    let plan = plan(
        &[index(&[("a", None, true), ("b", Some(2), false)]), index(&[("c", None, false)])],
        &columns,
    );
    let lines =
        "1\t7\tabc\n2\t7\tabd\n3\t6\tx\n4\t8\tx\n5\t7\tac\n6\t\\N\tx\n7\t7\t\\N\n8\tx\ty\n9\t1\n";
    let keys = keys(&plan, 0, lines);
    let key = |row: usize| keys[row].clone().unwrap().unwrap();
    assert_eq!(key(0), key(1), "a prefix of two characters");
    assert!(key(0) < key(2), "the first part descends");
    assert!(key(3) < key(0));
    assert!(key(0) < key(4));
    assert_eq!(keys[5], Some(Err(NoKey::Null)));
    assert_eq!(keys[6], Some(Err(NoKey::Null)));
    assert_eq!(keys[7..], [None, None], "refused: no number, no third field");
}

#[test]
fn keys_of_left_out_columns_are_constant() {
    let plan = plan(&[index(&[("c", None, false)])], &columns(Input::Field(0)));
    let keys = keys(&plan, 0, "1\t7\tabc\n2\t8\tx\n");
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[0], Some(Ok(vec![1, 0x80, 0, 0, 5])));
}

#[test]
fn numbers_to_be_generated_are_not_known() {
    let indexes = [index(&[("id", None, false), ("a", None, false)])];
    let plan_of = |id| plan(&indexes, &columns(id));
    let given = plan_of(Input::AutoIncrement(Some(0)));
    let lines = "1\t7\tx\n0\t7\tx\n\\N\t7\tx\n-3\t7\tx\n0\t\\N\tx\n";
    let keys = keys(&given, 0, lines);
    assert!(matches!(keys[0], Some(Ok(_))) && matches!(keys[3], Some(Ok(_))));
    assert_eq!(keys[1..3], [Some(Err(NoKey::Unknown)), Some(Err(NoKey::Unknown))]);
    assert_eq!(keys[4], Some(Err(NoKey::Null)), "a NULL decides");
    assert!(!given.always_generates(0));
    assert!(plan_of(Input::AutoIncrement(None)).always_generates(0));
}

#[test]
fn keys_of_columns_that_are_not_known_cannot_be_made() {
    let columns = columns(Input::Field(0));
    let unknown = index(&[("a", None, false), ("g", None, false)]);
    let unlearned = index(&[("b", None, false)]);
    let known = index(&[("id", None, false)]);
    let indexes = [&unknown, &known, &unlearned];
    let columns: Vec<&BoundColumn> = columns.iter().collect();
    let plan = KeyPlan::new(&indexes, &columns, &HashMap::new(), false);
    assert_eq!([plan.has(0), plan.has(1), plan.has(2)], [false, true, false]);
    assert_eq!(keys(&plan, 0, "1\t7\tx\n"), [Some(Err(NoKey::Unknown))]);
    assert!(matches!(keys(&plan, 1, "1\tx\tx\n")[0], Some(Ok(_))), "only what keys have is read");
}
