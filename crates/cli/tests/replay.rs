//! `inrush replay` beside `mariadb < dump.sql`: what the second dump of both says, byte for byte.
//!
//! In reading order: [`yard`] has the databases, the dumps and the comparison; [`styles`] every way in
//! which mariadb-dump writes the same databases; [`people`] what people write; [`session`] and
//! [`asks`] what statements see of those before them; [`inputs`] archives, pipes and folders;
//! [`whole`] dumps that are not whole; [`changes`] values that the server changes; [`atomic`] all or nothing; [`again`] the same command once more.

mod again;
mod atomic;
mod changes;
mod completeness;
mod inputs;
mod people;
mod session;
mod session_questions;
mod styles;
mod yard;
