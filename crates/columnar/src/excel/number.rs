//! Numbers of worksheets as Excel shows them: with at most 15 digits.

/// Whole numbers from here on may have lost digits already: Excel and its files have doubles.
pub(super) const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
/// Numbers from here on, and below, are shown with an exponent.
const PLAIN_MAX: f64 = 1e15;
/// Whole numbers from here on have more digits than anybody reads.
const DIGITS_MAX: f64 = 1e21;
const PLAIN_MIN: f64 = 1e-9;

/// True for a whole number that has all its digits.
pub(super) fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < WHOLE_MAX
}

/// True for a whole number that may have lost digits.
pub(super) fn is_uncertain(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() >= WHOLE_MAX
}

/// The number of 15 digits that Excel shows for a number; whole numbers have all digits.
pub(super) fn shown(number: f64) -> f64 {
    // Numbers in hundredths, thousandths and so on of few digits are what they look like.
    if is_whole(number) || (number.abs() < 1e9 && (number * 1e4).round() / 1e4 == number) {
        return number;
    }
    format!("{number:.14e}").parse().unwrap_or(number)
}

/// The text of a number.
pub(super) fn text(number: f64) -> String {
    if is_uncertain(number) && number.abs() < DIGITS_MAX {
        return format!("{number}");
    }
    let shown = shown(number);
    match shown == 0.0 || (PLAIN_MIN..PLAIN_MAX).contains(&shown.abs()) || is_whole(shown) {
        // There is no -0 in a worksheet.
        true => format!("{}", shown + 0.0),
        false => format!("{shown:e}"),
    }
}

/// The text of a number with all of its bits.
pub(super) fn text_of_bits(number: f64) -> String {
    match number == 0.0 || (PLAIN_MIN..PLAIN_MAX).contains(&number.abs()) {
        true => format!("{}", number + 0.0),
        false => format!("{number:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_excel_shows() {
        for (number, expected) in [
            (0.1, "0.1"),
            (0.1 + 0.2, "0.3"),
            (-0.0, "0"),
            (1e15, "1000000000000000"),
            (-9_007_199_254_740_991.0, "-9007199254740991"),
            (1.0 / 3.0, "0.333333333333333"),
            (123_456.789, "123456.789"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (1e300, "1e300"),
            (1.5e-12, "1.5e-12"),
            (19.99 * 100.0, "1999"),
        ] {
            assert_eq!(text(number), expected);
        }
        for (number, expected) in
            [(0.1 + 0.2, "0.30000000000000004"), (-0.0, "0"), (1.0 / 3e9, "3.333333333333333e-10")]
        {
            assert_eq!(text_of_bits(number), expected);
        }
        assert!(is_whole(1e15) && !is_whole(1e16) && is_uncertain(1e16) && !is_uncertain(0.5));
    }
}
