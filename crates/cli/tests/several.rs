//! Several tables in one command: all at once, or none, whatever happens on the way.

mod apart;
mod crashes;
mod ddl;
mod inputs;
mod many_tables;
mod small_tables;
mod together;
mod yard;
