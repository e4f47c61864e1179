//! What is told while a replay runs.
