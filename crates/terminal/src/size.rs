//! Sizes and numbers as people type and read them.

pub use disk::size::show;

/// Reads the size that an option has; an error names the option.
pub fn of_option(option: &str, text: &str) -> Result<u64, String> {
    parse(text).map_err(|wrong| format!("{option}: {wrong}"))
}

/// Reads `512M`, `4G`, `1.5g`, `65536`; units are powers of 1,024.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; 512M or 4G is expected");
    let text = text.trim();
    let text = text.strip_suffix(['b', 'B']).unwrap_or(text);
    let text = text.strip_suffix(['i']).unwrap_or(text);
    let (number, shift) = match text.chars().last().ok_or_else(wrong)?.to_ascii_lowercase() {
        'k' => (&text[..text.len() - 1], 10),
        'm' => (&text[..text.len() - 1], 20),
        'g' => (&text[..text.len() - 1], 30),
        't' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let bytes = number * (1u64 << shift) as f64;
    if !(1.0..=1e18).contains(&bytes) {
        return Err(wrong());
    }
    Ok(bytes as u64)
}

/// `1 row`, `6,001,215 rows`.
pub fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", group(number))
}

/// `6,001,215`.
pub fn group(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_binary_units() {
        for (text, bytes) in [
            ("256M", 256 << 20),
            ("1G", 1 << 30),
            ("1.5g", 3 << 29),
            ("4096", 4096),
            ("64KiB", 65536),
        ] {
            assert_eq!(parse(text).unwrap(), bytes, "{text}");
        }
        for wrong in ["", "G", "-1G", "x", "0", "1e99"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_shown_in_threes() {
        assert_eq!(group(0), "0");
        assert_eq!(group(999), "999");
        assert_eq!(group(6_001_215), "6,001,215");
        assert_eq!(show(1_090_519_040), "1.09 GB");
        assert_eq!(show(999), "999 B");
        assert_eq!(show(256 << 20), "268 MB");
    }
}
