//! Has the server load a portion, in one transaction.
