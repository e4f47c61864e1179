#![allow(clippy::unwrap_used)]

use super::*;

fn read(text: &str) -> Result<CreateTable, Unread> {
    read_as(text.as_bytes(), Syntax::default())
}

fn read_as(text: &[u8], syntax: Syntax) -> Result<CreateTable, Unread> {
    CreateTable::read(text, syntax, Comments::default())
}

fn named(text: &str) -> String {
    String::from_utf8(read(text).unwrap().named("`s`")).unwrap()
}

fn keys(text: &str) -> Vec<String> {
    let keys = read(text).unwrap().keys;
    let parent = |key: &ForeignKey| {
        let database = key.parent.database.as_deref().unwrap_or("d");
        format!("{database}.{}", key.parent.table)
    };
    keys.iter().map(|key| format!("{} {} {}", key.head, parent(key), key.tail)).collect()
}

#[test]
fn only_the_name_changes_where_there_is_no_foreign_key() {
    for (text, expected) in [
        ("CREATE TABLE `a``b` (\n `x` int\n)", "CREATE TABLE `s` (\n `x` int\n)"),
        ("create table if not exists d.t(x int)", "create table if not exists `s`(x int)"),
        ("/*!50001 CREATE TABLE `v` (\n `a` int) */", "/*!50001 CREATE TABLE `s` (\n `a` int) */"),
        (
            "CREATE /* TABLE */ TABLE -- x\n `t` # y\n (x int default ')')",
            "CREATE /* TABLE */ TABLE -- x\n `s` # y\n (x int default ')')",
        ),
    ] {
        assert_eq!(named(text), expected);
        assert!(keys(text).is_empty());
    }
}

#[test]
fn a_foreign_key_is_taken_out_with_its_comma() {
    let text = "CREATE TABLE `c` (\n  `a` int,\n  KEY `k` (`a`),\n  CONSTRAINT `f``1` FOREIGN KEY \
        (`a`) REFERENCES `p` (`id`) ON DELETE CASCADE,\n  CONSTRAINT `g` FOREIGN KEY (`a`) \
        REFERENCES `o`.`p` (`id`),\n  CONSTRAINT `ck` CHECK (`a` > 0)\n) ENGINE=InnoDB";
    assert_eq!(
        named(text),
        "CREATE TABLE `s` (\n  `a` int,\n  KEY `k` (`a`),\n  CONSTRAINT `ck` CHECK (`a` > 0)\n) \
         ENGINE=InnoDB"
    );
    assert_eq!(
        keys(text),
        [
            "CONSTRAINT `f``1` FOREIGN KEY ( `a` ) REFERENCES d.p ( `id` ) ON DELETE CASCADE",
            "CONSTRAINT `g` FOREIGN KEY ( `a` ) REFERENCES o.p ( `id` )",
        ]
    );
    assert_eq!(read(text).unwrap().engine.as_deref(), Some("innodb"));
}

#[test]
fn an_index_that_only_the_foreign_key_makes_is_made_in_its_place() {
    for (key, expected) in [
        ("FOREIGN KEY (a) REFERENCES p (id)", "KEY (`a`)"),
        ("CONSTRAINT FOREIGN KEY ix (a, b) REFERENCES p (id, x)", "KEY `ix` (`a`,`b`)"),
        ("CONSTRAINT c FOREIGN KEY ix (a) REFERENCES p (id)", "KEY `c` (`a`)"),
    ] {
        let text = format!("CREATE TABLE t (a int, b int, {key}, KEY (b)) ENGINE = InnoDB");
        let expected =
            format!("CREATE TABLE `s` (a int, b int, {expected}, KEY (b)) ENGINE = InnoDB");
        assert_eq!(named(&text), expected);
    }
    for index in ["PRIMARY KEY (A, b)", "UNIQUE INDEX u USING BTREE (a DESC)", "KEY (a)"] {
        let text = format!("CREATE TABLE t (a int, {index}, FOREIGN KEY (a) REFERENCES p (id))");
        assert_eq!(named(&text), format!("CREATE TABLE `s` (a int, {index})"));
    }
    assert_eq!(
        named("CREATE TABLE t (a int UNIQUE, FOREIGN KEY (a) REFERENCES p (id))"),
        "CREATE TABLE `s` (a int UNIQUE)"
    );
}

#[test]
fn what_cannot_be_changed_by_its_text_is_left_alone() {
    for text in [
        "CREATE TABLE t (a int REFERENCES p (id))",
        "CREATE TABLE t (a int, KEY (a) /*!50000 , FOREIGN KEY (a) REFERENCES p (id) */)",
        "CREATE TABLE t (a int, KEY (a), /*!50000 FOREIGN KEY (a) REFERENCES p (id) */)",
        "CREATE TABLE t LIKE u",
        "CREATE TABLE t (a int",
        "CREATE TABLE t (a int DEFAULT 'x",
        "CREATE TABLE",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t (a int, FOREIGN KEY (a) REFERENCES p (i), FOREIGN KEY (a) REFERENCES q (i))",
        "",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn quotes_are_read_as_the_session_reads_them() {
    let ansi = Syntax { ansi_quotes: true, ..Syntax::default() };
    let text =
        br#"CREATE TABLE "t" ("a" int, KEY ("a"), FOREIGN KEY ("a") REFERENCES "p""q" ("i"))"#;
    let create = read_as(text, ansi).unwrap();
    assert_eq!(create.named("`s`"), br#"CREATE TABLE `s` ("a" int, KEY ("a"))"#);
    assert_eq!(create.keys[0].parent.table, "p\"q");
    assert_eq!(create.keys[0].tail, "( `i` )");
    let plain = Syntax { no_backslash_escapes: true, ..Syntax::default() };
    let text = br"CREATE TABLE t (a text DEFAULT '\', b int)";
    assert!(read_as(text, plain).is_ok());
    assert!(read_as(text, Syntax::default()).is_err());
}

#[test]
fn comments_that_the_server_passes_over_are_none_of_its_columns() {
    let text = "CREATE TABLE t (a int, /*!50705 g GEOMETRY NOT NULL,*/ b int, KEY k (b), \
                /*!50705 SPATIAL KEY (g),*/ CONSTRAINT f FOREIGN KEY (b) REFERENCES p (i))";
    let create = read(text).unwrap();
    let expected = "CREATE TABLE `s` (a int, /*!50705 g GEOMETRY NOT NULL,*/ b int, KEY k (b))";
    assert_eq!((create.named("`s`"), create.keys.len()), (expected.as_bytes().to_vec(), 1));
    // To one that runs them they end where no column does.
    let mysql = Comments { mariadb: false, version: 80_036 };
    assert!(CreateTable::read(text.as_bytes(), Syntax::default(), mysql).is_err());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text: Vec<u8>, ansi_quotes: bool, no_backslash_escapes: bool) {
        let _ = read_as(&text, Syntax { ansi_quotes, no_backslash_escapes, ..Syntax::default() });
    }

    #[test]
    fn no_pieces_make_it_panic(pieces in proptest::collection::vec(piece(), 0..40)) {
        let text = format!("CREATE TABLE t ( a int , {}", pieces.join(" "));
        if let Ok(create) = read_as(text.as_bytes(), Syntax::default()) {
            // What is left of it has the same columns and no foreign key.
            let again = read_as(&create.named("`s`"), Syntax::default()).unwrap();
            proptest::prop_assert!(again.keys.is_empty());
        }
    }
}

fn piece() -> impl proptest::strategy::Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        ",",
        "(",
        ")",
        "FOREIGN",
        "KEY",
        "(a)",
        "REFERENCES",
        "p",
        ".",
        "`q`",
        "CONSTRAINT",
        "'x'",
        "INDEX",
        "UNIQUE",
        "PRIMARY",
        "/*!50000",
        "*/",
        "-- c\n",
        "ENGINE=InnoDB",
        "b int",
        ", FOREIGN KEY (a) REFERENCES p (id)",
        ", KEY k (a)",
        ", CONSTRAINT c",
        "ON DELETE",
    ])
}
