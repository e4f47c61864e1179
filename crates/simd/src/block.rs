//! Operations on 64 bytes, whatever the instructions.

/// The flags of a position, its two top bits.
pub const FLAGS: [u32; 2] = [1 << 31, 1 << 30];

/// Positions are at most this, so that the flags fit.
pub const POSITION_MAX: u32 = (1 << 30) - 1;

/// 64 bytes in registers. Bit i of a mask is byte i.
pub trait Block: Copy {
    /// Reads them.
    fn load(bytes: &[u8; 64]) -> Self;
    /// Bit i is set where byte i is `byte`.
    fn equal(self, byte: u8) -> u64;
    /// Bit i is set where byte i is one of `low` to `high`, which is ASCII.
    fn within(self, low: u8, high: u8) -> u64;
    /// Bit i is the parity of bits 0 to i.
    fn prefix_parity(bits: u64) -> u64;
    /// Stores the position `base + i` for every bit i of `ends`, in order, with the first flag
    /// where `first` has the bit too, and the second one where `second` has. The contents of `out`
    /// after them are undefined.
    fn store(base: u32, ends: u64, first: u64, second: u64, out: &mut [u32; 64]);
}
