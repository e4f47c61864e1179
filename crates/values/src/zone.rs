//! The session's time zone: local times of TIMESTAMP columns to UTC.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::error::Error;
use crate::reason::Reason;

/// The zone of `@@time_zone`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// Seconds east of UTC.
    Fixed(i64),
    Changing {
        zone: TimeZone,
        /// True if a local time that comes twice means the second; the server reads its own zone by
        /// the C library and loaded ones by its own tables, and the two disagree.
        second: bool,
    },
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
            Ok(zone) => Ok(Zone(Rule::Changing { zone, second: false })),
            Err(why) => Err(Error::UnknownZone { name: name.into(), why: why.to_string() }),
        }
    }

    /// The zone of this machine (`TZ`, `/etc/localtime`): the server's `SYSTEM` when it runs here
    /// and was started with the same `TZ`.
    pub fn system() -> Zone {
        Zone(Rule::Changing { zone: TimeZone::system(), second: true })
    }

    /// `SYSTEM` of a server whose machine is in the zone of this IANA name.
    pub fn system_named(name: &str) -> Result<Zone, Error> {
        let mut zone = Zone::named(name)?;
        if let Rule::Changing { second, .. } = &mut zone.0 {
            *second = true;
        }
        Ok(zone)
    }

    /// Reads the value of `@@time_zone`: `SYSTEM`, `+05:30`, `Europe/Berlin`.
    ///
    /// ```
    /// assert!(values::Zone::parse("+05:30").is_ok());
    /// assert!(values::Zone::parse("Europe/Atlantis").is_err());
    /// ```
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

impl Zone {
    /// The time of clocks so many seconds after 1970 began in UTC, given as if it were UTC.
    pub(crate) fn local_of(&self, utc: i64) -> i64 {
        match &self.0 {
            Rule::Fixed(offset) => utc + offset,
            Rule::Changing { zone, second } => {
                let known = if *second { utc } else { utc.min(TABLES_END - 1) };
                utc + i64::from(zone.to_offset(stamp(known)).seconds())
            }
        }
    }

    /// The last local time before each change of the zone's clocks and the first one behind it that are no others.
    pub fn around_changes(&self) -> Vec<String> {
        let spans = LocalClock::new(self).spans;
        let times = spans.windows(2).flat_map(|pair| [pair[0].until - 1, pair[1].from]);
        let texts = times.filter_map(|local| civil(local).ok());
        texts.map(|local| local.to_string().replace('T', " ")).collect()
    }

    /// True if the local time of a moment, given in seconds since 1970 in UTC, comes twice, so that
    /// its text does not tell which is meant.
    pub fn shows_twice(&self, utc: i64) -> bool {
        let local = self.local_of(utc);
        let offset_of = |utc: i64| self.local_of(utc) - utc;
        // The offsets before and after a change; no zone changes twice in two days.
        let others = [utc - DAY, utc + DAY].map(|near| local - offset_of(near));
        others.into_iter().any(|other| other != utc && self.local_of(other) == local)
    }
}

/// In seconds.
const DAY: i64 = 86_400;

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

/// Seconds since 1970 that TIMESTAMP can tell, and two days on either side.
const RANGE: std::ops::Range<i64> = -172_800..0x1_0000_0000 + 172_800;

/// The server's tables of named zones, filled from the 32-bit part of zone files, know no change
/// from here on: what holds then holds for ever.
const TABLES_END: i64 = 0x8000_0000;

/// Local times, as seconds since 1970, that have one offset and no other.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: i64,
    /// Not included.
    until: i64,
    offset: i64,
}

/// A zone's changes from 1970 to 2106, and the span last used.
///
/// Rows near each other in time mostly share a span; a search among all takes some nanoseconds,
/// while a look into the zone's rules takes 20 to 100.
#[derive(Clone, Debug)]
pub(crate) struct LocalClock {
    zone: Zone,
    /// Ascending. Between two spans lie the local times that come twice or never.
    spans: Arc<[Span]>,
    last: Span,
}

impl LocalClock {
    pub(crate) fn new(zone: &Zone) -> LocalClock {
        let (spans, last) = match &zone.0 {
            Rule::Fixed(offset) => {
                (Vec::new(), Span { from: i64::MIN, until: i64::MAX, offset: *offset })
            }
            Rule::Changing { zone, second } => {
                let end = if *second { RANGE.end } else { TABLES_END };
                (spans(zone, end), Span { from: 0, until: 0, offset: 0 })
            }
        };
        LocalClock { zone: zone.clone(), spans: spans.into(), last }
    }

    /// True if the server reads the zone in its own tables.
    pub(crate) fn is_of_tables(&self) -> bool {
        matches!(self.zone.0, Rule::Changing { second: false, .. })
    }

    /// Seconds since 1970 in UTC of a local time, given as if it were UTC.
    #[inline]
    pub(crate) fn utc_of(&mut self, local: i64) -> Result<i64, Reason> {
        if local < self.last.from || local >= self.last.until {
            let index = self.spans.partition_point(|span| span.until <= local);
            match self.spans.get(index) {
                Some(span) if span.from <= local => self.last = *span,
                _ => return self.look_up(local),
            }
        }
        Ok(local - self.last.offset)
    }

    #[cold]
    fn look_up(&self, local: i64) -> Result<i64, Reason> {
        let Rule::Changing { zone, second } = &self.zone.0 else {
            return Err(Reason::OutOfRange);
        };
        let offset = match zone.to_ambiguous_timestamp(civil(local)?).offset() {
            AmbiguousOffset::Gap { .. } => return Err(Reason::SkippedTime),
            AmbiguousOffset::Fold { after, .. } if *second => after,
            AmbiguousOffset::Fold { before, .. } => before,
            AmbiguousOffset::Unambiguous { offset } => offset,
        };
        Ok(local - i64::from(offset.seconds()))
    }
}

/// The unambiguous times of a zone's clocks, change by change, of which the last is before `end`.
fn spans(zone: &TimeZone, end: i64) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut offset = i64::from(zone.to_offset(stamp(RANGE.start)).seconds());
    let mut from = RANGE.start + offset;
    for change in zone.following(stamp(RANGE.start)) {
        let at = change.timestamp().as_second();
        if at >= end {
            break;
        }
        let next = i64::from(change.offset().seconds());
        spans.push(Span { from, until: at + offset.min(next), offset });
        from = at + offset.max(next);
        offset = next;
    }
    spans.push(Span { from, until: RANGE.end + offset, offset });
    spans
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

    #[test]
    fn named_zones_have_no_summer_after_2037_and_the_systems_has() {
        let july = |zone: Zone, year: i64| {
            let local = (year - 1970) * 31_556_952 + 182 * 86_400;
            (local - LocalClock::new(&zone).utc_of(local).unwrap()) / 3600
        };
        let zones = || (Zone::named("Europe/Berlin"), Zone::system_named("Europe/Berlin"));
        for (year, named, system) in [(2037, 2, 2), (2038, 1, 2), (2105, 1, 2)] {
            let (of_tables, of_library) = zones();
            assert_eq!(july(of_tables.unwrap(), year), named, "{year}");
            assert_eq!(july(of_library.unwrap(), year), system, "{year}");
        }
    }

    #[test]
    fn an_hour_that_is_set_back_comes_twice() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        // 2026-10-25 01:00 UTC is 02:00 there for the second time; 2026-03-29 has an hour less.
        let change = 1_792_890_000;
        for (minutes, is_twice) in [(-61, false), (-60, true), (0, true), (59, true), (60, false)] {
            assert_eq!(berlin.shows_twice(change + minutes * 60), is_twice, "{minutes}");
        }
        let spring = 1_774_746_000;
        assert!([-60, -1, 0, 60].iter().all(|minutes| !berlin.shows_twice(spring + minutes * 60)));
        assert!(!Zone::fixed(3600).shows_twice(change));
    }

    #[test]
    fn times_around_changes_have_one_meaning() {
        let around = Zone::named("Europe/Berlin").unwrap().around_changes();
        let of_2026: Vec<&String> = around.iter().filter(|text| text.starts_with("2026")).collect();
        let expected = [
            "2026-03-29 01:59:59",
            "2026-03-29 03:00:00",
            "2026-10-25 01:59:59",
            "2026-10-25 03:00:00",
        ];
        assert_eq!(of_2026, expected.iter().collect::<Vec<_>>());
        assert!(Zone::fixed(3600).around_changes().is_empty());
    }

    /// Every half hour of 12 years, by the spans and by the rules.
    #[test]
    fn the_spans_offset_is_the_zones_offset() {
        for name in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"] {
            let zone = Zone::named(name).unwrap();
            let mut clock = LocalClock::new(&zone);
            for half_hour in 0..12 * 366 * 48 {
                let local = half_hour * 1800;
                assert_eq!(clock.utc_of(local), clock.look_up(local), "{name} {local}");
            }
        }
    }
}
