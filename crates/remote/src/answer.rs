//! Headers of an answer: the size of an object, its state, and the range that comes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ureq::http::HeaderMap;

/// By what an object is the same as before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) tag: Option<String>,
    pub(crate) modified: Option<String>,
    /// The size of all of it.
    pub(crate) bytes: Option<u64>,
}

/// The value of the header Content-Range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// The first byte; None where a range was refused.
    pub(crate) start: Option<u64>,
    /// The last byte.
    pub(crate) end: u64,
    /// The size of all of the object, if the server knows it.
    pub(crate) total: Option<u64>,
}

impl State {
    /// The state that an answer tells, of an object of this size.
    pub(crate) fn of(headers: &HeaderMap, bytes: Option<u64>) -> State {
        State { tag: text(headers, "etag"), modified: text(headers, "last-modified"), bytes }
    }

    /// True if a later answer can be told to be of another state.
    pub(crate) fn can_be_told(&self) -> bool {
        self.tag.is_some() || self.modified.is_some()
    }

    /// The header, and its value, by which the server refuses another state: a strong tag, or the time of the last
    /// change.
    pub(crate) fn condition(&self) -> Option<(&'static str, &str)> {
        let strong = self.tag.as_deref().filter(|tag| !tag.starts_with("W/"));
        let tag = strong.map(|tag| ("If-Match", tag));
        tag.or_else(|| Some(("If-Unmodified-Since", self.modified.as_deref()?)))
    }

    /// How a later state differs; None if it does not. A server that told the tag tells it again, else the time of the
    /// last change.
    ///
    /// Source: RFC 9110, 15.3.7: a part has the ETag that the whole would have had.
    pub(crate) fn difference(&self, now: &State) -> Option<String> {
        if let (Some(then), Some(now)) = (self.bytes, now.bytes)
            && then != now
        {
            return Some(format!("had {then} bytes and has {now} now"));
        }
        if self.tag.is_some() && self.tag != now.tag {
            return Some("has another ETag now, or none".to_owned());
        }
        let is_told = self.tag.is_none() || now.modified.is_some();
        (self.modified.is_some() && is_told && self.modified != now.modified)
            .then(|| "has another time of its last change now, or none".to_owned())
    }

    /// As one text.
    pub(crate) fn text(&self) -> String {
        let tag = self.tag.as_deref().or(self.modified.as_deref()).unwrap_or("-");
        match self.bytes {
            Some(bytes) => format!("{tag} {bytes}"),
            None => tag.to_owned(),
        }
    }
}

impl ContentRange {
    /// That of an answer; None without one that can be read.
    pub(crate) fn of(headers: &HeaderMap) -> Option<ContentRange> {
        let value = text(headers, "content-range")?;
        let (range, total) = value.trim().strip_prefix("bytes")?.trim().split_once('/')?;
        let total = match total.trim() {
            "*" => None,
            total => Some(total.parse().ok()?),
        };
        if range.trim() == "*" {
            return Some(ContentRange { start: None, end: 0, total });
        }
        let (start, end) = range.trim().split_once('-')?;
        let (start, end) = (start.parse().ok()?, end.parse().ok()?);
        let is_sound = start <= end && total.is_none_or(|total| end < total);
        is_sound.then_some(ContentRange { start: Some(start), end, total })
    }
}

/// A header as text.
pub(crate) fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The time after which a server wants to be asked again: seconds, or up to a moment.
///
/// Source: RFC 9110, 10.2.3.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, "retry-after")?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    // The clock of the server may differ from ours.
    let now = text(headers, "date").and_then(|date| moment(&date)).or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(now.as_secs()).ok()
    })?;
    Some(Duration::from_secs(u64::try_from(moment(&value)? - now).unwrap_or(0)))
}

/// Seconds from 1970 on to a moment such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn moment(text: &str) -> Option<i64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (_, rest) = text.split_once(", ")?;
    let mut parts = rest.split(' ');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let clock = parts.next()?;
    let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? as i64 / 3;
    let (year, day): (i64, i64) = (year.parse().ok()?, day.parse().ok()?);
    let mut clock = clock.split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    let is_sound = (1970..10_000).contains(&year)
        && (1..=31).contains(&day)
        && (0..24).contains(&hours)
        && (0..60).contains(&minutes)
        && (0..=60).contains(&seconds)
        && (parts.next(), parts.next()) == (Some("GMT"), None);
    // Years begin with March, so that the day of a leap year is the last one.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    is_sound.then_some((days - 719_469) * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

/// The size that an answer says that its body has.
pub(crate) fn content_length(headers: &HeaderMap) -> Option<u64> {
    text(headers, "content-length")?.parse().ok()
}

/// True if an answer says where its body ends. Of any other, a connection that breaks looks like the file's end.
pub(crate) fn has_end(headers: &HeaderMap) -> bool {
    let is_chunked = |value: String| value.to_ascii_lowercase().contains("chunked");
    content_length(headers).is_some() || text(headers, "transfer-encoding").is_some_and(is_chunked)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_servers_write_them() {
        let range = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("content-range", value.parse().unwrap());
            ContentRange::of(&headers).map(|range| (range.start, range.end, range.total))
        };
        assert_eq!(range("bytes 0-9/100"), Some((Some(0), 9, Some(100))));
        assert_eq!(range("bytes 5-5/*"), Some((Some(5), 5, None)));
        assert_eq!(range("bytes */0"), Some((None, 0, Some(0))));
        for wrong in ["bytes 9-0/100", "bytes 0-100/100", "lines 0-9/10", "bytes 0-9", ""] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_wait_is_seconds_or_up_to_a_date() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Mon, 31 Dec 2029 12:00:00 GMT", Some(1_893_412_800)),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 anF 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("06 Nov 1994", None),
            ("", None),
        ] {
            assert_eq!(moment(text), seconds, "{text}");
        }
        let wait = |after: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", after.parse().unwrap());
            date.map(|date| headers.insert("date", date.parse().unwrap()));
            retry_after(&headers).map(|wait| wait.as_secs())
        };
        let (then, later) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT");
        assert_eq!(wait("7", None), Some(7));
        assert_eq!(wait(later, Some(then)), Some(30));
        assert_eq!(wait(then, Some(later)), Some(0));
        assert_eq!(wait(then, None), Some(0));
        assert_eq!(wait("soon", None), None);
    }

    #[test]
    fn another_state_is_told_by_the_tag_or_the_time() {
        let state = |tag: Option<&str>, modified: Option<&str>, bytes| State {
            tag: tag.map(str::to_owned),
            modified: modified.map(str::to_owned),
            bytes,
        };
        let then = state(Some("\"a\""), Some("Mon"), Some(5));
        assert_eq!(then.difference(&then), None);
        assert_eq!(then.difference(&state(Some("\"a\""), None, None)), None);
        for now in [
            state(None, Some("Mon"), Some(5)),
            state(Some("\"b\""), Some("Mon"), Some(5)),
            state(Some("\"a\""), Some("Tue"), Some(5)),
            state(Some("\"a\""), Some("Mon"), Some(6)),
        ] {
            assert!(then.difference(&now).is_some(), "{now:?}");
        }
        assert_eq!(then.condition(), Some(("If-Match", "\"a\"")));
        let dated = state(None, Some("Mon"), Some(5));
        assert_eq!(dated.difference(&dated), None);
        assert!(dated.difference(&state(None, None, Some(5))).is_some());
        let weak = state(Some("W/\"a\""), Some("Mon"), None);
        assert_eq!(weak.condition(), Some(("If-Unmodified-Since", "Mon")));
        assert_eq!(state(Some("W/\"a\""), None, None).condition(), None);
    }
}
