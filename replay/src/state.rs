//! What the dump's session is set to, for every other connection.
