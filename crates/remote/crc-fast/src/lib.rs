//! CRC-64/NVME with the names of the crate crc-fast, for uploads with `AWS_CHECKSUM_ALGORITHM=CRC64NVME`.
#![forbid(unsafe_code)]

/// The polynomial, its lowest bit first.
const POLYNOMIAL: u64 = 0x9a6c_9329_ac4b_c9b5;

static TABLE: [u64; 256] = table();

/// The checksums that object_store asks for.
#[derive(Clone, Copy, Debug)]
pub enum CrcAlgorithm {
    /// CRC-64/NVME.
    Crc64Nvme,
}

/// The checksum of bytes that come in parts.
#[derive(Clone, Debug)]
pub struct Digest(u64);

impl Digest {
    /// The checksum of no bytes.
    pub fn new(_: CrcAlgorithm) -> Digest {
        Digest(!0)
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = TABLE[usize::from(self.0 as u8 ^ byte)] ^ (self.0 >> 8);
        }
    }

    /// The checksum of all bytes.
    pub fn finalize(&self) -> u64 {
        !self.0
    }
}

const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the catalogue of parametrised CRC algorithms.
    #[test]
    fn the_check_value_is_that_of_the_catalogue() {
        let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        digest.update(b"1234");
        digest.update(b"56789");
        assert_eq!(digest.finalize(), 0xae8b_1486_0a79_9888);
    }
}
