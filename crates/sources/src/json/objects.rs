//! Where the records are: lines, or outermost objects in arrays or one behind the other.

use super::Json;

/// Finds records that have no lines of their own. Goes over a text byte by byte, and keeps its place between texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Objects {
    /// Braces that are open.
    depth: usize,
    /// Brackets outside of all objects that are open.
    arrays: usize,
    in_string: bool,
    is_escaped: bool,
    /// True within text that is neither object nor array: it is a record that is refused.
    in_stray: bool,
    /// Where the record at hand begins.
    start: usize,
}

impl Objects {
    /// Goes over `text` from `from` on, and gives each record that ends in it.
    pub(crate) fn go_over(
        &mut self,
        text: &[u8],
        from: usize,
        mut record: impl FnMut(usize, usize),
    ) {
        let mut at = from;
        while let Some(&byte) = text.get(at) {
            if self.in_string {
                at += self.in_string(&text[at..]);
                continue;
            }
            if self.depth > 0 {
                at += self.in_object(text, at, &mut record);
                continue;
            }
            self.outside(byte, at, &mut record);
            at += 1;
        }
    }

    /// At the end of the input: gives the record that only its end has ended.
    pub(crate) fn finish(&mut self, text_size: usize, record: impl FnOnce(usize, usize)) {
        if self.in_stray && !self.in_string {
            self.in_stray = false;
            record(self.start, text_size);
        }
    }

    /// True if an object, an array or a string is open.
    pub(crate) fn is_open(&self) -> bool {
        self.depth > 0 || self.arrays > 0 || self.in_string
    }

    /// Where the last record begins.
    pub(crate) fn open_record(&self) -> usize {
        self.start
    }

    /// The first `size` bytes of the text are gone.
    pub(crate) fn consume(&mut self, size: usize) {
        self.start = self.start.saturating_sub(size);
    }

    /// Bytes of a string up to its end, or to that of the text.
    fn in_string(&mut self, text: &[u8]) -> usize {
        let mut at = 0;
        if std::mem::take(&mut self.is_escaped) {
            at += 1;
        }
        while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
            at += found + 1;
            if text[at - 1] == b'"' {
                self.in_string = false;
                return at;
            }
            if at == text.len() {
                self.is_escaped = true;
                return at;
            }
            at += 1;
        }
        text.len()
    }

    /// Bytes of an object up to what changes the state.
    fn in_object(
        &mut self,
        text: &[u8],
        from: usize,
        record: &mut impl FnMut(usize, usize),
    ) -> usize {
        let special = |byte: &u8| matches!(byte, b'"' | b'{' | b'}');
        let Some(found) = text[from..].iter().position(special) else { return text.len() - from };
        match text[from + found] {
            b'"' => self.in_string = true,
            b'{' => self.depth += 1,
            _ => {
                self.depth -= 1;
                if self.depth == 0 {
                    record(self.start, from + found + 1);
                }
            }
        }
        found + 1
    }

    fn outside(&mut self, byte: u8, at: usize, record: &mut impl FnMut(usize, usize)) {
        let ends_stray = matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']' | b'{');
        if self.in_stray && ends_stray {
            self.in_stray = false;
            record(self.start, at);
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b',' => {}
            b'[' => self.arrays += 1,
            // The text may begin within an array.
            b']' => self.arrays = self.arrays.saturating_sub(1),
            b'{' => (self.depth, self.start) = (1, at),
            _ => {
                if !self.in_stray {
                    (self.in_stray, self.start) = (true, at);
                }
                self.in_string = byte == b'"';
            }
        }
    }
}

/// Where the records of a chunk are.
pub(super) fn find_records(json: Json, text: &[u8], records: &mut Vec<(usize, usize, usize)>) {
    records.clear();
    if !json.is_lines {
        let mut objects = Objects::default();
        objects.go_over(text, 0, |start, end| records.push((start, end, end)));
        objects.finish(text.len(), |start, end| records.push((start, end, end)));
        return;
    }
    let mut start = 0;
    while start < text.len() {
        let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |size| start + size);
        let next = (end + 1).min(text.len());
        if !text[start..end].iter().all(u8::is_ascii_whitespace) {
            records.push((start, end, next));
        }
        start = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> (Vec<&str>, bool) {
        let (mut objects, mut records) = (Objects::default(), Vec::new());
        objects.go_over(text.as_bytes(), 0, |start, end| records.push(&text[start..end]));
        objects.finish(text.len(), |start, end| records.push(&text[start..end]));
        (records, objects.is_open())
    }

    #[test]
    fn records_are_outermost_objects() {
        for (text, expected) in [
            (r#"[{"a":1}, {"a":{"b":"}"}}]"#, &[r#"{"a":1}"#, r#"{"a":{"b":"}"}}"#][..]),
            ("{\"a\":1}\n{\"a\":2}", &["{\"a\":1}", "{\"a\":2}"]),
            (r#"{"a":"\\"}{"a":"\"{"}"#, &[r#"{"a":"\\"}"#, r#"{"a":"\"{"}"#]),
            (r#"[1, "x,y", {"a":1}]"#, &["1", r#""x,y""#, r#"{"a":1}"#]),
            ("12", &["12"]),
            ("[]", &[]),
            ("", &[]),
        ] {
            assert_eq!(records(text), (expected.to_vec(), false), "{text}");
        }
        for cut in [r#"[{"a":1}"#, r#"{"a":1"#, r#"{"a":"x"#, r#"[{"a":1},"#] {
            assert!(records(cut).1, "{cut} is cut short");
        }
    }

    #[test]
    fn a_text_in_pieces_has_the_same_records() {
        let text = br#"[{"a":"\"\\{"}, 1, {"b":[{"c":"]"}]}]"#;
        let whole = {
            let mut records = Vec::new();
            Objects::default().go_over(text, 0, |start, end| records.push((start, end)));
            records
        };
        for cut in 0..text.len() {
            let (mut objects, mut records) = (Objects::default(), Vec::new());
            objects.go_over(&text[..cut], 0, |start, end| records.push((start, end)));
            objects.go_over(text, cut, |start, end| records.push((start, end)));
            assert_eq!(records, whole, "cut at {cut}");
        }
    }
}
