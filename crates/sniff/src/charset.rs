//! The files' character set: UTF-16 or UTF-8 where the text is so, else the server's latin1.
//!
//! A row of latin1 with a letter beyond ASCII is next to never UTF-8. A file is UTF-8 if at least half of its
//! rows with such letters are: the others are faults of the file, and the load refuses them by line.

use face::option::{CHARSET, REJECTS_MAX};
use sources::{Encoding, Sample};

use super::SniffOptions;
use super::records::{BadRows, Records};

/// The files' character set.
pub(super) enum Charset {
    /// ASCII in one byte.
    Named(&'static str),
    /// The character set by the user, a mark or the text, and the rows that break it.
    Known(Option<String>, BadRows),
}

impl Charset {
    pub(super) fn of(sample: &Sample, records: &Records<'_>, options: &SniffOptions) -> Charset {
        if options.charset.is_some() {
            return Charset::Known(options.charset.clone(), BadRows::default());
        }
        match sample.encoding {
            Encoding::Utf16 => return Charset::Named("utf16"),
            Encoding::Utf16Le => return Charset::Named("utf16le"),
            _ if sample.is_marked => return Charset::Known(None, BadRows::default()),
            _ => {}
        }
        match records.not_utf8() {
            rows if rows.bad <= rows.good => Charset::Known(None, rows),
            // The server's latin1 is cp1252: every byte is a character.
            _ => Charset::Named("latin1"),
        }
    }

    pub(super) fn option(&self) -> Option<String> {
        match self {
            Charset::Named(name) => Some((*name).to_owned()),
            Charset::Known(name, _) => name.clone(),
        }
    }

    /// A name of the header as text; None if it is not of this character set.
    pub(super) fn text(&self, bytes: &[u8]) -> Option<String> {
        match self {
            Charset::Named("latin1") => Some(bytes.iter().map(|&byte| char::from(byte)).collect()),
            _ => String::from_utf8(bytes.to_vec()).ok(),
        }
    }

    /// A note on the reliability of the guess.
    pub(super) fn note(&self, files: &[std::path::PathBuf]) -> Option<String> {
        match self {
            Charset::Named("latin1") => Some(format!(
                "the file is not UTF-8; it is read as Western European (latin1); {CHARSET} \
                 selects another character set"
            )),
            Charset::Named(_) | Charset::Known(_, BadRows { bad: 0, .. }) => None,
            Charset::Known(_, BadRows { bad, first, .. }) => {
                let rows =
                    if *bad == 1 { "1 row is".to_owned() } else { format!("{bad} rows are") };
                let place = first.map_or(String::new(), |(file, line)| match files {
                    [_, _, ..] => {
                        format!(", the first in line {line} of {}", files[file].display())
                    }
                    _ => format!(", the first in line {line}"),
                });
                Some(format!(
                    "the text is UTF-8, but {rows} not{place}: a load rejects such rows; \
                     {REJECTS_MAX} skips some, {} accepts any bytes",
                    CHARSET.with("latin1")
                ))
            }
        }
    }
}
