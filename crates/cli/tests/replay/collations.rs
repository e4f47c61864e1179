//! Collations that the server lacks.

use super::yard::Yard;
use crate::support::run;

const DUMP: &str = "
/*!50503 SET NAMES utf8mb4 */;
CREATE TABLE `t` (
  `a` varchar(40) CHARACTER SET utf8mb4 COLLATE test9_0900_ai_ci COMMENT 'not test9_0900_ai_ci',
  `test9_0900_ai_ci` varchar(9)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=test9_0900_ai_ci;
INSERT INTO `t` VALUES ('test9_0900_ai_ci', NULL);
ALTER TABLE `t` ADD `b` TEXT COLLATE test9_0900_ai_ci;
/*!50001 SET collation_connection = test9_0900_ai_ci */;
/*!50001 CREATE VIEW `v` AS SELECT `a` COLLATE test9_0900_ai_ci AS `a` FROM `t` */;
";

#[test]
fn an_unknown_collation_is_replaced_by_a_named_one() {
    let Some(mut yard) = Yard::new(&["collations"]) else { return };
    let database = yard.databases[0].clone();
    // A name that no server has, of a character set that all have.
    let text = DUMP.replace("test9", "utf8mb4_test9");
    let dump = yard.home.file("collations.sql", text);
    let into = ["--into", &database];
    let outcome = run(&mut yard.replay(&dump, &into));
    let unknown = "the server has no collation utf8mb4_test9_0900_ai_ci";
    outcome.refused(1, &["collations.sql, line 3", "CREATE TABLE `t`", unknown]);
    let (_, rest) = outcome.err.split_once("--map-collation ").unwrap();
    let mapped = rest.split(' ').next().unwrap().to_owned();
    let (_, to) = mapped.split_once('=').unwrap();

    let outcome = run(yard.replay(&dump, &into).args(["--map-collation", &mapped]));
    let told = format!("the collation utf8mb4_test9_0900_ai_ci became {to} in 5 places");
    assert!(outcome.done().out.contains(&told), "{outcome:?}");
    let shown = yard.session.query_row(&format!("SHOW CREATE TABLE `{database}`.t")).unwrap();
    let shown = shown.text_lossy(1);
    for part in [to, "COMMENT 'not utf8mb4_test9_0900_ai_ci'", "`utf8mb4_test9_0900_ai_ci` varchar"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let row = yard.session.query_row(&format!("SELECT a FROM `{database}`.v")).unwrap();
    assert_eq!(row.text_lossy(0), "utf8mb4_test9_0900_ai_ci");
}

#[test]
fn a_collation_that_cannot_take_the_place_is_refused_at_the_start() {
    let Some(mut yard) = Yard::new(&["refused_collations"]) else { return };
    let database = yard.databases[0].clone();
    let dump = yard.home.file("one.sql", "CREATE TABLE t (a INT);\n");
    for (mapped, reason) in [
        ("utf8mb4_0900_ai_ci=latin1_bin", "no collation latin1_bin for the character set utf8mb4"),
        ("utf8mb4_0900_ai_ci=utf8mb4_none", "the closest that it has is utf8mb4_"),
        ("utf8mb4_0900_ai_ci", "needs FROM=TO"),
        ("a=b'c", "needs FROM=TO"),
    ] {
        let arguments = ["--into", &database, "--map-collation", mapped];
        run(&mut yard.replay(&dump, &arguments)).refused(2, &["--map-collation", reason]);
    }
    assert_eq!(yard.session.query(&format!("SHOW TABLES FROM `{database}`")).unwrap(), []);
}
