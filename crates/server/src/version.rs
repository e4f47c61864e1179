//! Which server speaks, and whether the direct path knows its files.

use std::fmt;

/// Who made the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavor {
    /// MariaDB Server.
    MariaDb,
    /// MySQL, Percona Server and others that follow it.
    MySql,
}

/// Version of a server: `11.8.6-MariaDB-deb13`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// MariaDB or MySQL.
    pub flavor: Flavor,
    /// The three numbers.
    pub number: (u16, u16, u16),
    /// The text they were read from.
    pub text: String,
}

/// Oldest MariaDB whose tablespaces the direct path builds: 10.11 LTS.
const MARIADB_MIN: (u16, u16, u16) = (10, 11, 0);
/// First major version nobody has tried.
const MARIADB_MAJOR_UNKNOWN: u16 = 13;

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
        Some(Version { flavor, number: (major, minor, patch), text: text.trim().to_owned() })
    }

    /// `10.11`, `11.8`: the series whose data files are alike.
    pub fn series(&self) -> (u16, u16) {
        (self.number.0, self.number.1)
    }

    /// Why the direct path does not build files for this server; None when it does.
    pub fn unfit(&self) -> Option<UnfitVersion> {
        match self.flavor {
            Flavor::MySql => Some(UnfitVersion::MySql),
            Flavor::MariaDb if self.number < MARIADB_MIN => Some(UnfitVersion::TooOld),
            Flavor::MariaDb if self.number.0 >= MARIADB_MAJOR_UNKNOWN => {
                Some(UnfitVersion::Untried)
            }
            Flavor::MariaDb => None,
        }
    }
}

/// Why the direct path does not build files for a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfitVersion {
    /// It is MySQL's.
    MySql,
    /// It writes files as they were before.
    TooOld,
    /// It came later than Inrush.
    Untried,
}

impl fmt::Display for UnfitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnfitVersion::MySql => "tablespaces of MySQL are not supported yet",
            UnfitVersion::TooOld => "MariaDB 10.11 or newer is needed",
            UnfitVersion::Untried => "files of this version are not tested",
        })
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
        let cases = [
            ("10.11.19-MariaDB-0+deb12u1", Flavor::MariaDb, (10, 11, 19), true),
            ("11.8.6-MariaDB-ubu2404-log", Flavor::MariaDb, (11, 8, 6), true),
            ("5.5.5-10.6.12-MariaDB", Flavor::MariaDb, (10, 6, 12), false),
            ("13.0.1-MariaDB", Flavor::MariaDb, (13, 0, 1), false),
            ("8.0.36-28", Flavor::MySql, (8, 0, 36), false),
            ("9.7.0", Flavor::MySql, (9, 7, 0), false),
        ];
        for (text, flavor, number, good) in cases {
            let version = Version::parse(text).unwrap();
            assert_eq!((version.flavor, version.number), (flavor, number), "{text}");
            assert_eq!(version.unfit().is_none(), good, "{text}");
        }
        assert_eq!(Version::parse("MariaDB"), None);
        assert_eq!(Version::parse(""), None);
    }
}
