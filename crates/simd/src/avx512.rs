//! Blocks in one AVX-512 register. Positions are stored without a loop over the bits: the numbers
//! 0 to 63 are compressed by the mask and widened, 16 positions per store.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask,
    _mm512_cmple_epu8_mask, _mm512_cvtepu8_epi32, _mm512_extracti32x4_epi32, _mm512_loadu_si512,
    _mm512_mask_or_epi32, _mm512_maskz_compress_epi8, _mm512_set1_epi8, _mm512_set1_epi32,
    _mm512_storeu_si512, _mm512_sub_epi8, _pext_u64,
};

use crate::avx2;
use crate::block::{Block, FLAGS};
use crate::kernel::Kernel;

/// True if this processor has every instruction used here.
pub(crate) fn detected() -> bool {
    avx2::detected()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
}

/// Runs a kernel with these instructions. Only reached through an `Isa` made after `detected`.
pub(crate) fn run<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: `Isa::available` hands out AVX-512 only where `detected` found all these features.
    unsafe { run_detected(kernel) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn run_detected<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Register>()
}

/// 64 bytes. Made only inside `run_detected`.
#[derive(Clone, Copy)]
struct Register(__m512i);

/// The place of each byte of a block.
const PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut at = 0;
    while at < 64 {
        places[at] = at as u8;
        at += 1;
    }
    places
};

impl Block for Register {
    #[inline(always)]
    fn load(bytes: &[u8; 64]) -> Register {
        // SAFETY: 64 bytes, no alignment needed; AVX-512F is there.
        unsafe { Register(_mm512_loadu_si512(bytes.as_ptr().cast())) }
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        // SAFETY: AVX-512BW is there.
        unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    fn within(self, low: u8, high: u8) -> u64 {
        // SAFETY: AVX-512BW is there.
        unsafe {
            let above = _mm512_sub_epi8(self.0, _mm512_set1_epi8(low as i8));
            _mm512_cmple_epu8_mask(above, _mm512_set1_epi8((high - low) as i8))
        }
    }

    #[inline(always)]
    fn prefix_parity(bits: u64) -> u64 {
        // SAFETY: PCLMULQDQ is there.
        unsafe { avx2::parity(bits) }
    }

    #[inline(always)]
    fn store(base: u32, ends: u64, first: u64, second: u64, out: &mut [u32; 64]) {
        // SAFETY: the features are there, and the four stores of 16 positions are inside `out`.
        unsafe { store(base, ends, first, second, out) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2")]
fn store(base: u32, ends: u64, first: u64, second: u64, out: &mut [u32; 64]) {
    let places = Register::load(&PLACES).0;
    let places = _mm512_maskz_compress_epi8(ends, places);
    let base = _mm512_set1_epi32(base as i32);
    let (first, second) = (_pext_u64(first, ends), _pext_u64(second, ends));
    let groups = out.as_chunks_mut::<16>().0;
    let put = |group: usize, sixteen: __m512i, out: &mut [u32; 16]| {
        let shift = 16 * group;
        let positions = _mm512_add_epi32(sixteen, base);
        let (first, second) = ((first >> shift) as u16, (second >> shift) as u16);
        let flag = _mm512_set1_epi32(FLAGS[0] as i32);
        let positions = _mm512_mask_or_epi32(positions, first, positions, flag);
        let flag = _mm512_set1_epi32(FLAGS[1] as i32);
        let positions = _mm512_mask_or_epi32(positions, second, positions, flag);
        // SAFETY: 16 numbers of 4 bytes are 64 bytes, no alignment needed.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), positions) };
    };
    let count = ends.count_ones();
    put(0, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places)), &mut groups[0]);
    if count > 16 {
        put(1, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<1>(places)), &mut groups[1]);
        if count > 32 {
            put(2, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<2>(places)), &mut groups[2]);
            put(3, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<3>(places)), &mut groups[3]);
        }
    }
}
