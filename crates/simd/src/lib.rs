//! 64 bytes at a time, with the instructions that the processor has.
//!
//! ```text
//! bytes      1,"a,b","c""d",x\n
//! equal '"'  ..#...#.#.##.#...     one bit a byte
//! parity     ..####..##.##....     of the bits up to each: what is between quotes
//! ```
//!
//! A scanner is a [`Kernel`]: code over any [`Block`], which [`Isa::dispatch`] compiles once for each
//! set of instructions, AVX-512, AVX2 and plain integers, and runs with the one that it was told.
//! They give the same results, which tests check.
//!
//! The functions of `avx2` and `avx512` are the only `unsafe` of the scanners: calls of instructions
//! that the processor was asked for before.
#![deny(unsafe_code)]

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512;
mod block;
mod isa;
mod kernel;
mod masks;
mod portable;

pub use block::{Block, FLAGS, POSITION_MAX};
pub use isa::Isa;
pub use kernel::Kernel;
pub use masks::{after_any, escaped_bytes};
