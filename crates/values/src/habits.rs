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
    /// INET6 takes `1.2.3.4`, as `::ffff:1.2.3.4`.
    pub inet6_takes_inet4: bool,
}
