//! Job files: one file into several tables, all of it or nothing.

mod cookbook;
mod crashes;
mod entities;
mod lines;
mod methods;
mod oracle;
mod shop;
mod typed;
mod verified;
