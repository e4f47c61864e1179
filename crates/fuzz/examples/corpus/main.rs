//! Writes `fuzz/corpus`: small inputs for every target, each for something that its format knows, or for an
//! end that it can come to. They are decided here; tests replay the files.
//!
//!     cargo run -p inrush-fuzz --example corpus
//!
//! A file whose name begins with `found_` is left: it is not from here, but an input that fuzzing
//! found.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a tool of whoever changes a format")]

mod archives;
mod columnar;
mod json;
mod lines;
mod tables;
mod texts;

use std::path::Path;

/// An input by its name.
type Inputs = Vec<(String, Vec<u8>)>;

fn main() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, inputs) in [
        ("archive", archives::inputs()),
        ("cfg", tables::cfgs()),
        ("collation", tables::collations()),
        ("columnar", columnar::inputs()),
        ("convert", texts::values()),
        ("dump", texts::dumps()),
        ("journal", lines::journals()),
        ("json", json::inputs()),
        ("option_file", lines::option_files()),
        ("scan", texts::rows()),
        ("sniff", texts::files()),
        ("tablespace", tables::spaces()),
    ] {
        let folder = corpus.join(target);
        std::fs::create_dir_all(&folder).unwrap();
        for old in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if !old.file_name().to_string_lossy().starts_with("found_") {
                std::fs::remove_file(old.path()).unwrap();
            }
        }
        for (name, bytes) in &inputs {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        let bytes: usize = inputs.iter().map(|(_, bytes)| bytes.len()).sum();
        println!("{target}: {} inputs, {bytes} bytes", inputs.len());
    }
}

/// `head` and then `text`, by a name.
fn input(name: &str, head: &[u8], text: &[u8]) -> (String, Vec<u8>) {
    (name.to_owned(), [head, text].concat())
}
