//! CREATE TABLE under another name, without its foreign keys.
