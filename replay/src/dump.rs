//! The files of a dump, in the order in which they are to be read.
