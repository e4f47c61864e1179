//! Rows as statements, over several connections.
