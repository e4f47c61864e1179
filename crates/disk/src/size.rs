//! Sizes as people read them.

/// A number of bytes in powers of 1,000, three digits of it.
///
/// ```
/// assert_eq!(disk::size::show(999), "999 B");
/// assert_eq!(disk::size::show(268_435_456), "268 MB");
/// assert_eq!(disk::size::show(1_090_519_040), "1.09 GB");
/// ```
pub fn show(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}", units[unit])
}
