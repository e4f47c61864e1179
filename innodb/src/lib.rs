//! The InnoDB tablespace format: described, built, read and verified.
//!
//! A pure library: no threads, no server, no I/O policy. Only 16 KiB pages,
//! full_crc32 checksums and COMPACT or DYNAMIC rows are written.
//!
//! ```text
//! page 0  space header + extent descriptors    (again at 16384, 32768, ...)
//! page 1  change buffer bitmap, all zero       (again after each of those)
//! page 2  segment inodes
//! page 3  clustered root, then the roots of the secondary indexes
//! ...     leaf, non-leaf and off-page column pages, in segments
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::host_endian_bytes)]

pub mod error;
pub mod ids;
pub mod page;

pub mod list;

pub mod space_header;

pub mod extent;

pub mod segment;

pub mod index_page;

pub mod cfg;
pub mod record;

mod order;

// Building: a template, its pages given out, leaves, the tree above them, and what goes off page.
pub mod template;

pub mod allocator;

pub mod page_fill;

pub mod leaf;

pub mod tree;

pub mod blob;

pub mod layout;

// Reading: who owns which page, records in order, every rule of the format, and words for people.
pub mod source;

pub mod space_map;

pub mod reader;

pub mod verify;

pub mod inspect;
