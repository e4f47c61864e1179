//! Bytes in base64.

/// Characters that stand for three bytes.
const GROUP: usize = 4;

/// Appends bytes in base64, of the standard alphabet with padding.
pub fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(GROUP - 1) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..GROUP {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { digit } else { b'=' });
        }
    }
}
