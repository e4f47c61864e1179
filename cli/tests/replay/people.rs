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
        yard.wipe();
        yard.make_databases();
        let outcome =
            crate::support::run(&mut yard.replay(&dump, &["--as", way, "--into", &database]));
        yard.compare(&format!("people as {way}"), &outcome, &expected);
    }
}
