//! Code that is compiled once for each set of instructions.

use crate::block::Block;

/// Code over blocks, for [`crate::Isa::dispatch`].
///
/// The instructions of a set can only be inlined where the compiler may use them: `run`, and all that
/// it calls with a `B`, has to be `#[inline(always)]`. Without that it is right, and very slow.
pub trait Kernel {
    /// The result.
    type Output;

    /// Runs it with these blocks.
    fn run<B: Block>(self) -> Self::Output;
}
