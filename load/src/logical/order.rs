//! Which portions may overtake others, where the order of rows matters.
