//! The lexer, 64 bytes at a time.
//!
//! A block of 64 bytes becomes one bit mask per special byte; field ends then fall out of a few
//! operations on the masks (`blocks`). Three sets of instructions make the masks and store the
//! positions: AVX-512, AVX2 and plain integers. They give the same results, which tests check.
//!
//! This is the only place of the crate with `unsafe`: calls of instructions that the processor was
//! asked for before.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512;
mod blocks;
mod portable;

use crate::lexer::{Cursor, Lexer, Sink};
use crate::sql;
use crate::sql::walk::{self, TupleSink, Walk};
pub(crate) use blocks::{Plan, after_any, escaped_bytes};

/// 64 bytes in registers.
pub(crate) trait Block: Copy {
    /// Reads them.
    fn load(bytes: &[u8; 64]) -> Self;
    /// Bit i is set where byte i is `byte`.
    fn equal(self, byte: u8) -> u64;
    /// Bit i is set where byte i is one of `low` to `high`.
    fn within(self, low: u8, high: u8) -> u64;
    /// Bit i is the parity of bits 0 to i.
    fn prefix_parity(bits: u64) -> u64;
    /// Stores `base + i | flags` for every bit i of `ends`, in order: flag `DECODE` where `decode`
    /// has the bit too, `QUOTED` where `quoted` has. What is in `out` after them is undefined.
    fn store(base: u32, ends: u64, decode: u64, quoted: u64, out: &mut [u32; 64]);
}

/// A set of instructions this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bytewise,
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// All that this processor has, slowest first: the lexer byte by byte, by blocks of plain
    /// integers, by blocks of SIMD registers.
    pub fn available() -> Vec<Isa> {
        let mut found = vec![Isa(Kind::Bytewise), Isa(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if avx2::detected() {
                found.push(Isa(Kind::Avx2));
            }
            if avx512::detected() {
                found.push(Isa(Kind::Avx512));
            }
        }
        found
    }

    /// The fastest one.
    pub fn best() -> Isa {
        Isa::available().last().copied().unwrap_or(Isa(Kind::Portable))
    }

    /// How these instructions scan blocks of this dialect, if they can.
    pub(crate) fn plan(self, lexer: &Lexer) -> Option<Plan> {
        if self.0 == Kind::Bytewise { None } else { Plan::new(lexer) }
    }

    /// Its name, for reports.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Bytewise => "bytewise",
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }

    /// Runs the lexer over the whole blocks of `bytes`; `last` as in [`Lexer::run`], which has to
    /// do the rest.
    pub(crate) fn run<S: Sink>(
        self,
        plan: Plan,
        lexer: &Lexer,
        cursor: &mut Cursor,
        bytes: &[u8],
        last: bool,
        sink: &mut S,
    ) {
        match self.0 {
            Kind::Bytewise => {}
            Kind::Portable => {
                blocks::run::<portable::Words, S>(plan, lexer, cursor, bytes, last, sink);
            }
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::run(plan, lexer, cursor, bytes, last, sink),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => avx512::run(plan, lexer, cursor, bytes, last, sink),
        }
    }

    /// [`sql::Lexer::blocks`] with these instructions.
    pub(crate) fn lex(self, lexer: &mut sql::Lexer, bytes: &[u8]) {
        match self.0 {
            Kind::Bytewise => {}
            Kind::Portable => lexer.blocks::<portable::Words>(bytes),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::lex(lexer, bytes),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => avx512::lex(lexer, bytes),
        }
    }

    /// Walks over the whole blocks of the text of tuples; [`Walk::bytes`] has to do the rest.
    pub(crate) fn walk<S: TupleSink>(
        self,
        walk: &Walk,
        cursor: &mut walk::Cursor,
        bytes: &[u8],
        last: bool,
        sink: &mut S,
    ) -> walk::Stop {
        match self.0 {
            Kind::Bytewise => walk::Stop::End,
            Kind::Portable => walk.blocks::<portable::Words, S>(cursor, bytes, last, sink),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::walk(walk, cursor, bytes, last, sink),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => avx512::walk(walk, cursor, bytes, last, sink),
        }
    }
}
