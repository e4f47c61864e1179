//! Journals that a killed load or replay, or a full disk, left.

pub(crate) fn run(bytes: &[u8]) {
    let (_folder, path) = crate::file(bytes);
    let _ = load::journal::read(&path);
    replay::journal_lines(bytes);
    // Behind a sum that is right, whatever the line says.
    let mut summed = Vec::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        let text = line.split_at_checked(9).map_or(line, |(_, text)| text);
        summed.extend(format!("{:08x} ", crc32c::crc32c(text)).into_bytes());
        summed.extend(text);
        summed.push(b'\n');
    }
    assert!(replay::journal_lines(&summed) <= bytes.len() + 1);
}
