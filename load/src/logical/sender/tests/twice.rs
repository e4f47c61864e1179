//! Portions that are sent again: after deadlocks, lost connections, restarts. Each is in once.

use super::*;

/// A second sender, as of a second run, finds the portion in the ledger.
#[test]
fn a_portion_that_is_in_is_not_loaded_again() {
    let Some(server) = TestServer::shared() else { return };
    let columns = format!("{COLUMNS}, CONSTRAINT good CHECK (b <> 'bad')");
    let mut scene = Scene::new(server, &columns, &NAMES, OnDuplicate::Fail);
    let lines = ["1\ta", "2\tbad", "3\tc"];
    let mut first = portion(0, Form::Lines, &lines);
    let first = scene.sender().send(&mut first, BATCH, &mut Notes::default()).unwrap();
    let mut again = portion(0, Form::Lines, &lines);
    let again = scene.sender().send(&mut again, BATCH, &mut Notes::default()).unwrap();
    assert!(again.was_loaded && !first.was_loaded);
    assert_eq!(again.entry, first.entry);
    assert_eq!(again.rejects[0].to_string(), first.rejects[0].to_string());
    assert_eq!(scene.rows(), ["1\ta", "3\tc"]);
    // Of other bytes, it is another input.
    let mut other = portion(0, Form::Lines, &["1\ta", "2\tbed", "3\tc"]);
    let other = scene.sender().send(&mut other, BATCH, &mut Notes::default());
    assert!(matches!(other, Err(Trouble::Failed(Error::InputChanged))), "{other:?}");
}
