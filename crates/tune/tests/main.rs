//! What is found of servers, and set and put back there.
#![allow(clippy::unwrap_used)]

mod doctor;
