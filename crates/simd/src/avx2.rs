//! Blocks in two AVX2 registers.

use std::arch::x86_64::{
    __m256i, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_set1_epi8,
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
    _mm256_sub_epi8,
};

use crate::block::Block;
use crate::kernel::Kernel;
use crate::portable;

/// True if this processor has every instruction used here.
pub(crate) fn detected() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("pclmulqdq")
}

/// Runs a kernel with these instructions. Only reached through an `Isa` made after `detected`.
pub(crate) fn run<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: `Isa::available` hands out AVX2 only where `detected` found all these features.
    unsafe { run_detected(kernel) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn run_detected<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Halves>()
}

/// 64 bytes, the first 32 first. Made only inside `run_detected`.
#[derive(Clone, Copy)]
struct Halves([__m256i; 2]);

impl Block for Halves {
    #[inline(always)]
    fn load(bytes: &[u8; 64]) -> Halves {
        let at = bytes.as_ptr().cast::<__m256i>();
        // SAFETY: both loads are inside the 64 bytes and need no alignment; AVX2 is there.
        unsafe { Halves([_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))]) }
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        // SAFETY: AVX2 is there.
        let half = |half: __m256i| unsafe {
            let wanted = _mm256_set1_epi8(byte as i8);
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, wanted)) as u32
        };
        u64::from(half(self.0[0])) | u64::from(half(self.0[1])) << 32
    }

    #[inline(always)]
    fn within(self, low: u8, high: u8) -> u64 {
        // SAFETY: AVX2 is there.
        let half = |half: __m256i| unsafe {
            let above = _mm256_sub_epi8(half, _mm256_set1_epi8(low as i8));
            let least = _mm256_min_epu8(above, _mm256_set1_epi8((high - low) as i8));
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(above, least)) as u32
        };
        u64::from(half(self.0[0])) | u64::from(half(self.0[1])) << 32
    }

    #[inline(always)]
    fn prefix_parity(bits: u64) -> u64 {
        // SAFETY: PCLMULQDQ is there.
        unsafe { parity(bits) }
    }

    #[inline(always)]
    fn store(base: u32, ends: u64, first: u64, second: u64, out: &mut [u32; 64]) {
        // Most blocks have no flags.
        match (first | second) & ends {
            0 => store_by(ends, out, |bit| base + bit),
            _ => store_by(ends, out, |bit| (base + bit) | portable::flags(first, second, bit)),
        }
    }
}

/// Stores what `slot` says of each bit.
#[inline(always)]
fn store_by(bits: u64, out: &mut [u32; 64], slot: impl Fn(u32) -> u32) {
    let count = bits.count_ones() as usize;
    let mut left = bits;
    // Eight at a time, without a test for each: what is stored too much is undefined anyway.
    for eight in out.as_chunks_mut::<8>().0.iter_mut().take(count.div_ceil(8)) {
        for out in eight {
            *out = slot(left.trailing_zeros() & 63);
            left &= left.wrapping_sub(1);
        }
    }
}

/// Carry-less multiplication by all ones is the parity of all bits up to each.
#[inline]
#[target_feature(enable = "pclmulqdq")]
pub(crate) fn parity(bits: u64) -> u64 {
    let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits as i64), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product) as u64
}
