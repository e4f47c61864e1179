//! Job files: one file into several tables, all of it or nothing.

mod cookbook;
mod crashes;
mod entities;
mod formats;
mod lines;
mod methods;
mod oracle;
mod shop;
mod typed;
mod verified;
