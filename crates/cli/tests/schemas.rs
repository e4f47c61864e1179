//! Schemas of applications: what is planned for them, and that their tables are those of LOAD DATA.

pub(crate) mod corpus;
mod planned;
pub(crate) mod same;
