//! The session's time zone: local times of TIMESTAMP columns to UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::error::Error;
use crate::reason::Reason;

/// What `@@time_zone` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// Seconds east of UTC.
    Fixed(i64),
    Changing(TimeZone),
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::UTC
    }
}

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone(Rule::Fixed(0));

    /// Seconds east of UTC.
    pub fn fixed(seconds_east: i32) -> Zone {
        Zone(Rule::Fixed(i64::from(seconds_east)))
    }

    /// A zone by its IANA name, from the system's database or else the built-in one.
    pub fn named(name: &str) -> Result<Zone, Error> {
        match TimeZone::get(name) {
            Ok(zone) => Ok(Zone(Rule::Changing(zone))),
            Err(why) => Err(Error::UnknownZone { name: name.into(), why: why.to_string() }),
        }
    }

    /// The zone of this machine (`TZ`, `/etc/localtime`): the server's `SYSTEM` when it runs here
    /// and was started with the same `TZ`.
    pub fn system() -> Zone {
        Zone(Rule::Changing(TimeZone::system()))
    }

    /// Reads the value of `@@time_zone`: `SYSTEM`, `+05:30`, `Europe/Berlin`.
    pub fn parse(text: &str) -> Result<Zone, Error> {
        if text.eq_ignore_ascii_case("SYSTEM") {
            return Ok(Zone::system());
        }
        match parse_offset(text) {
            Some(seconds) => Ok(Zone::fixed(seconds)),
            None => Zone::named(text),
        }
    }
}

/// `[+-]h[h]:mm` in seconds.
fn parse_offset(text: &str) -> Option<i32> {
    let (sign, clock) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = clock.split_once(':')?;
    let number = |digits: &str| digits.parse::<u8>().ok().map(i32::from);
    Some(sign * (number(hours)? * 3600 + number(minutes)? * 60))
}

/// A zone with the last offset used, and the local times it holds for.
///
/// Rows near each other in time mostly share one; a look into the zone's rules costs 20 to 100 ns.
#[derive(Clone, Debug)]
pub(crate) struct LocalClock {
    zone: Zone,
    /// Local seconds since 1970 for which `offset` holds without doubt, end not included.
    from: i64,
    until: i64,
    offset: i64,
}

impl LocalClock {
    pub(crate) fn new(zone: &Zone) -> LocalClock {
        match zone.0 {
            Rule::Fixed(offset) => {
                LocalClock { zone: zone.clone(), from: i64::MIN, until: i64::MAX, offset }
            }
            Rule::Changing(_) => LocalClock { zone: zone.clone(), from: 0, until: 0, offset: 0 },
        }
    }

    /// Seconds since 1970 in UTC of a local time, given as if it were UTC. Of two equal local
    /// times the first is meant, as on the server.
    #[inline]
    pub(crate) fn to_utc(&mut self, local: i64) -> Result<i64, Reason> {
        if local >= self.from && local < self.until {
            return Ok(local - self.offset);
        }
        self.look_up(local)
    }

    #[cold]
    fn look_up(&mut self, local: i64) -> Result<i64, Reason> {
        let Rule::Changing(zone) = &self.zone.0 else { return Err(Reason::OutOfRange) };
        match zone.to_ambiguous_timestamp(civil(local)?).offset() {
            AmbiguousOffset::Gap { .. } => Err(Reason::SkippedTime),
            AmbiguousOffset::Fold { before, .. } => Ok(local - i64::from(before.seconds())),
            AmbiguousOffset::Unambiguous { offset } => {
                let offset = i64::from(offset.seconds());
                let utc = local - offset;
                let seconds = |at: i64| zone.to_offset(stamp(at)).seconds().into();
                let before = zone.preceding(stamp(utc + 1)).next();
                let after = zone.following(stamp(utc)).next();
                // Next to a change, the local times that come twice stay out of the interval.
                self.from = before.map_or(utc, |change| {
                    let at = change.timestamp().as_second();
                    at + offset.max(seconds(at - 1))
                });
                self.until = after.map_or(utc, |change| {
                    let at = change.timestamp().as_second();
                    at + offset.min(seconds(at))
                });
                self.offset = offset;
                Ok(utc)
            }
        }
    }
}

fn stamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The local time that many seconds after 1970 began.
fn civil(local: i64) -> Result<DateTime, Reason> {
    match Timestamp::from_second(local) {
        Ok(stamp) => Ok(TimeZone::UTC.to_datetime(stamp)),
        Err(_) => Err(Reason::OutOfRange),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn offsets_and_names_are_read() {
        assert_eq!(Zone::parse("+05:30"), Ok(Zone::fixed(19_800)));
        assert_eq!(Zone::parse("-1:00"), Ok(Zone::fixed(-3600)));
        assert!(Zone::parse("Europe/Berlin").is_ok());
        assert!(Zone::parse("Europe/Atlantis").is_err());
    }

    /// Every half hour of 12 years, with the cache and without it.
    #[test]
    fn the_cached_offset_is_the_zones_offset() {
        for name in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"] {
            let zone = Zone::named(name).unwrap();
            let mut clock = LocalClock::new(&zone);
            for half_hour in 0..12 * 366 * 48 {
                let local = half_hour * 1800;
                let cold = LocalClock::new(&zone).look_up(local);
                assert_eq!(clock.to_utc(local), cold, "{name} {local}");
            }
        }
    }
}
