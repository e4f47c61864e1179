//! Schemas of applications: what is planned for them, and that their tables are those of LOAD DATA.

mod corpus;
mod planned;
mod same;
