//! How many connections load at once, and how much each statement holds: found by feedback.

