//! Conversions that servers do differently, some from one bug fix release to the next.
//!
//! Seen: 10.11.19 stores `-0` as 0, refuses the ENUM value `'0'` under strict mode, ends TIMESTAMP
//! in 2038 and takes no IPv4 address for INET6; 11.8.6 does it all differently. So a server is
//! asked, not its version.

/// The habits of one server. The default are those of MariaDB 10.11.19.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// FLOAT and DOUBLE keep the sign of a zero.
    pub negative_zero: bool,
    /// An ENUM takes the number 0, and stores the ordinal of no label.
    pub enum_zero: bool,
    /// TIMESTAMP ends in 2106, not in 2038.
    pub timestamp_to_2106: bool,
    /// TIMESTAMP begins with second 1 of 1970: no fraction of second 0 is stored.
    pub timestamp_from_1: bool,
    /// INET6 takes `1.2.3.4`, as `::ffff:1.2.3.4`.
    pub inet6_takes_inet4: bool,
    /// Half of a surrogate pair, written in UTF-8, is no character, nor is a byte alone where a value is
    /// cut; nor a byte from 0x80 on of an ASCII column.
    pub strict_characters: bool,
    /// Fractions of a second are rounded unless TIME_TRUNCATE_FRACTIONAL is set, not cut unless
    /// TIME_ROUND_FRACTIONAL is.
    pub rounds_fractions: bool,
    /// Dates and times are read by MySQL's rules: several delimiters, other forms without any.
    pub mysql_clocks: bool,
    /// Dates and times may end in a displacement from UTC, `+05:30`. It needs the session's zone.
    pub reads_displacements: bool,
    /// Integers are read by MySQL's rules: `1e` is 1, no digit is lost in rounding, and only spaces
    /// and tabs stand before a number.
    pub mysql_integers: bool,
    /// A DECIMAL is read by MySQL's rules: one of more digits than the server's buffer holds is refused,
    /// not cut.
    pub mysql_decimals: bool,
    /// A FLOAT or DOUBLE is read by MySQL's rules: an exponent beyond 32 bits makes it no number, and
    /// white space may follow it in a binary file too.
    pub mysql_reals: bool,
}

impl Habits {
    /// MySQL 9.7. No query tells them: a named build has been tested for each.
    pub const MYSQL: Habits = Habits {
        negative_zero: true,
        enum_zero: true,
        timestamp_to_2106: false,
        timestamp_from_1: true,
        inet6_takes_inet4: false,
        strict_characters: true,
        rounds_fractions: true,
        mysql_clocks: true,
        reads_displacements: true,
        mysql_integers: true,
        mysql_decimals: true,
        mysql_reals: true,
    };
}
