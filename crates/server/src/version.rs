//! Which server speaks, and whether the direct path knows its files.

use std::fmt;

pub use schema::Flavor;

/// Version of a server: `11.8.6-MariaDB-deb13`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// MariaDB or MySQL.
    pub flavor: Flavor,
    /// The three numbers.
    pub number: (u16, u16, u16),
    /// The text they were read from.
    pub text: String,
    /// Who built it, as MySQL tells: `@@version_comment`. Empty if nobody asked.
    pub comment: String,
}

/// Oldest releases whose tablespaces the direct path builds.
const MARIADB_MIN: (u16, u16, u16) = (10, 5, 0);
const MYSQL_MIN: (u16, u16, u16) = (8, 0, 30);

/// The tested list: releases on which the soak, the comparisons with LOAD DATA and the kills have run (`make
/// soak-servers`, docs/trials.md). The build of any other release is proven before its first direct load.
///
/// 10.5.23 passes the proof and is not among them: before 10.6 a server that is killed in a RENAME or a DROP may leave
/// tables behind.
pub const TESTED: [(Flavor, (u16, u16, u16)); 4] = [
    (Flavor::MariaDb, (10, 11, 19)),
    (Flavor::MariaDb, (11, 4, 5)),
    (Flavor::MariaDb, (11, 8, 9)),
    (Flavor::MySql, (9, 7, 4)),
];
/// Mark of builds of MariaDB that have more than the release of their number.
const ENTERPRISE: &str = "enterprise";
/// Builds of MySQL that are the release of their number, by their comments. Percona's and commercial ones are not.
const COMMUNITY: [&str; 2] = ["(Debian)", "MySQL Community Server - GPL"];

impl Version {
    /// Reads `SELECT VERSION()`, or the part of `mariadbd --version` after `Ver`.
    ///
    /// None when the text does not start with two numbers.
    pub fn parse(text: &str) -> Option<Version> {
        // Replicas of old clusters see MariaDB 10 and later as 5.5.5-10.x.y-MariaDB.
        let numbers = text.trim().trim_start_matches("5.5.5-");
        let end = numbers.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(numbers.len());
        let mut parts = numbers[..end].split('.').map(str::parse::<u16>);
        let major = parts.next()?.ok()?;
        let minor = parts.next()?.ok()?;
        let patch = parts.next().and_then(Result::ok).unwrap_or(0);
        let flavor = if text.to_ascii_lowercase().contains("mariadb") {
            Flavor::MariaDb
        } else {
            Flavor::MySql
        };
        let (text, comment) = (text.trim().to_owned(), String::new());
        Some(Version { flavor, number: (major, minor, patch), text, comment })
    }

    /// The same of a build with this `@@version_comment`.
    pub fn with_comment(self, comment: &str) -> Version {
        Version { comment: comment.to_owned(), ..self }
    }

    /// `10.11`, `11.8`: the series whose data files are alike.
    pub fn series(&self) -> (u16, u16) {
        (self.number.0, self.number.1)
    }

    /// True if it has the type UUID: MariaDB from 10.7 on.
    pub fn has_uuid(&self) -> bool {
        self.flavor == Flavor::MariaDb && self.series() >= (10, 7)
    }

    /// Why the direct path does not build files for this server; None when it does.
    pub fn unfit(&self) -> Option<UnfitVersion> {
        let oldest = match self.flavor {
            Flavor::MariaDb => MARIADB_MIN,
            Flavor::MySql => MYSQL_MIN,
        };
        (self.number < oldest).then_some(UnfitVersion { flavor: self.flavor, oldest })
    }

    /// True if the release is on the tested list.
    pub fn is_tested(&self) -> bool {
        let is_community = match self.flavor {
            Flavor::MariaDb => !self.text.to_ascii_lowercase().contains(ENTERPRISE),
            Flavor::MySql => COMMUNITY.contains(&self.comment.as_str()),
        };
        is_community && self.has_tested_number()
    }

    /// True if the release is on the tested list, whoever built it.
    pub(crate) fn has_tested_number(&self) -> bool {
        TESTED.contains(&(self.flavor, self.number))
    }
}

/// A version before the oldest one that the direct path builds files for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfitVersion {
    flavor: Flavor,
    oldest: (u16, u16, u16),
}

impl fmt::Display for UnfitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.oldest;
        match self.flavor {
            Flavor::MariaDb => write!(f, "MariaDB {major}.{minor} or newer is needed"),
            Flavor::MySql => write!(f, "MySQL {major}.{minor}.{patch} or newer is needed"),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_servers_in_the_wild() {
        let (maria, mysql) = (Flavor::MariaDb, Flavor::MySql);
        // Text, flavor, numbers, files known, release tested.
        let cases = [
            ("10.11.19-MariaDB-0+deb12u1", maria, (10, 11, 19), true, true),
            ("10.11.19-15-MariaDB-enterprise", maria, (10, 11, 19), true, false),
            ("11.8.6-MariaDB-ubu2404-log", maria, (11, 8, 6), true, false),
            ("5.5.5-10.6.12-MariaDB", maria, (10, 6, 12), true, false),
            ("11.4.5-MariaDB-log", maria, (11, 4, 5), true, true),
            ("10.4.34-MariaDB", maria, (10, 4, 34), false, false),
            ("13.0.1-MariaDB", maria, (13, 0, 1), true, false),
            ("5.7.44", mysql, (5, 7, 44), false, false),
            ("8.0.36-28", mysql, (8, 0, 36), true, false),
            ("9.7.0", mysql, (9, 7, 0), true, false),
            ("9.7.4-2", mysql, (9, 7, 4), true, false),
            ("9.7.4-commercial", mysql, (9, 7, 4), true, false),
        ];
        for (text, flavor, number, good, tested) in cases {
            let version = Version::parse(text).unwrap();
            assert_eq!((version.flavor, version.number), (flavor, number), "{text}");
            assert_eq!(version.unfit().is_none(), good, "{text}");
            assert_eq!(version.is_tested(), tested, "{text}");
        }
        let tested = |comment: &str| Version::parse("9.7.4-2").unwrap().with_comment(comment);
        let builds = [
            ("(Debian)", true),
            ("MySQL Community Server - GPL", true),
            ("MySQL Community Server - GPL - Debug", false),
            ("MySQL Enterprise Server - Commercial", false),
            ("Percona Server (GPL), Release 2, Revision 0123abcd", false),
        ];
        for (comment, is_tested) in builds {
            assert_eq!(tested(comment).is_tested(), is_tested, "{comment}");
        }
        assert_eq!(Version::parse("MariaDB"), None);
        assert_eq!(Version::parse(""), None);
    }
}
