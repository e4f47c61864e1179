//! Learned collations as they are kept in files.

use values::{Charset, Collation, CollationData};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(data) = CollationData::from_bytes(bytes, Charset::Latin1) else { return };
    let Ok(collation) = Collation::learned(data) else { return };
    let mut key = Vec::new();
    for text in [&b"a"[..], b"", b"\xff\xfe", "\u{e9}\u{1f600} ".as_bytes(), bytes] {
        key.clear();
        let _ = collation.push_key(text, &mut key);
        let _ = collation.compare(text, b"b");
    }
}
