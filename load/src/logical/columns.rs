//! What is sent for each column, and how it is checked before.
