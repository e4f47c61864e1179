//! The rows of a table by the load engine.
