//! Foreign keys, added when the rows of the tables they concern are in.
