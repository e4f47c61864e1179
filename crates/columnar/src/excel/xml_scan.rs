//! XML of workbooks, examined before its readers keep any of it: texts, tags and depth as they may be.
//!
//! Source: quick-xml 0.42, parser and reader/mod.rs, for where tags, comments and instructions end.

use crate::guard::Problem;

/// Longest text, tag or comment, and longest texts of a cell together: a cell has at most 32,767 characters.
const RUN_BYTES_MAX: u64 = 4 << 20;
/// Longest name of a tag, and deepest nesting.
const NAME_BYTES_MAX: usize = 64;
const DEPTH_MAX: u32 = 1_000;
/// Elements of Excel's files whose contents are kept until they end.
const TEXTS: [&[u8]; 5] = [b"is", b"si", b"t", b"v", b"f"];

/// A piece of XML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// Behind a `<`, and behind `<!`.
    Open,
    Bang,
    Comment,
    CData,
    Instruction,
    /// A tag; the quote that is open in it, or 0.
    Start(u8),
    End(u8),
}

/// The name of a tag.
#[derive(Clone, Copy, Debug)]
struct Name {
    bytes: [u8; NAME_BYTES_MAX],
    size: usize,
}

/// A file that is scanned, piece by piece.
pub(super) struct XmlScan {
    is_excel: bool,
    state: State,
    /// The byte at hand, and the start of the piece of XML at hand.
    at: u64,
    start: u64,
    last: [u8; 2],
    name: Name,
    has_name: bool,
    depth: u32,
    /// Elements with texts that are open, and where they begin.
    texts: Vec<(Name, u64)>,
    /// Tags that begin an element, and the longest one.
    pub(super) tags: u64,
    pub(super) longest: u64,
}

impl Name {
    const EMPTY: Name = Name { bytes: [0; NAME_BYTES_MAX], size: 0 };

    fn get(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    fn push(&mut self, byte: u8) -> bool {
        let place = self.bytes.get_mut(self.size);
        self.size += usize::from(place.is_some());
        place.map(|place| *place = byte).is_some()
    }

    fn local(&self) -> &[u8] {
        let name = self.get();
        let colon = name.iter().position(|byte| *byte == b':');
        &name[colon.map_or(0, |colon| colon + 1)..]
    }
}

impl XmlScan {
    pub(super) fn new(is_excel: bool) -> XmlScan {
        XmlScan {
            is_excel,
            state: State::Text,
            at: 0,
            start: 0,
            last: [0; 2],
            name: Name::EMPTY,
            has_name: false,
            depth: 0,
            texts: Vec::new(),
            tags: 0,
            longest: 0,
        }
    }

    /// Scans the next bytes.
    ///
    /// Errors: texts and tags that no workbook has.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<(), Problem> {
        for byte in piece {
            self.at += 1;
            if self.at - self.start > RUN_BYTES_MAX {
                return Err("it has a text that is longer than a cell's".to_owned());
            }
            self.take(*byte)?;
            self.last = [self.last[1], *byte];
        }
        Ok(())
    }

    fn take(&mut self, byte: u8) -> Result<(), Problem> {
        let size = self.at - self.start;
        match (self.state, byte) {
            (State::Text, b'<') => {
                (self.start, self.state) = (self.at - 1, State::Open);
                (self.name, self.has_name) = (Name::EMPTY, true);
            }
            (State::Open, b'!') => self.state = State::Bang,
            (State::Open, b'?') => self.state = State::Instruction,
            (State::Open, b'/') => self.state = State::End(0),
            (State::Open, _) => {
                self.state = State::Start(0);
                return self.tag(byte, 0, false);
            }
            (State::Bang, b'-') => self.state = State::Comment,
            (State::Bang, b'[') if !self.is_excel => self.state = State::CData,
            (State::Bang, b'[') => {
                return Err("it has a CDATA section, which Excel does not write".to_owned());
            }
            (State::Bang, _) => {
                return Err("it has a document type, which workbooks do not have".to_owned());
            }
            (State::Comment, b'>') if self.last == *b"--" && size > 6 => self.text(),
            (State::CData, b'>') if self.last == *b"]]" => self.text(),
            (State::Instruction, b'>') if self.last[1] == b'?' => self.text(),
            (State::Start(quote), _) => return self.tag(byte, quote, false),
            (State::End(quote), _) => return self.tag(byte, quote, true),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self) {
        (self.start, self.state) = (self.at, State::Text);
    }

    /// Takes a byte of a tag.
    fn tag(&mut self, byte: u8, quote: u8, is_end: bool) -> Result<(), Problem> {
        let quote = match byte {
            b'>' if quote == 0 => return self.end_tag(is_end),
            b'"' | b'\'' if quote == 0 => byte,
            _ if byte == quote => 0,
            _ => quote,
        };
        self.state = if is_end { State::End(quote) } else { State::Start(quote) };
        // An end tag is all name.
        let is_blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.has_name &= is_end || !is_blank;
        match self.has_name && !self.name.push(byte) {
            true => Err("it has a tag whose name is longer than those of workbooks".to_owned()),
            false => Ok(()),
        }
    }

    fn end_tag(&mut self, is_end: bool) -> Result<(), Problem> {
        let is_empty = !is_end && self.last[1] == b'/';
        self.tags += u64::from(!is_end);
        self.longest = self.longest.max(self.at - self.start);
        match is_end {
            true => self.depth = self.depth.saturating_sub(1),
            false => self.depth += u32::from(!is_empty),
        }
        if self.depth > DEPTH_MAX {
            return Err("its elements are nested deeper than those of workbooks".to_owned());
        }
        if self.texts.first().is_some_and(|(_, start)| self.at - start > RUN_BYTES_MAX) {
            return Err("it has a text that is longer than a cell's".to_owned());
        }
        if self.is_excel && !is_empty {
            self.mark_text(is_end)?;
        }
        self.text();
        Ok(())
    }

    /// Marks where elements with texts begin and end.
    fn mark_text(&mut self, is_end: bool) -> Result<(), Problem> {
        if is_end {
            let name = self.name.get().trim_ascii_end();
            self.texts.retain(|(open, _)| open.get() != name);
        } else if TEXTS.contains(&self.name.local()) {
            if self.texts.iter().any(|(open, _)| open.local() == self.name.local()) {
                return Err("it has a text inside of a text".to_owned());
            }
            self.texts.push((self.name, self.at));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str, is_excel: bool) -> Result<(u64, u64), Problem> {
        // Pieces of one byte: nothing depends on where a piece ends.
        let mut scan = XmlScan::new(is_excel);
        for byte in text.bytes() {
            scan.feed(&[byte])?;
        }
        assert_eq!(scan.state, State::Text, "{text}");
        Ok((scan.tags, scan.longest))
    }

    #[test]
    fn xml_has_tags_and_comments() {
        for (text, tags, longest) in [
            ("<a><b c='>'/>x</a>", 2, 10),
            ("<?xml version='1.0' ?><a>1</a>", 1, 4),
            ("<!-- <a> -- > --><a/>", 1, 4),
            ("<!--->--><a/>", 1, 4),
            ("<a b=\"<!--\">&lt;</a>", 1, 12),
        ] {
            assert_eq!(scan(text, true), Ok((tags, longest)), "{text}");
        }
        assert_eq!(scan("<a><![CDATA[<b>]]></a>", false), Ok((1, 4)));
    }

    #[test]
    fn texts_that_no_workbook_has_are_errors() {
        let long = "<".repeat(5 << 20);
        let words = " word".repeat(600_000);
        for (text, problem) in [
            ("<a><![CDATA[b]]></a>".to_owned(), "CDATA section"),
            ("<!DOCTYPE a []><a/>".to_owned(), "document type"),
            ("<t><t>".to_owned(), "text inside of a text"),
            (format!("<a{}>", "a".repeat(64)), "a tag whose name"),
            ("<a>".repeat(1_001), "nested deeper"),
            (format!("<a b='{long}'>"), "longer than a cell's"),
            (format!("<!--{long}-->"), "longer than a cell's"),
            (format!("<?{long}?>"), "longer than a cell's"),
            (format!("<is><t>{words}</t></c><x:t>{words}</x:t>"), "longer than a cell's"),
            (format!("<v>{words}<x/></w>{words}<x/></v>"), "longer than a cell's"),
        ] {
            let scanned = scan(&text, true);
            let is_refused = scanned.as_ref().is_err_and(|error| error.contains(problem));
            assert!(is_refused, "{scanned:?}, not {problem}");
        }
        // Many texts are no long one.
        let many = format!("<t>{words}</t ><x:v>{words}</x:v>");
        assert_eq!(scan(&many, true), Ok((2, 6)));
    }
}
