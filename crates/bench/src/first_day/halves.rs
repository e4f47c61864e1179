//! Halves of a file, each with the lines above the rows.

use std::ffi::OsString;
use std::path::Path;

use sources::{COMPRESSED, Encoding, KeptPipes, Sample};

use crate::error::Error;

/// Memory for a file in whole; larger files have no halves.
const MEMORY_BYTES: u64 = 512 << 20;
/// Rows below which halves tell nothing.
const ROWS_MIN: usize = 10;

/// The guess at a file, as `inrush sniff --json` prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Lines above the rows.
    pub lines_above: usize,
    /// A header is below them.
    pub header: bool,
    /// The quote around fields.
    pub quote: Option<u8>,
    /// The last byte of a line end.
    pub line_end: u8,
    /// Types of the columns.
    pub types: Vec<String>,
}

/// Two texts of about as many rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halves {
    /// The lines above, and the first rows.
    pub first: Vec<u8>,
    /// The lines above, and the other rows.
    pub second: Vec<u8>,
}

impl Layout {
    /// Errors, as a sentence: the output is none of `inrush sniff --json`.
    pub(crate) fn of(json: &[u8]) -> Result<Layout, String> {
        let value: serde_json::Value =
            serde_json::from_slice(json).map_err(|error| format!("no report: {error}"))?;
        let byte = |name: &str| value[name].as_str().and_then(|text| text.bytes().last());
        let columns = value["columns"].as_array().ok_or("a report without columns")?;
        let types = columns.iter().filter_map(|column| Some(column["type"].as_str()?.to_owned()));
        Ok(Layout {
            lines_above: value["skip_lines"].as_u64().and_then(|n| n.try_into().ok()).unwrap_or(0),
            header: value["header"] == true,
            quote: byte("fields_enclosed_by"),
            // The escape of a carriage return ends in r.
            line_end: if byte("lines_terminated_by") == Some(b'r') { b'\r' } else { b'\n' },
            types: types.collect(),
        })
    }
}

impl Halves {
    /// Cuts a file, unpacked and as UTF-8. None if it has too few rows, or too many bytes.
    ///
    /// Errors: reading it.
    pub(crate) fn of(
        path: &Path,
        layout: &Layout,
        temp_dir: &Path,
    ) -> Result<Option<Halves>, Error> {
        let (paths, kept) = ([path.to_path_buf()], KeptPipes::default());
        let sample = Sample::take(&paths, &kept, Encoding::ByMark, temp_dir, MEMORY_BYTES);
        let sample = sample.map_err(Error::stage("reading"))?;
        match &sample.parts[..] {
            [part] if sample.is_whole => Ok(Halves::cut(&part.bytes, layout)),
            _ => Ok(None),
        }
    }

    fn cut(text: &[u8], layout: &Layout) -> Option<Halves> {
        let mut lines = text.split_inclusive(|&byte| byte == layout.line_end);
        let above: usize = lines.by_ref().take(layout.lines_above).map(<[u8]>::len).sum();
        let (above, text) = text.split_at(above);
        let mut ends = ends_of_records(text, layout);
        let header = if layout.header { ends.next()? } else { 0 };
        let ends: Vec<usize> = ends.collect();
        if ends.len() < ROWS_MIN {
            return None;
        }
        let middle = ends[ends.len() / 2 - 1];
        let top = [above, &text[..header]].concat();
        Some(Halves {
            first: [&top, &text[header..middle]].concat(),
            second: [&top, &text[middle..]].concat(),
        })
    }
}

/// Where records end: at line ends that are not in quotes.
fn ends_of_records<'a>(text: &'a [u8], layout: &Layout) -> impl Iterator<Item = usize> + 'a {
    let (quote, line_end) = (layout.quote, layout.line_end);
    let mut is_quoted = false;
    text.iter().enumerate().filter_map(move |(at, &byte)| {
        is_quoted ^= Some(byte) == quote;
        (byte == line_end && !is_quoted).then_some(at + 1)
    })
}

/// The name of a file without the ending of its compression.
pub(crate) fn plain_name(path: &Path) -> OsString {
    let name = path.file_name().unwrap_or_default();
    let is_packed =
        |ending: &std::ffi::OsStr| COMPRESSED.iter().any(|one| ending.eq_ignore_ascii_case(one));
    match (path.extension(), path.file_stem()) {
        (Some(ending), Some(stem)) if is_packed(ending) => stem.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_the_lines_above_and_whole_records() {
        let rows = |from: u32, to: u32| {
            (from..to).map(|row| format!("{row},\"a\n{row}\"\n")).collect::<String>()
        };
        let text = format!("Sales\nid,name\n{}", rows(0, 11));
        let layout = Layout {
            lines_above: 1,
            header: true,
            quote: Some(b'"'),
            line_end: b'\n',
            types: Vec::new(),
        };
        let halves = Halves::cut(text.as_bytes(), &layout).unwrap();
        assert_eq!(
            String::from_utf8(halves.first).unwrap(),
            "Sales\nid,name\n".to_owned() + &rows(0, 5)
        );
        assert_eq!(
            String::from_utf8(halves.second).unwrap(),
            "Sales\nid,name\n".to_owned() + &rows(5, 11)
        );
        let few = format!("Sales\nid,name\n{}", rows(0, 9));
        assert_eq!(Halves::cut(few.as_bytes(), &layout), None);
        assert_eq!(plain_name(Path::new("a/b.csv.gz")), "b.csv");
        assert_eq!(plain_name(Path::new("a/b.csv")), "b.csv");
    }

    #[test]
    fn a_layout_is_what_sniff_prints() {
        let json = r#"{"skip_lines": 2, "header": true, "fields_enclosed_by": "\"",
            "lines_terminated_by": "\\r", "columns": [{"name": "a", "type": "INT"}]}"#;
        let layout = Layout::of(json.as_bytes()).unwrap();
        assert_eq!((layout.lines_above, layout.header), (2, true));
        assert_eq!((layout.quote, layout.line_end), (Some(b'"'), b'\r'));
        assert_eq!(layout.types, ["INT"]);
        assert!(Layout::of(b"{}").is_err());
    }
}
