//! The logical path: the server gets the rows as text, over several connections.
//!
//! ```text
//! source -> portion -> sender (LOAD DATA LOCAL, or INSERT) -> shadow -> swap
//!           encoder    one a lane, as many as `controller` allows
//! ```
//!
//! In reading order: `columns` what is sent for each column, `encoder` rows to text, `portion` what
//! one transaction loads, `sender` how, `ledger` that it is loaded once, `order` which portions may
//! overtake others, `sorted` rows in key order, `lane` a connection at work.

#![allow(dead_code)] // until the parts are joined

mod columns;
mod encoder;
mod lane;
mod ledger;
mod order;
mod portion;
mod sender;
mod sorted;
