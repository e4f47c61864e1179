//! Journals that a killed load or a full disk left.

pub(crate) fn run(bytes: &[u8]) {
    let (_folder, path) = crate::file(bytes);
    let _ = load::journal::read(&path);
}
