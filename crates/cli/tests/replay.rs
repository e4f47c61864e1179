//! `inrush replay` beside `mariadb < dump.sql`: what the second dump of both says, byte for byte.
//!
//! In reading order: [`yard`] has the databases, the dumps and the comparison; [`styles`] every way in
//! which mariadb-dump writes the same databases; [`people`] what people write; [`session`] and
//! [`asks`] what statements see of those before them; [`inputs`] archives, pipes and folders;
//! [`not_dumps`] other files; [`source_lines`] files that a dump names; [`stray_lines`] messages of the dump program;
//! [`collations`] other names for collations; [`whole`] dumps that are not whole; [`selection`] some of their tables; [`changes`] values that the server changes; [`atomic`] all or nothing; [`again`] the same command once more.

mod again;
mod atomic;
mod changes;
mod collations;
mod completeness;
mod inputs;
mod not_dumps;
mod people;
mod selection;
mod session;
mod session_questions;
mod source_lines;
mod stray_lines;
mod styles;
mod yard;
