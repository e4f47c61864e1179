//! A server's settings for a load: what is wrong with them, set for a while, and put back.
//!
//! ```text
//! server, host, disk -> facts -> findings                                inrush doctor
//!                       facts -> changes -> journal -> SET .. SET back   --tune, inrush tune
//! ```
//!
//! In reading order: [`facts`] what is to be seen of a server, with [`host`] and [`storage`] below it and
//! [`disk_speed`] measured; [`variable`] what a load wants of each variable, by [`class`] of what it gives up;
//! [`finding`] and [`mod@findings`] what to say of all that, [`gain`] what was measured to come of it.

#![forbid(unsafe_code)]

pub mod class;
pub mod disk_speed;
pub mod facts;
pub mod finding;
pub mod findings;
pub mod gain;
pub mod host;
pub mod storage;
pub mod variable;

pub use class::Class;
pub use facts::Facts;
pub use finding::{Finding, Weight};
pub use findings::findings;
pub use gain::Gains;
