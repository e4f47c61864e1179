//! Option files of the mariadb client.

use server::OptionFiles;

pub(crate) fn run(bytes: &[u8]) {
    // Other files would be read, this one again too: that is for a test of its own.
    if bytes.windows(8).any(|word| word.eq_ignore_ascii_case(b"!include")) {
        return;
    }
    let (_folder, path) = crate::file(bytes);
    let files = OptionFiles { only: Some(path), ..OptionFiles::default() };
    let Ok(settings) = files.read(&mut Vec::new()) else { return };
    for setting in settings {
        let _ = (setting.place(), setting.is_on());
    }
}
