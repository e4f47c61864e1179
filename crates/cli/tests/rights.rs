//! Accounts, passwords, names of others' tables, and servers that are set strictly.

mod accounts;
mod forbidden_files;
mod intruders;
mod names;
mod password;
mod prepared;
mod rights_one_by_one;
mod secrets;
mod secure;
mod strict_server;
mod traps;
mod variables;
