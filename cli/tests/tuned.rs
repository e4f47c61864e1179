//! What is said of a server's settings, and settings that are changed for a load and put back.

use serde_json::Value;

use crate::support::{Desk, run};

#[test]
fn doctor_says_what_is_wrong_for_people_and_for_programs() {
    let Some(mut desk) = Desk::new() else { return };
    let doctor = |more: &[&str]| {
        let mut command = desk.home.inrush(["doctor", "--socket"]);
        command.arg(desk.server.socket()).args(["--user", "root"]).args(more);
        run(&mut command)
    };
    // Servers of tests sync nothing, which is dangerous.
    let text = doctor(&[]).done().out.clone();
    assert!(text.contains("DANGER   innodb_doublewrite\n  now    OFF\n"), "{text}");
    let json: Value = serde_json::from_str(&doctor(&["--json"]).done().out).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let doublewrite = findings.iter().find(|finding| finding["what"] == "innodb_doublewrite");
    assert_eq!(doublewrite.unwrap()["weight"], "danger");
    assert!(json["data"]["file_system"].is_string() && json["disk"]["sync_ms"].is_f64(), "{json}");
    // Nothing is left behind, on the server or in its folder.
    assert_eq!(desk.files(), ["db.opt"]);
    assert_eq!(desk.rows("SHOW TABLES"), [""; 0]);
    let none = run(&mut desk.home.inrush(["doctor"]));
    none.refused(2, &["no server is named", "-S SOCKET or -h HOST"]);
}
