//! The InnoDB tablespace format: described, built, read and verified.
//!
//! A pure library: no threads, no server, no I/O policy. Only files of MariaDB (full_crc32) and of MySQL
//! (8.0 and newer) with 16 KiB pages and COMPACT or DYNAMIC rows are read and written; what sets the two
//! apart is in [`space_format`]. [`space_format::SpaceFormat::seal`] writes the checksum of every page.
//!
//! ```text
//! page 0  space header + extent descriptors    (again at 16384, 32768, ...)
//! page 1  change buffer bitmap, all zero       (again after each of those)
//! page 2  segment inodes
//! page 3  MySQL: root of the dictionary pages
//! ...     clustered root, then the roots of the secondary indexes
//! ...     leaf, non-leaf and off-page column pages, in segments
//! ```
//!
//! # Example
//!
//! A tablespace is built from an empty one that a server exported, and verified before a server sees it:
//!
//! ```
//! use innodb::allocator::Allocator;
//! use innodb::cfg::Cfg;
//! use innodb::layout::Layout;
//! use innodb::leaf::LeafBatch;
//! use innodb::page_fill::Fill;
//! use innodb::record::{RecordWriter, TRX_ID_AND_ROLL_PTR};
//! use innodb::template::Template;
//! use innodb::tree::IndexBuilder;
//! use innodb::verify::{Context, Writer, verify_space};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cfg = Cfg::parse(&std::fs::read("testdata/mariadb-10.11/t.cfg")?)?;
//! let template = Template::parse(&std::fs::read("testdata/mariadb-10.11/t.ibd")?, &cfg)?;
//!
//! // The stored bytes of a column of row `id`.
//! let value = |column: &str, id: u32| match column {
//!     "id" => id.to_be_bytes().to_vec(),
//!     "DB_TRX_ID" => TRX_ID_AND_ROLL_PTR[..6].to_vec(),
//!     "DB_ROLL_PTR" => TRX_ID_AND_ROLL_PTR[6..].to_vec(),
//!     "e" => b"12345".to_vec(),
//!     _ => format!("{id:04}").into_bytes(),
//! };
//! let mut file = Vec::new();
//! let mut write = |offset: u64, bytes: &[u8]| {
//!     let end = offset as usize + bytes.len();
//!     file.resize(file.len().max(end), 0);
//!     file[offset as usize..end].copy_from_slice(bytes);
//! };
//! let mut allocator = Allocator::new(&template);
//! for index in &template.indexes {
//!     let mut record = RecordWriter::new(&index.shape);
//!     let mut batch = LeafBatch::new(index, Fill::default(), 8);
//!     let mut builder = IndexBuilder::new(index, Fill::default());
//!     for id in 1..=1000 {
//!         record.begin();
//!         for field in &index.shape.fields {
//!             record.data().extend(value(&cfg.columns[field.column].name, id));
//!             record.end_field(false, false);
//!         }
//!         let record = record.finish();
//!         batch.push(record.bytes, record.origin)?;
//!     }
//!     for (offset, bytes) in builder.append(&mut batch, &mut allocator)?.seal().writes() {
//!         write(offset, bytes);
//!     }
//!     for page in builder.finish(0, &mut allocator)? {
//!         write(page.page_no.file_offset(), &page.bytes[..]);
//!     }
//! }
//! let layout = Layout::new(&template, &allocator);
//! for (page_no, page) in layout.pages() {
//!     write(page_no.file_offset(), &page[..]);
//! }
//! file.resize(layout.size_bytes() as usize, 0);
//!
//! let context = Context { writer: Writer::Loader, cfg: Some(&cfg), ..Context::unknown() };
//! let report = verify_space(&file, file.len() as u64, context)?;
//! assert!(report.violations.is_empty(), "{:?}", report.violations.kept());
//! assert_eq!(report.indexes[0].records(), 1000);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::host_endian_bytes)]

pub mod error;
pub mod ids;
pub mod page;

pub mod list;

pub mod space_format;

pub mod space_header;

mod page_kind;

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

pub mod lob;

// Reading: who owns which page, records in order, every rule of the format.
pub mod source;

pub mod space_map;

pub mod reader;

pub mod value_reader;

pub mod leaves;

pub mod finder;

pub mod instant;

pub mod verify;
