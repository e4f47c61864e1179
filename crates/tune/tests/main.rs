//! Findings about servers, and settings that are set and restored there.
#![allow(clippy::unwrap_used)]

mod doctor;
mod flush;
mod restarted;
