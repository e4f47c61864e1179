//! Which instructions there are, and running a kernel with them.

use crate::kernel::Kernel;
use crate::portable;
#[cfg(target_arch = "x86_64")]
use crate::{avx2, avx512};

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
    /// All that this processor has, slowest first: no blocks at all, blocks of plain integers,
    /// blocks of SIMD registers.
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

    /// True if it reads blocks.
    pub fn has_blocks(self) -> bool {
        self.0 != Kind::Bytewise
    }

    /// Runs a kernel with these instructions; None if they have no blocks.
    #[inline]
    pub fn dispatch<K: Kernel>(self, kernel: K) -> Option<K::Output> {
        match self.0 {
            Kind::Bytewise => None,
            Kind::Portable => Some(kernel.run::<portable::Words>()),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => Some(avx2::run(kernel)),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => Some(avx512::run(kernel)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FLAGS;
    use crate::block::Block;

    /// All that a block can do.
    struct All<'a> {
        bytes: &'a [u8; 64],
        masks: [u64; 3],
    }

    impl Kernel for All<'_> {
        type Output = (Vec<u64>, Vec<u32>);

        #[inline(always)]
        fn run<B: Block>(self) -> Self::Output {
            let block = B::load(self.bytes);
            let [ends, first, second] = self.masks;
            let mut masks = vec![B::prefix_parity(ends), block.within(b'.', b'9')];
            masks.extend((0..=255).map(|byte| block.equal(byte)));
            let mut out = [0; 64];
            B::store(64, ends, first, second, &mut out);
            (masks, out[..ends.count_ones() as usize].to_vec())
        }
    }

    proptest! {
        #[test]
        fn all_instructions_come_to_the_same(
            bytes: [u8; 64], ends: u64, first: u64, second: u64,
        ) {
            let run = |isa: Isa| isa.dispatch(All { bytes: &bytes, masks: [ends, first, second] });
            let mut stored = Vec::new();
            for bit in (0..64).filter(|bit| ends >> bit & 1 == 1) {
                let flag = |mask: u64, flag: u32| if mask >> bit & 1 == 1 { flag } else { 0 };
                stored.push((64 + bit) | flag(first, FLAGS[0]) | flag(second, FLAGS[1]));
            }
            for isa in Isa::available() {
                let found = run(isa);
                prop_assert_eq!(found.is_some(), isa.has_blocks());
                let Some((masks, positions)) = found else { continue };
                prop_assert_eq!(&positions, &stored, "{}", isa.name());
                let portable = run(Isa(Kind::Portable)).map(|(masks, _)| masks);
                prop_assert_eq!(Some(masks), portable, "{}", isa.name());
            }
        }
    }
}
