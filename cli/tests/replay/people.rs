//! Dumps that no program wrote.

use super::yard::Yard;

#[test]
fn what_people_write_means_what_it_means_to_the_client() {
    let Some(mut yard) = Yard::new(&["people"]) else { return };
    let dump = yard.home.file("people.sql", include_str!("zoo/people.sql"));
    let database = yard.databases[0].clone();
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    for way in super::yard::WAYS {
        // The second time small tables go the ways of large ones.
        for more in [&[][..], &["--small", "1"]] {
            yard.wipe();
            yard.make_databases();
            let mut command = yard.replay(&dump, &["--as", way, "--into", &database]);
            let outcome = crate::support::run(command.args(more));
            yard.compare(&format!("people as {way} {more:?}"), &outcome, &expected);
        }
    }
}
