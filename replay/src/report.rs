//! What a replay did.
