//! Figures of several runs, and how they are written.

/// Rows a second; 0 where nothing was measured.
pub(crate) fn rate(rows: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { rows as f64 / seconds } else { 0.0 }
}

/// The middle one, or the mean of the two in the middle; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 || sorted.is_empty() {
        at(middle)
    } else {
        (at(middle - 1) + at(middle)) / 2.0
    }
}

/// The least of them; infinite of none.
pub(crate) fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// How many times `one` is of `other`: `2.50x`; a dash where either is not known.
pub(crate) fn times(one: f64, other: f64) -> String {
    match one > 0.0 && other > 0.0 {
        true => format!("{:.2}x", one / other),
        false => "-".to_owned(),
    }
}

/// A number with commas.
pub(crate) fn grouped(number: f64) -> String {
    terminal::size::group(number.round() as u64)
}

/// `950`, `9.5k`, `95k`, `1.2M`.
pub(crate) fn short(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.1}M", n / 1e6),
        n if n >= 9_950.0 => format!("{:.0}k", n / 1e3),
        n if n >= 1e3 => format!("{:.1}k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[4.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(grouped(100.0), "100");
    }

    #[test]
    fn numbers_are_short() {
        let cases = [(0.0, "0"), (999.0, "999"), (1_000.0, "1.0k"), (9_949.0, "9.9k")];
        for (number, text) in cases.into_iter().chain([(9_960.0, "10k"), (1.25e6, "1.2M")]) {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn what_is_not_known_has_no_ratio() {
        assert_eq!(
            (times(5.0, 2.0), times(0.0, 2.0), times(5.0, 0.0)),
            ("2.50x".into(), "-".into(), "-".into())
        );
    }
}
