//! Number formats of cells: whether a number is shown as a date, a time or both.

/// Parts of a moment that a format shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShownParts {
    /// A date.
    Date,
    /// A time of day, or a duration.
    Time,
    /// Both.
    Both,
}

/// The parts that a format of dates shows; None of another format.
///
/// Source: ECMA-376, part 1, section 18.8.31. The first section counts.
pub(super) fn shown_parts(code: &str) -> Option<ShownParts> {
    let (mut date, mut month, mut time) = (false, false, false);
    let mut letters = code.chars();
    while let Some(letter) = letters.next() {
        match letter.to_ascii_lowercase() {
            ';' => break,
            '\\' | '_' | '*' => drop(letters.next()),
            '"' => drop(letters.find(|letter| *letter == '"')),
            '[' => {
                let text: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
                // Hours, minutes and seconds in brackets go on behind 24 and 60.
                let is_clock = !text.is_empty() && text.chars().all(|it| "hmsHMS".contains(it));
                time |= is_clock;
            }
            'y' | 'd' | 'e' | 'g' | 'b' => date = true,
            'm' => month = true,
            'h' | 's' => time = true,
            _ => {}
        }
    }
    // Months and minutes have one letter: minutes never stand alone.
    match (date || (month && !time), time) {
        (true, true) => Some(ShownParts::Both),
        (true, false) => Some(ShownParts::Date),
        (false, true) => Some(ShownParts::Time),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_show_dates_times_or_both() {
        use ShownParts::*;
        for (code, parts) in [
            ("yyyy-mm-dd", Some(Date)),
            ("mmm-yy", Some(Date)),
            ("mmmm", Some(Date)),
            ("h:mm AM/PM", Some(Time)),
            ("mm:ss", Some(Time)),
            ("mmss.0", Some(Time)),
            ("[h]:mm:ss", Some(Time)),
            ("[mm]", Some(Time)),
            ("m/d/yy h:mm", Some(Both)),
            ("[$-409]dd\\ mmmm\\ yyyy;@", Some(Date)),
            ("\"Date: \"yyyy", Some(Date)),
            ("[Red]h:mm;yyyy", Some(Time)),
            ("0.00", None),
            ("\"days\"0", None),
            ("0\\d", None),
        ] {
            assert_eq!(shown_parts(code), parts, "{code}");
        }
    }
}
