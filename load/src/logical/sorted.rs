//! Rows in primary key order, for input that does not come in it.
