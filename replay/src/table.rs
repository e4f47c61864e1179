//! A table from its CREATE to the moment it takes its place.
