//! Where statements end, and which dumps were cut.

use std::io::Write;

use super::*;

/// Kinds and texts of all statements, INSERTs whole; an error ends them.
fn read(dump: &[u8]) -> Vec<String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(dump).unwrap();
    let mut reader = SqlReader::open(&[file.path().to_owned()], SqlOptions::default()).unwrap();
    let mut found = Vec::new();
    loop {
        match reader.next() {
            Ok(None) => return found,
            Ok(Some(statement)) => {
                let text = match &statement.kind {
                    StatementKind::Insert(_) => reader.whole().unwrap(),
                    _ => statement.text.clone(),
                };
                let here = &dump[statement.offset as usize..];
                assert!(here.starts_with(&text), "offset {}", statement.offset);
                let before = &dump[..statement.offset as usize];
                assert_eq!(statement.line, 1 + crate::chunk::newlines(before));
                found.push(String::from_utf8_lossy(&text).into_owned());
            }
            Err(error) => {
                let error = error.to_string();
                found.push(error.split_once(": ").unwrap().1.to_owned());
            }
        }
    }
}

#[test]
fn a_second_byte_of_a_character_is_no_backslash() {
    let dump = b"set names gbk;a '\x95\x5c';/*!50003 set @a=@@character_set_client, \
                 character_set_client=latin1*/;b '\x95\x5c';';set names @a;\
                 SET @@session.character_set_client=28;c '\x95\x5c';";
    let read = read(dump);
    assert_eq!(read.len(), 7, "{read:?}");
    assert!(read[3].ends_with("\\';'"), "{read:?}");
}

/// A trigger as `mariadb-dump --tab` of MariaDB 10.11 writes it behind the last line.
const TRIGGER: &str = "\
ALTER DATABASE `s` CHARACTER SET latin1 COLLATE latin1_swedish_ci ;
/*!50003 SET @saved_cs_client      = @@character_set_client */ ;
/*!50003 SET @saved_col_connection = @@collation_connection */ ;
/*!50003 SET collation_connection  = utf8mb3_general_ci */ ;
/*!50032 DROP TRIGGER IF EXISTS `tr` */;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 trigger tr before insert on child for each row set @a=1
*/;;
DELIMITER ;
/*!50003 SET character_set_results = @saved_cs_results */ ;
/*!50003 SET collation_connection  = @saved_col_connection */ ;
ALTER DATABASE `s` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci ;
";

#[test]
fn a_dump_that_lacks_its_last_line_was_cut() {
    let is_cut = |dump: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(dump.as_bytes()).unwrap();
        let path = file.path().to_owned();
        let mut reader =
            SqlReader::open(std::slice::from_ref(&path), SqlOptions::default()).unwrap();
        while reader.next().unwrap().is_some() {}
        assert!(reader.cut_short().iter().all(|(cut, _)| *cut == path));
        !reader.cut_short().is_empty()
    };
    let sandbox = "/*M!999999\\- enable the sandbox mode */ \n";
    for head in [
        "-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB\n--\n",
        "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n",
    ] {
        for before in ["", sandbox, "\u{feff}"] {
            let dump = format!("{before}{head}SET x=1;\nINSERT INTO t VALUES (1);\n");
            assert!(is_cut(&dump) && is_cut(&format!("{dump}-- Dump compl")), "{dump}");
            let whole = format!("{dump}\n-- Dump completed on 2026-01-01  1:00:00\n");
            assert!(!is_cut(&whole) && !is_cut(&format!("{dump}-- Dump completed")), "{dump}");
            // Two in one file, one of them cut.
            assert!(is_cut(&format!("{whole}{dump}")) && !is_cut(&format!("{whole}{whole}")));
            let next = whole.trim_start_matches('\u{feff}');
            assert!(is_cut(&format!("{dump}{next}")) && is_cut(&format!("{dump}{next}{next}")));
            assert!(!is_cut(&format!("{whole}USE b;\n{next}")));
            assert!(!is_cut(&format!("{whole}{TRIGGER}")));
            for cut in ["SET x=1;\n", TRIGGER.rsplit_once("/*!").unwrap().0, &dump] {
                assert!(is_cut(&format!("{whole}{cut}")), "{cut}");
                assert!(is_cut(&format!("{whole}{TRIGGER}{cut}")), "{cut}");
            }
            // The database would keep the character set of a trigger.
            let lines: Vec<&str> = TRIGGER.split_inclusive('\n').collect();
            let (first, last) = (lines[0], lines[lines.len() - 1]);
            assert!(is_cut(&format!("{whole}{}", TRIGGER.strip_suffix(last).unwrap())));
            assert!(is_cut(&format!("{whole}{TRIGGER}{first}")));
            assert!(!is_cut(&format!("{whole}{TRIGGER}{TRIGGER}")));
            // A dump of triggers alone has a last line of its own.
            assert!(is_cut(&format!("{whole}-- MariaDB dump 10.19\n{TRIGGER}")));
        }
    }
    // Written with --skip-comments or by hand: nothing says how it ends.
    assert!(!is_cut("SET x=1;") && !is_cut("a '\n-- MariaDB dump 1\n';") && !is_cut(""));
}

#[test]
fn a_dump_that_ends_inside_a_statement_says_so() {
    let read_with = |dump: &str, partial| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(dump.as_bytes()).unwrap();
        let options = SqlOptions { partial, ..SqlOptions::default() };
        let mut reader = SqlReader::open(&[file.path().to_owned()], options).unwrap();
        while let Some(statement) = reader.next()? {
            if matches!(statement.kind, StatementKind::Insert(_)) {
                reader.whole()?;
            }
        }
        Ok::<(), Error>(())
    };
    let read = |dump: &str| read_with(dump, false);
    let client = "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n";
    for (before, cut) in [
        ("SET x=1;\n", "CREATE TABLE t (\n a INT,\n b"),
        ("SET x=1;\n", "INSERT INTO t VALUES (1,'a'),(2,"),
        ("SET x=1;\n", "INSERT INTO t VALUES (1),"),
        ("SET x=1;\n", "/*!50001 CREATE VIEW v AS SELECT 1"),
        (client, "CREATE VIEW v AS SELECT"),
    ] {
        let error = read(&format!("{before}{cut}")).unwrap_err().to_string();
        assert!(error.contains(" line 2 (byte "), "{cut}: {error}");
        assert!(error.contains(": the file ends inside this statement: "), "{cut}: {error}");
    }
    for whole in ["SELECT 1", "CREATE TABLE t (a INT)\n", "INSERT INTO t VALUES (1),(2)"] {
        read(whole).unwrap();
    }
    // A reader that is told that the dump is cut gives what there is.
    read_with(&format!("{client}SELECT 1"), true).unwrap();
}

#[test]
fn what_mysqlbinlog_writes_is_cut_at_its_delimiter() {
    let dump = b"/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\nDELIMITER /*!*/;\n# at 4\n\
                 BINLOG '\nabc/==\n'/*!*/;\n/*!\\C utf8mb4 *//*!*/;\nx/*!*/;\nDELIMITER ;\ny;";
    let read = read(dump);
    let texts = ["/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/", "BINLOG '\nabc/==\n'"];
    assert_eq!(read[..2], texts, "{read:?}");
    assert_eq!(read[2..], ["x", "y"], "{read:?}");
}

#[test]
fn statements_end_where_the_server_and_its_client_say() {
    let cases: [(&str, &[&str]); 16] = [
        ("", &[]),
        (";;\n-- x\n ;", &[]),
        ("\u{feff}select 1;\r\nselect 2", &["select 1", "select 2"]),
        ("select ';''\\';', \"\\\";\", `;``\\`; x", &["select ';''\\';', \"\\\";\", `;``\\`", "x"]),
        ("a -- ';\nb # \";\nc /* ;' */ d; e", &["a -- ';\nb # \";\nc /* ;' */ d", "e"]),
        ("select 1--1; b", &["select 1--1", "b"]),
        ("/*! a */ b; /*M!100000 c;*/ d", &["/*! a */ b", "/*M!100000 c", "*/ d"]),
        (
            "/*M!999999\\- enable the sandbox mode */ \n-- x\n/*!40101 SET x=1 */;",
            &["/*!40101 SET x=1 */"],
        ),
        ("DELIMITER ;;\na; b ;;\ndelimiter ;\nc;", &["a; b", "c"]),
        ("DELIMITER $$\r\nbegin end$$ DELIMITER ;\nc;", &["begin end", "c"]),
        ("use a\nuse b; select \\N;", &["use a", "use b", "select \\N"]),
        (
            "set sql_mode='NO_BACKSLASH_ESCAPES'; a '\\'; set sql_mode=''; b '\\';'",
            &["set sql_mode='NO_BACKSLASH_ESCAPES'", "a '\\'", "set sql_mode=''", "b '\\';'"],
        ),
        (
            "set @a=@@sql_mode, sql_mode=ansi; a \"\\\"; set sql_mode=@A; b \"\\\";\"",
            &["set @a=@@sql_mode, sql_mode=ansi", "a \"\\\"", "set sql_mode=@A", "b \"\\\";\""],
        ),
        ("insert into t values ('a;'),(2);x", &["insert into t values ('a;'),(2)", "x"]),
        (
            "DELIMITER\nx;",
            &[
                "DELIMITER needs the text that ends a statement, without a backslash (statement: DELIMITER)",
                "x",
            ],
        ),
        (
            "a\n\\! ls\n;system rm;b",
            &[
                "\\! is a command for the mariadb client, not SQL, and is not run; remove it from the file",
                "system is a command for the mariadb client, not SQL, and is not run; remove it from the file",
            ],
        ),
    ];
    for (dump, expected) in cases {
        assert_eq!(read(dump.as_bytes()), expected, "{dump}");
    }
}

/// It hides all that is behind it: rows would be missing without a word.
#[test]
fn a_comment_between_statements_that_is_not_closed_is_an_error() {
    let dump = "a;\n\n/* no end\nINSERT INTO t VALUES (1);\n";
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(dump.as_bytes()).unwrap();
    let mut reader = SqlReader::open(&[file.path().to_owned()], SqlOptions::default()).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().text, b"a");
    let error = reader.next().unwrap_err().to_string();
    let place = format!("{} line 3 (byte 4): a comment (/*) ", file.path().display());
    assert!(error.starts_with(&place), "{error}");
    assert!(reader.next().unwrap().is_none());
    assert_eq!(read(b"a; -- no end\n# no end"), ["a"]);
}

#[test]
fn a_statement_at_a_limit_is_the_same_wherever_a_read_ends() {
    const BYTES_MAX: usize = 5_000;
    let read = |dump: &str, piece_bytes| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(dump.as_bytes()).unwrap();
        let options =
            SqlOptions { statement_bytes_max: BYTES_MAX, piece_bytes, ..SqlOptions::default() };
        let mut reader = SqlReader::open(&[file.path().to_owned()], options).unwrap();
        let mut found = Vec::new();
        loop {
            match reader.next() {
                Ok(None) => return found,
                Ok(Some(statement)) => found.push((statement.text.len(), String::new())),
                Err(error) => {
                    let error = error.to_string();
                    found.push((0, error.split_once(" line ").unwrap().1.to_owned()));
                }
            }
        }
    };
    let text = |size: usize| "x".repeat(size);
    for dump in [
        format!("{};y;", text(BYTES_MAX)),
        format!("{};y;", text(BYTES_MAX + 1)),
        format!("{}\\q;y;", text(BYTES_MAX)),
        format!("{}\\q;y;", text(BYTES_MAX + 1)),
        format!("'{}';y;", text(BYTES_MAX)),
        format!("'{}", text(BYTES_MAX - 1)),
        format!("'{}", text(BYTES_MAX)),
        format!("/*! {}/* y", text(BYTES_MAX)),
    ] {
        let whole = read(&dump, 1 << 20);
        for piece_bytes in [1, 7, 4_096, BYTES_MAX, BYTES_MAX + 1, BYTES_MAX + 2] {
            assert_eq!(read(&dump, piece_bytes), whole, "{piece_bytes}: {}", &dump[..9]);
        }
    }
}
