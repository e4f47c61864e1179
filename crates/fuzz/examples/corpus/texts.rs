//! Rows, dumps, values and whole files of text.

use crate::{Inputs, input};

/// Dialects, by the four bytes that `fuzz/src/scan.rs` reads them from.
const MYSQL: [u8; 4] = [0, 0, 0, 0];
const CSV: [u8; 4] = [1, 0, 0, 0];
const TSV: [u8; 4] = [2, 0, 0, 0];
const TBL: [u8; 4] = [3, 0, 0, 0];
/// With `NA` for NULL.
const CSV_NA: [u8; 4] = [9, 0, 0, 0];
/// Quotes `"`, escapes by `\`, separators `,`.
const ESCAPED: [u8; 4] = [4, 5, 0, 0];
/// The quote is the escape.
const DOUBLED: [u8; 4] = [4, 9, 0, 0];
/// Quotes `'`, escapes by `^`, separators `||`, lines end with `\r\n`.
const CARET: [u8; 4] = [4, 14, 3, 1];
/// Separators `,,`, lines end with two newlines.
const COMMAS: [u8; 4] = [4, 0, 4, 4];
/// Separators and ends of lines begin alike: `aab` and `aac`; lines begin with `>`.
const ALIKE: [u8; 4] = [4, 0, 6, 21];
/// Lines begin with `>>`.
const STARTS: [u8; 4] = [4, 0, 0, 24];
/// Quotes are the separator's: `|`.
const BARS: [u8; 4] = [4, 3, 2, 0];
/// Any newline ends a line; a separator may stand before it.
const ANY: [u8; 4] = [4, 49, 0, 0];
/// Lines end with a zero byte.
const ZEROS: [u8; 4] = [4, 1, 0, 7];

pub(crate) fn rows() -> Inputs {
    let long = format!("{}\t{}\n", "x".repeat(700), "y".repeat(66));
    let fields = "a,".repeat(500);
    let blocks: String =
        (55..75).map(|n| format!("{},\"{}\"\n", "p".repeat(n), "q".repeat(64))).collect();
    let mut inputs: Inputs = [
        ("plain", MYSQL, "1\ttwo\t\\N\n2\tt\\\two\t\n"),
        ("escapes", MYSQL, "\\0\\b\\n\\r\\t\\Z\\\\\\x\\N\t\\Nx\n\\\n\n"),
        ("escape_at_the_end", MYSQL, "1\t2\\"),
        ("no_newline_at_the_end", MYSQL, "1\t2\n3\t4"),
        ("empty_lines", MYSQL, "\n\n1\n\n"),
        ("words_for_null", MYSQL, "NULL\tnull\t\\N\t\\n\n"),
        ("carriage_returns", MYSQL, "1\t2\r\n3\t4\r\n"),
        ("long_fields", MYSQL, &long),
        ("quotes", CSV, "a,b,c\n1,\"two, \"\"three\"\"\n\",NULL\r\n2,,x\n"),
        ("quote_in_a_field", CSV, "a\"b,c\"\n"),
        ("quote_without_end", CSV, "1,\"a\n2,b\n"),
        ("text_behind_a_quote", CSV, "\"a\"b,\"c\" ,d\n"),
        ("newlines_in_quotes", CSV, "\"\n\n\",\"\r\n\"\n"),
        ("quote_at_the_end", CSV, "\"\"\n\"\"\"\"\n\"\"\""),
        ("old_newlines", CSV, "1,2\r3,4\r\"5\r6\",7\r"),
        ("quotes_across_blocks", CSV, &blocks),
        ("many_fields", CSV, &fields),
        ("letters", CSV, "\u{e9}t\u{e9},\"\u{65e5}\u{672c}\",\u{1f600}\n\u{feff}\n"),
        ("token", CSV_NA, "NA,\"NA\",na,NAN\n"),
        ("quotes_mean_nothing", TSV, "\"a\tb\"\n'c'\n\\N\n"),
        ("bars", TBL, "1|two|2024-01-31|\n2|three|1999-12-31|\n"),
        ("bars_without_the_last", TBL, "1|two\n||\n|\n"),
        ("quotes_and_escapes", ESCAPED, "\"a\\\"b\",\\\"c,\"d\"\"e\"\n"),
        ("newline_escaped", ESCAPED, "a\\\nb,c\n\"d\\\ne\"\n"),
        ("the_quote_escapes", DOUBLED, "\"a\"\"b\",\"c\"\",d\"\n\"\n"),
        ("caret", CARET, "'a^'b'||c^|^|d||^N\r\n|e|||\r\n\rf\n\r\n"),
        ("two_commas", COMMAS, "a,b,,c\nd,,\n\ne,,,f\n\n\n"),
        ("ends_that_begin_alike", ALIKE, ">1aab2aac>>3aab4aac>aaaab5aaaac"),
        ("text_before_the_start", ALIKE, "no>1aac no >2aab3aacno"),
        ("starts", STARTS, "x>>1,2\n>3\n>>>4,5\n>>"),
        ("quotes_as_separators", BARS, "|a|||b|\n||c||\n"),
        ("any_newline", ANY, "1,2,\r3,4\r\n5,\n\r\"6\r\",7,\n"),
        ("zero_bytes", ZEROS, "1,\"a\0b\"\x002,\0\0"),
        ("nothing", CSV, ""),
        ("one_byte", CSV, "\""),
    ]
    .map(|(name, dialect, text)| input(name, &dialect, text.as_bytes()))
    .into();
    inputs.push(input("no_text", &MYSQL, b"\xff\xfe\t\xc3(\n\x80\\\xff\t\xed\xa0\x80\n"));
    inputs
}

/// Files that are guessed at.
pub(crate) fn files() -> Inputs {
    let many: String = (0..60).map(|n| format!("{n},{},x{}\n", n * 37 % 11, n % 7)).collect();
    let mut inputs: Inputs = [
        ("header", "id,name,when\n1,a,2024-01-31\n2,b,2024-02-01\n"),
        ("no_header", "1,a,2024-01-31\n2,b,2024-02-01\n"),
        (
            "numbers",
            "a,b,c,d\n1,-1,1.5,1e3\n255,-128,0.05,1e400\n256,18446744073709551615,1,-1e-400\n",
        ),
        (
            "too_large",
            "n\n99999999999999999999999999999999999999999999999999999999999999999999999\n",
        ),
        ("leading_zeros", "zip\n00123\n04567\n"),
        ("dates", "d\n2024-02-29\n1999-12-31 23:59:59\n2024-01-01T00:00:00Z\n0000-00-00\n"),
        ("times", "t\n12:34:56\n-838:59:59.999999\n24:00:00\n"),
        ("words_for_null", "a;b\nNULL;1\n\\N;2\nNA;3\n-;4\n;5\n"),
        ("identifiers", "u,i\n123e4567-e89b-12d3-a456-426614174000,192.168.0.255\n,::1\n"),
        ("json", "{\"a\": [1, null, \"x\"]}\n{\"a\": 2}\n"),
        ("json_in_a_field", "j\n\"{\"\"a\"\": 1}\"\n\"[1, 2]\"\n"),
        ("tabs", "1\ttwo\t\\N\n2\tt\\\two\t\n"),
        ("semicolons", "id;name\n1;'it''s'\n2;'\u{e9}t\u{e9}'\n"),
        ("bars", "1|two|2024-01-31|\n2|three|1999-12-31|\n"),
        ("commas_or_tabs", "a,b\tc\nd,e\tf\n"),
        ("one_column", "a\nb\nc\n"),
        ("one_line", "a,b,c"),
        ("one_value", "7"),
        ("empty", ""),
        ("empty_lines", "\n\n\n"),
        ("rows_of_many_lengths", "a,b\n1\n1,2,3\n\n1,2\n"),
        ("quotes_over_lines", "a,b\n\"x\ny\",1\n\"z\n\nw\",2\n"),
        ("quote_without_end", "a,b\n\"x,1\ny,2\n"),
        ("header_of_words", "A b,c\u{e9},select,A B,,\"d\"\"e\"\n1,2,3,4,5,6\n"),
        ("header_of_one_name", "a,a,a\n1,2,3\n"),
        ("mark", "\u{feff}k,v\n1,2\n"),
        ("carriage_returns", "a,b\r\n1,2\r\n"),
        ("comment", "# a comment\n# another\na,b\n1,2\n"),
        ("web_page", "<!DOCTYPE html><html><body>404</body></html>\n"),
        ("dump", "-- MariaDB dump\nINSERT INTO `t` VALUES (1,'a');\n"),
        ("many", &many),
    ]
    .map(|(name, text)| input(name, text.as_bytes(), b""))
    .into();
    let wide: Vec<u8> = "a,b\n1,\u{e9}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    inputs.extend([
        input("sqlite", b"SQLite format 3\0\x10\0\x01\x01", b""),
        input("parquet", b"PAR1\x15\x04\x15", b""),
        input("spreadsheet", b"PK\x03\x04\x14\0\0\0", b"[Content_Types].xml"),
        input("latin1", b"name\n\xe9t\xe9\nGr\xfc\xdfe\n", b""),
        input("utf16", b"\xff\xfe", &wide),
        input("zero_bytes", b"a,b\n1,\0\n", b"\0\0\0"),
    ]);
    inputs
}

pub(crate) fn dumps() -> Inputs {
    // Statements of any length, read by 64 bytes at once.
    let plain = [0, 64];
    let long = format!("INSERT INTO t VALUES ('{}');select 1;", "x".repeat(400));
    let mut inputs: Inputs = [
        ("dump", plain, "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump\n\n/*!40101 SET NAMES utf8mb4 */;\n\
            DROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (`a;b` int COMMENT 'it''s; \\');\n\
            LOCK TABLES `t` WRITE;\nINSERT INTO `t` VALUES\n(1,'a\\'b;',NULL),\n(-2.5e3,\"x;\",0x5C27);\n\
            UNLOCK TABLES;\n-- Dump completed\n"),
        ("columns_and_updates", [0, 7], "INSERT INTO t(a,`b`) VALUES(1,'\\\\'),(2,'') ON DUPLICATE KEY UPDATE a=1;"),
        ("insert_words", plain, "insert ignore into d.t values (1);replace delayed t values(2);INSERT t VALUE (3);\
            insert into t set a=1;insert into t select 1;insert into t partition (p) values (1);"),
        ("literals", plain, "INSERT INTO t VALUES (NULL,TRUE,false,-1,+2,.5,1.,1e3,-1.5E-3,0x41,x'4142',b'101',0b1,_latin1'a',\
            _binary 'x',N'y',DATE '2024-01-31',TIMESTAMP'2024-01-31 0:0:0','a' 'b',DEFAULT);"),
        ("expressions", plain, "INSERT INTO t VALUES (now()),(1+1),((2)),(@a),(-(1)),(NULL+1);"),
        ("escapes", [0, 3], "INSERT INTO t VALUES ('\\0\\b\\n\\r\\t\\Z\\\\\\'\\\"\\%\\_\\x',\"''\"\"\",'''');"),
        ("comments", plain, "INSERT /* ; */ INTO t -- ;\n VALUES # '\n (1 /*!50000 ,2 */), /**/ (3) -- end\n;--no\n;-- yes\n;"),
        ("version_comments", plain, "/*!50003 CREATE*/ /*!50003 TRIGGER x */;/*!99999 no */;/*M!100100 yes */;/*! always */;"),
        ("delimiter", plain, "DELIMITER ;;\nBEGIN SET @a = ';;'; END;;\nINSERT INTO t VALUES (';')\n;;\nDELIMITER ;\nx;"),
        ("delimiter_of_letters", plain, "delimiter end\nselect 'end' end\nselect 1 end delimiter ;\nselect 2;"),
        ("delimiter_of_nothing", plain, "DELIMITER\nselect 1;\nDELIMITER \\\nselect 2\\"),
        ("begins_as_delimiter", plain, "delimiters;\ndelimiter\t//\nselect 1//"),
        ("client_commands", plain, "\\! ls\nsource x;\nuse b\nselect 1\\G\nselect 2\\g quit\n\\q\n"),
        ("use", plain, "USE `a``b`;use c\nuse 'd';INSERT INTO t VALUES (1);"),
        ("names", plain, "INSERT INTO `a``b`.`c.d` VALUES (1);INSERT INTO a . b VALUES (2);INSERT INTO 1a VALUES (3);"),
        ("set_names", plain, "SET NAMES latin1;SET CHARACTER SET utf8;/*!40101 SET @OLD=@@CHARACTER_SET_CLIENT */;"),
        ("sql_mode", plain, "SET @o=@@sql_mode, sql_mode='NO_BACKSLASH_ESCAPES,ANSI_QUOTES';\
            INSERT INTO \"t\" VALUES('\\','''');SET sql_mode=@o;INSERT INTO t VALUES('\\'');"),
        ("no_backslash_escapes", [2, 5], "INSERT INTO t VALUES ('\\','\\\\''');select '\\';"),
        ("ansi_quotes", [4, 5], "INSERT INTO \"t\" VALUES ('\"',\"a\");"),
        ("both_modes", [6, 64], "INSERT INTO \"a\"\"b\" VALUES ('\\');"),
        ("without_end", plain, "INSERT INTO t VALUES (1),(2"),
        ("quote_without_end", plain, "INSERT INTO t VALUES ('a;\nselect 1;"),
        ("comment_without_end", plain, "select 1; /* open"),
        ("name_without_end", plain, "INSERT INTO `t VALUES (1);"),
        ("wrong_tuples", plain, "INSERT INTO t VALUES (1,2),,(3);INSERT INTO t VALUES 1;INSERT INTO t VALUES ();INSERT INTO t VALUES (1)(2);"),
        ("tuples_of_many_lengths", plain, "INSERT INTO t VALUES (1),(2,3),();"),
        ("two_in_a_row", [0, 2], "INSERT INTO t VALUES (1);INSERT INTO t VALUES (2);INSERT INTO u VALUES (3);"),
        ("long_statement", [1, 100], &long),
        ("read_by_one_byte", [0, 1], "INSERT INTO t VALUES (1,'a;\\''),(2,\"b\"); -- c\n/* d */ select `e`;"),
        ("empty_statements", plain, ";;;\n; ;/* */;"),
        ("carriage_returns", plain, "\u{feff}select '\n\n;' ;\r\nINSERT INTO t VALUES (1);\r\n-- a\r\n"),
        ("xa", plain, "START TRANSACTION;INSERT INTO t VALUES (1);COMMIT;XA START 'a';BEGIN;ROLLBACK;"),
        ("partitions", plain, "CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1));ALTER TABLE t ADD KEY (a);"),
        ("routine_without_delimiter", plain, "CREATE PROCEDURE p() BEGIN IF 1 THEN SELECT 1; END IF; END;select 2;"),
        ("load_data", plain, "LOAD DATA LOCAL INFILE 'x' INTO TABLE t FIELDS TERMINATED BY ',';"),
        ("nothing", plain, ""),
    ]
    .map(|(name, mode, text)| input(name, &mode, text.as_bytes()))
    .into();
    // A character whose second byte is a backslash, or is none in this character set.
    inputs.extend([
        input("gbk", &[16, 3], b"INSERT INTO t VALUES ('\xd5\x5c','\xd5'),('\x5c'');"),
        input("sjis", &[24, 3], b"INSERT INTO t VALUES ('\x83\x5c','\x5c'');"),
        input("one_byte_a_character", &[8, 3], b"INSERT INTO t VALUES ('\xd5\x5c'');"),
        input("zero_bytes", &plain, b"INSERT INTO t VALUES ('\0',\0);\0\x1a;"),
        input("no_text", &plain, b"\xff\xfe;INSERT INTO t\xc3 VALUES ('\x80');"),
    ]);
    inputs
}

/// Kinds of `fuzz/src/convert.rs`, by number.
const INTEGER: u8 = 0;
const DECIMAL: u8 = 1;
const FLOAT: u8 = 2;
const DOUBLE: u8 = 4;
const DATE: u8 = 6;
const TIME: u8 = 7;
const DATETIME: u8 = 8;
const TIMESTAMP: u8 = 9;
const YEAR: u8 = 10;
const BIT: u8 = 11;
const ENUM: u8 = 12;
const SET: u8 = 13;
const CHAR: u8 = 14;
const VARCHAR: u8 = 15;
const BINARY: u8 = 16;
const TEXT: u8 = 18;
const UUID: u8 = 20;
const INET4: u8 = 21;
const INET6: u8 = 22;
const JSON: u8 = 23;

/// Kind, size, character sets of column and file, mode and zone; then a value.
pub(crate) fn values() -> Inputs {
    let mut inputs: Inputs = [
        ("tinyint", [INTEGER, 0, 0, 0x84], "-128"),
        ("tinyint_too_large", [INTEGER, 0, 0, 0x84], "128"),
        ("bigint", [INTEGER, 4, 0, 0x84], "-9223372036854775808"),
        ("bigint_unsigned", [INTEGER, 4 | 128, 0, 0x84], "18446744073709551615"),
        ("mediumint_of_a_fraction", [INTEGER, 2, 0, 0x84], " 8388606.5e0 "),
        ("integer_of_an_exponent", [INTEGER, 3, 0, 0x84], "1e-400"),
        ("integer_of_nothing", [INTEGER, 3, 0, 0x84], ""),
        ("integer_of_text", [INTEGER, 3, 0, 0x84], "12x"),
        ("decimal", [DECIMAL, 64, 0, 0x84], "-12345678901234567890.123456789"),
        ("decimal_rounded", [DECIMAL, 8, 0, 0x84], "9999.99995"),
        ("decimal_of_an_exponent", [DECIMAL, 20, 0, 0x84], "1.5E+9"),
        ("decimal_unsigned", [DECIMAL, 20 | 128, 0, 0x84], "-0.0000"),
        ("float", [FLOAT, 0, 0, 0x84], "3.4028235e38"),
        ("double", [DOUBLE, 0, 0, 0x84], "-4.9e-324"),
        ("double_too_large", [DOUBLE, 0, 0, 0x84], "1e309"),
        ("double_digits", [DOUBLE + 1, 30, 0, 0x80], "-0"),
        ("date", [DATE, 0, 0, 0x84], "2024-02-29"),
        ("date_of_two_digits", [DATE, 0, 0, 0x84], "69-1-2"),
        ("date_zero", [DATE, 0, 0, 0x85], "0000-00-00"),
        ("date_of_no_month", [DATE, 0, 0, 0x84], "2024-00-31"),
        ("date_that_is_none", [DATE, 0, 0, 0x86], "2023-02-31"),
        ("date_without_marks", [DATE, 0, 0, 0x84], "20240229"),
        ("time", [TIME, 6, 0, 0x84], "-838:59:59.999999"),
        ("time_of_days", [TIME, 3, 0, 0x87], "34 22:59:59.9995"),
        ("time_too_large", [TIME, 0, 0, 0x84], "839:00:00"),
        ("time_without_marks", [TIME, 0, 0, 0x84], "101112"),
        ("datetime", [DATETIME, 6, 0, 0x84], "2024-02-29 23:59:59.9999995"),
        ("datetime_rounded_into_a_day", [DATETIME, 0, 0, 0x87], "9999-12-31 23:59:59.9"),
        ("datetime_with_a_zone", [DATETIME, 0, 0, 0x84], "2024-01-01T00:00:00+02:00"),
        ("datetime_without_marks", [DATETIME, 2, 0, 0x84], "20240229123456.789"),
        ("timestamp", [TIMESTAMP, 0, 0, 0xf4], "1970-01-01 00:00:01"),
        ("timestamp_last", [TIMESTAMP, 6, 0, 0x84], "2106-02-07 06:28:15.999999"),
        ("timestamp_before_the_first", [TIMESTAMP, 0, 0, 0x80], "1969-12-31 23:59:59"),
        ("year", [YEAR, 0, 0, 0x84], "2155"),
        ("year_of_two_digits", [YEAR, 0, 0, 0x84], "70"),
        ("bit", [BIT, 9, 0, 0x84], "\u{1}\u{7f}"),
        ("enum", [ENUM, 5, 0, 0x84], "l3\u{e9}"),
        ("enum_by_number", [ENUM, 5, 0, 0x80], "0"),
        ("set", [SET, 63, 0, 0x84], "l1\u{e9},l60\u{e9},l1\u{e9}"),
        ("set_of_unknown", [SET, 5, 0, 0x84], "l1\u{e9},,x"),
        ("char_with_spaces", [CHAR, 4, 0, 0x84], "ab   "),
        ("char_that_latin1_lacks", [CHAR, 4, 2, 0x84], "\u{65e5}"),
        ("varchar_too_long", [VARCHAR, 3, 0, 0x84], "\u{1f600}abc"),
        ("varchar_from_latin1", [VARCHAR, 9, 2 << 3, 0x84], "\u{e9}"),
        ("binary_with_zeros", [BINARY, 9, 4, 0x84], "a\0b "),
        ("text_too_long", [TEXT, 2, 0, 0x84], "\u{e9}\u{e9}"),
        ("uuid", [UUID, 0, 0, 0x84], "{123E4567-e89b-12d3-a456-426614174000}"),
        ("inet6_of_inet4", [INET6, 0, 0, 0x84], "::ffff:1.2.3.4"),
        ("json", [JSON, 0, 0, 0x84], "{\"a\": [1, 2.5e3, true, null, \"\\u00e9\\ud83d\\ude00\"]}"),
    ]
    .map(|(name, kind, text)| input(name, &kind, text.as_bytes()))
    .into();
    inputs.push(input("inet4", &[INET4, 0, 0, 0x84], b"192.168.0.256"));
    inputs
}
