//! Packets of the protocol between client and server, as far as tests speak it themselves.

use std::io::Read;

/// First bytes of answers.
pub(crate) const OK: u8 = 0x00;
pub(crate) const ERR: u8 = 0xff;
pub(crate) const LOCAL_INFILE: u8 = 0xfb;

/// Commands.
pub(crate) const COM_QUIT: u8 = 0x01;
pub(crate) const COM_QUERY: u8 = 0x03;
pub(crate) const COM_STMT_PREPARE: u8 = 0x16;
/// Commands without an answer: the end, long data, the end of a prepared statement.
pub(crate) const UNANSWERED: [u8; 3] = [COM_QUIT, 0x18, 0x19];

/// Server errors that end the connection too: the server goes down, or somebody has killed it.
pub(crate) const ENDING: [u16; 2] = [1053, 1927];

/// A refusal by this number, which a test has thought of.
pub(crate) fn error(errno: u16) -> Vec<u8> {
    refusal(errno, &format!("error {errno} made by a test"))
}

/// A refusal in these words.
pub(crate) fn refusal(errno: u16, message: &str) -> Vec<u8> {
    let sqlstate = match errno {
        1213 => "40001",
        1062 => "23000",
        1146 => "42S02",
        1317 | 1927 => "70100",
        1053 | 1040 | 1158 => "08S01",
        _ => "HY000",
    };
    let mut payload = vec![ERR];
    payload.extend(errno.to_le_bytes());
    payload.push(b'#');
    payload.extend(sqlstate.bytes());
    payload.extend(message.bytes());
    payload
}

/// A packet with its header.
pub(crate) fn framed(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&[size[0], size[1], size[2], sequence], payload].concat()
}

/// One packet with its header; None at the end of the connection.
pub(crate) fn next_packet(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut packet = vec![0; 4];
    stream.read_exact(&mut packet).ok()?;
    let size =
        usize::from(packet[0]) + (usize::from(packet[1]) << 8) + (usize::from(packet[2]) << 16);
    packet.resize(4 + size, 0);
    stream.read_exact(&mut packet[4..]).ok()?;
    Some(packet)
}
