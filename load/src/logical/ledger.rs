//! Which portions are loaded: rows of a table beside the target, committed with the portions' own.
