//! Damage: what disks, tools and ill will do to bytes.

/// xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| _ = random.next());
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// 0 to `end - 1`.
    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }
}

/// Values at which arithmetic goes wrong.
const EDGES: [u32; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x3fff,
    0x4000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    u32::MAX,
];

/// One of the samples with some damage; now and then bytes at random.
pub(crate) fn damaged(random: &mut Random, samples: &[Vec<u8>]) -> Vec<u8> {
    if random.below(20) == 0 {
        return (0..random.below(600)).map(|_| random.next() as u8).collect();
    }
    let mut bytes = samples[random.below(samples.len())].clone();
    for _ in 0..[0, 1, 1, 2, 3, 8, 30][random.below(7)] {
        damage(random, &mut bytes, samples);
    }
    bytes
}

fn damage(random: &mut Random, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
    let at = random.below(bytes.len());
    let count_max = [2, 5, 40, 400][random.below(4)];
    let count = random.below(count_max).min(bytes.len() - at);
    match random.below(9) {
        _ if bytes.is_empty() => bytes.push(random.next() as u8),
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        // A number at an edge, in either order of bytes and any width.
        2 | 3 => {
            let edge = EDGES[random.below(EDGES.len())];
            let number = if random.below(2) == 0 { edge.to_be_bytes() } else { edge.to_le_bytes() };
            let width = [1, 2, 4][random.below(3)].min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&number[4 - width..]);
        }
        4 => drop(bytes.drain(at..at + count)),
        5 => bytes.truncate(at),
        6 => {
            let part = bytes[at..at + count].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, part);
        }
        7 => bytes[at..at + count].fill([0, 0xff, b' '][random.below(3)]),
        _ => {
            let other = &samples[random.below(samples.len())];
            let from = random.below(other.len());
            let part = other[from..other.len().min(from + count)].to_vec();
            bytes.splice(at..at, part);
        }
    }
}
