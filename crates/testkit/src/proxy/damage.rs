//! Packets of a server's answers that are not as it sent them.

use super::framed;
use crate::random::Random;

/// Columns that an answer may be said to have: fewer, more, and more than any memory holds. Numbers
/// in between have the driver end the program, where they are more than this machine's.
const COLUMNS: [u64; 7] = [0, 1, 3, 250, 70_000, 1 << 61, u64::MAX];

/// The fate of a packet of an answer. The connection breaks a moment later: a reader that waits for
/// the rest of a damaged packet would wait forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It has no bytes.
    Empty,
    /// It has so many bytes only.
    Cut(usize),
    /// It has random bytes instead, as many, from this seed.
    Random(u64),
    /// One bit of it is another.
    Bit(usize),
    /// It has another number in its order.
    Sequence(u8),
    /// It says that it is so long, and is not.
    Long(u32),
    /// It says that so many columns come.
    Columns(u64),
    /// It comes twice.
    Twice,
    /// It does not come.
    Missing,
}

impl Damage {
    /// Any that shows in the form of an answer, or in the order of answers. Another value would look as
    /// good as the right one.
    pub fn any(random: &mut Random) -> Damage {
        match random.below(7) {
            0 => Damage::Empty,
            1 => Damage::Cut(random.below(16)),
            2 => Damage::Sequence(random.below(256) as u8),
            3 => Damage::Long(random.next_u64() as u32),
            4 => Damage::Columns(random.pick(&COLUMNS)),
            5 => Damage::Twice,
            _ => Damage::Missing,
        }
    }

    /// The packet, with its header, as it goes on.
    pub(super) fn of(self, mut packet: Vec<u8>) -> Vec<u8> {
        let (sequence, size) = (packet[3], packet.len() - 4);
        match self {
            Damage::Empty => framed(sequence, &[]),
            Damage::Cut(bytes) => framed(sequence, &packet[4..4 + bytes.min(size)]),
            Damage::Random(seed) => {
                let mut random = Random::new(seed);
                let bytes: Vec<u8> = (0..size).map(|_| random.below(256) as u8).collect();
                framed(sequence, &bytes)
            }
            Damage::Bit(bit) => {
                let bit = bit % (8 * size.max(1));
                packet
                    .iter_mut()
                    .skip(4 + bit / 8)
                    .take(1)
                    .for_each(|byte| *byte ^= 1 << (bit % 8));
                packet
            }
            Damage::Sequence(other) => {
                packet[3] = other;
                packet
            }
            Damage::Long(bytes) => {
                packet[..3].copy_from_slice(&bytes.to_le_bytes()[..3]);
                packet
            }
            Damage::Columns(count) => {
                framed(sequence, &[&[0xfe], &count.to_le_bytes()[..]].concat())
            }
            Damage::Twice => [packet.clone(), packet].concat(),
            Damage::Missing => Vec::new(),
        }
    }
}
