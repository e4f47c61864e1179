//! Collations learned from a real server, and our keys against its indexes.

use std::time::Instant;

use server::learn::learn;
use server::testing::TestServer;
use values::Collation;
use values::collation::Verdict;

/// Learns every collation of our character sets and prints what came of it. Minutes.
#[test]
#[ignore = "survey: run it by name with --ignored --nocapture; COLLATIONS=regular.expression"]
fn survey_of_all_collations() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    let like = std::env::var("COLLATIONS").unwrap_or_else(|_| ".".to_owned());
    let sql = format!(
        "SELECT full_collation_name FROM information_schema.collation_character_set_applicability \
         WHERE character_set_name IN ('ascii','latin1','utf8mb3','utf8mb4') \
         AND full_collation_name RLIKE '{like}' ORDER BY 1"
    );
    for row in session.query(&sql).unwrap() {
        let name = row.text(0).unwrap();
        if Collation::built_in(&name).is_some() {
            println!("{name}: built in");
            continue;
        }
        let begun = Instant::now();
        let data = learn(&mut session, &name).unwrap();
        let (seconds, bytes) = (begun.elapsed().as_secs_f64(), data.to_bytes().len());
        let long = data.contractions.iter().filter(|c| c.chars.len() > 2).count();
        let verdict = match &data.verdict {
            Verdict::Exact => "exact".to_owned(),
            other => format!("{other:?}"),
        };
        println!(
            "{name}: {verdict}; {seconds:.2} s, {bytes} bytes, pad {}, {} contractions, {long} of 3 or more",
            data.pad_space,
            data.contractions.len(),
        );
    }
}
