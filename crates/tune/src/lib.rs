//! A server's settings for a load: what is wrong with them, set for a while, and put back.
//!
//! ```text
//! server, host, disk -> facts -> findings                                inrush doctor
//!                       facts -> changes -> journal -> SET .. SET back   --tune, inrush tune
//! ```
//!
//! In reading order: [`facts`] what is to be seen of a server, with [`host`] and [`storage`] below it and
//! [`disk_speed`] measured; [`variable`] what a load wants of each variable, by [`class`] of what it gives
//! up; [`finding`] and [`mod@findings`] what to say of all that, [`gain`] what was measured to come of it;
//! `setting` what is set and put back, [`identity`] on which server, [`journal`] written down where, `guard`
//! who else does so, `remnant` ends connections of killed loads, [`tuned`] all of it for the time of a load.

#![forbid(unsafe_code)]

mod class;
pub mod disk_speed;
pub mod facts;
mod finding;
pub mod findings;
pub mod gain;
mod guard;
pub mod host;
mod identity;
mod journal;
mod remnant;
mod setting;
pub mod storage;
mod tuned;
mod variable;

pub use class::Class;
pub use facts::Facts;
pub use finding::{Finding, Weight};
pub use findings::{Closed, closed, findings};
pub use gain::Gains;
pub use journal::{Change, Entry};
pub use setting::SettingPlan;
pub use tuned::{Tuned, Wish, noted, recover, release};
