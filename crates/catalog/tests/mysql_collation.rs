//! Collations learned from MySQL, and our keys against its indexes. Runs where INRUSH_TEST_MYSQLD names a `mysqld`.

use testkit::TestServer;

use crate::collation::{compare_with_indexes, survey};

/// Learns every collation of MySQL and prints what came of it. Minutes.
#[test]
#[ignore = "survey: run it by name with --ignored --nocapture; COLLATIONS=regular.expression"]
fn survey_of_all_collations_of_mysql() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    survey(&server, "collation_name");
}

#[test]
fn keys_order_as_the_indexes_of_mysql() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    let names = ["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "utf8mb4_0900_bin"];
    compare_with_indexes(&server, &names, 10_000);
    let others = [
        "utf8mb3_general_ci",
        "utf8mb4_unicode_ci",
        "utf8mb3_unicode_ci",
        "utf8mb4_unicode_520_ci",
        "utf8mb4_bin",
        "utf8mb3_bin",
        "latin1_swedish_ci",
        "latin1_general_ci",
        "latin1_german2_ci",
        "latin1_bin",
        "ascii_general_ci",
        "ascii_bin",
        "utf8mb4_0900_as_ci",
        "utf8mb4_0900_as_cs",
    ];
    compare_with_indexes(&server, &others, 2000);
}
