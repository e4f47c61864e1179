//! Rows to the text that the server gets.
