//! Journals that a killed load or replay, or a full disk, left.

use disk::journal::parse;
use load::journal::StepEvent;

pub(crate) fn run(bytes: &[u8]) {
    read(bytes);
    // Behind a first line and sums that are right, whatever the lines say.
    let mut summed: [Vec<u8>; 3] = ["load", "replay", "tune"].map(|kind| {
        let header =
            format!(r#"{{"format":"inrush journal","version":1,"kind":"{kind}","id":"7"}}"#);
        line(header.as_bytes())
    });
    for text in bytes.split(|&byte| byte == b'\n') {
        let text = text.split_at_checked(9).map_or(text, |(_, text)| text);
        summed.iter_mut().for_each(|journal| journal.extend(line(text)));
    }
    summed.iter().for_each(|journal| read(journal));
}

fn line(text: &[u8]) -> Vec<u8> {
    [format!("{:08x} ", crc32c::crc32c(text)).as_bytes(), text, b"\n"].concat()
}

fn read(bytes: &[u8]) {
    if let Ok((records, whole)) = parse::<StepEvent>(bytes) {
        assert!(whole <= bytes.len() && records.len() < whole.max(1));
    }
    let _ = parse::<tune::Entry>(bytes);
    replay::journal_lines(bytes);
}
