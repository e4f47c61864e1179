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

/// Foreign keys whose actions CREATE TABLE takes for nothing said, and ALTER TABLE does not.
const RESTRICTED: &str = "
SET FOREIGN_KEY_CHECKS=0;
DROP TABLE IF EXISTS `city`;
CREATE TABLE `city` (
  `id` int NOT NULL, `country` int, `mayor` int, `twin` int, `river` int,
  PRIMARY KEY (`id`), KEY (`country`), KEY (`mayor`), KEY (`twin`), KEY (`river`),
  CONSTRAINT `a` FOREIGN KEY (`country`) REFERENCES `country` (`id`) ON DELETE RESTRICT ON UPDATE RESTRICT,
  CONSTRAINT `b` FOREIGN KEY (`mayor`) REFERENCES `country` (`id`) ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT `c` FOREIGN KEY (`twin`) REFERENCES `city` (`id`) ON DELETE NO ACTION on update set null,
  CONSTRAINT `d` FOREIGN KEY (`river`) REFERENCES `country` (`id`)
) ENGINE=InnoDB;
INSERT INTO `city` VALUES (1, 1, 1, 2, NULL), (2, 1, NULL, 1, 1);
CREATE TABLE `country` (`id` int NOT NULL PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO `country` VALUES (1);
";

#[test]
fn foreign_keys_are_shown_as_the_client_makes_them() {
    let Some(mut yard) = Yard::new(&["restricted"]) else { return };
    let database = yard.databases[0].clone();
    let dump = yard.home.file("restricted.sql", RESTRICTED);
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    for more in [&[][..], &["--atomic"]] {
        yard.wipe();
        yard.make_databases();
        let outcome = crate::support::run(yard.replay(&dump, &["--into", &database]).args(more));
        yard.compare(&format!("{more:?}"), &outcome, &expected);
    }
}
