//! What of a dump is done, for the same command after a crash.
