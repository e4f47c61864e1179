//! Which statement may run when.
