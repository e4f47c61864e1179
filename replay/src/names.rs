//! Which tables of a dump, and into which database.
