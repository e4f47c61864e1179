//! The rows of a chunk of a run, as pieces of its text.
//!
//! ```text
//! (1,'a'),(2,'b');\nINSERT INTO t VALUES (3,'c')      a chunk
//! |-- a span ---|                       |-----|      spans: rows with commas in between
//! ```
//!
//! Only literals are rows here: what they are does not depend on when, where and after which other row they are read.
//! Everything else (a function, a user variable, DEFAULT, words behind the rows) is somebody else's.

use std::ops::Range;

use memchr::{memchr, memchr2, memmem};

/// How the text of a run is read.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// True if `\` escapes in strings: no NO_BACKSLASH_ESCAPES.
    pub(super) escapes: bool,
    /// True if `"..."` is a name: ANSI_QUOTES.
    pub(super) ansi_quotes: bool,
    /// The text before the rows of each further statement.
    pub(super) head: Vec<u8>,
    /// Field of a row, from 0, that must be an explicit number: that of an AUTO_INCREMENT column.
    pub(super) counted: Option<usize>,
    /// True if 0 is such a number: NO_AUTO_VALUE_ON_ZERO.
    pub(super) zero_is_explicit: bool,
}

/// Rows of one statement of the dump, with the commas between them: bytes of the chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) bytes: Range<usize>,
    pub(super) rows: u64,
}

/// The rows of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans {
    pub(super) spans: Vec<Span>,
    /// True if a statement has, or may have, but one row: the server judges NULL in it otherwise than in one of many.
    pub(super) has_single: bool,
}

/// Where the text is no literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotPlain {
    /// Byte of the chunk.
    pub(super) at: usize,
    /// The unexpected part.
    pub(super) what: &'static str,
}

impl Rules {
    /// The rows of a chunk, which begins with a row, or with what is between two, and ends behind
    /// one, in spans of at most `span_bytes_max`, or one row.
    pub(super) fn spans(&self, text: &[u8], span_bytes_max: usize) -> Result<Spans, NotPlain> {
        let mut found = Spans::default();
        let mut at = self.skip_blank(text, 0)?;
        // Rows of the dump's statement so far, and the span that grows.
        let mut rows = 0_u64;
        let mut span: Option<Span> = None;
        if let Some((_, next)) = self.between(text, at)? {
            at = next;
        }
        while at < text.len() {
            let end = self.row(text, at)?;
            rows += 1;
            span = match span {
                Some(mut span) if end - span.bytes.start <= span_bytes_max => {
                    span.bytes.end = end;
                    span.rows += 1;
                    Some(span)
                }
                full => {
                    found.spans.extend(full);
                    Some(Span { bytes: at..end, rows: 1 })
                }
            };
            at = self.skip_blank(text, end)?;
            let Some((is_end, next)) = self.between(text, at)? else { break };
            if is_end {
                found.has_single |= rows == 1;
                found.spans.extend(span.take());
                rows = 0;
            }
            at = next;
        }
        if at < text.len() {
            return Err(NotPlain { at, what: "more words after the rows" });
        }
        found.has_single |= rows == 1;
        found.spans.extend(span);
        Ok(found)
    }

    /// Passes over what is between two rows: whether a statement ends there, and where the next row
    /// or the end is. None at something else.
    fn between(&self, text: &[u8], at: usize) -> Result<Option<(bool, usize)>, NotPlain> {
        match text.get(at) {
            Some(b',') => Ok(Some((false, self.skip_blank(text, at + 1)?))),
            Some(b';') => {
                let at = self.skip_blank(text, at + 1)?;
                if at == text.len() {
                    return Ok(Some((true, at)));
                }
                if !text[at..].starts_with(&self.head) {
                    return Err(NotPlain { at, what: "another statement" });
                }
                Ok(Some((true, self.skip_blank(text, at + self.head.len())?)))
            }
            _ => Ok(None),
        }
    }

    /// The end of the row that begins at `at`.
    fn row(&self, text: &[u8], at: usize) -> Result<usize, NotPlain> {
        if text.get(at) != Some(&b'(') {
            return Err(NotPlain { at, what: "no row" });
        }
        let mut at = at + 1;
        let mut field = 0;
        let mut begin = at;
        loop {
            let Some(&byte) = text.get(at) else {
                return Err(NotPlain { at, what: "the text ends within a row" });
            };
            match byte {
                b'0'..=b'9' | b'.' | b'+' => at += 1,
                b'\'' => at = self.string(text, at, byte)?,
                b',' | b')' => {
                    if self.counted == Some(field) && !self.is_explicit(&text[begin..at]) {
                        return Err(NotPlain {
                            at: begin,
                            what: "a value that the server generates",
                        });
                    }
                    at += 1;
                    if byte == b')' {
                        return Ok(at);
                    }
                    field += 1;
                    begin = at;
                }
                b'"' if !self.ansi_quotes => at = self.string(text, at, byte)?,
                b'-' if !is_dashes(&text[at..]) => at += 1,
                byte if is_blank(byte) || matches!(byte, b'-' | b'#' | b'/') => {
                    let after = self.skip_blank(text, at)?;
                    if after == at {
                        return Err(NotPlain { at, what: "an expression" });
                    }
                    at = after;
                }
                byte if is_word(byte) => at = word(text, at)?,
                _ => return Err(NotPlain { at, what: "an expression" }),
            }
        }
    }

    /// The end of a string, both quotes included.
    fn string(&self, text: &[u8], start: usize, quote: u8) -> Result<usize, NotPlain> {
        let mut at = start + 1;
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let found = match self.escapes {
                true => memchr2(quote, b'\\', rest),
                false => memchr(quote, rest),
            };
            let Some(found) = found else {
                return Err(NotPlain { at: start, what: "a string without an end" });
            };
            at += found + 1;
            if rest[found] == quote && text.get(at) != Some(&quote) {
                return Ok(at);
            }
            // What a backslash escapes, or the second of two quotes.
            at += 1;
        }
    }

    /// True if an AUTO_INCREMENT column takes the value as it is.
    fn is_explicit(&self, field: &[u8]) -> bool {
        let field = field.trim_ascii();
        let inner = field.strip_prefix(b"'").and_then(|inner| inner.strip_suffix(b"'"));
        let digits = inner.unwrap_or(field);
        let digits = digits.strip_prefix(b"-").unwrap_or(digits);
        !digits.is_empty()
            && digits.iter().all(u8::is_ascii_digit)
            && (self.zero_is_explicit || digits.iter().any(|&digit| digit != b'0'))
    }

    /// The first byte from `at` on that is neither space nor comment.
    fn skip_blank(&self, text: &[u8], mut at: usize) -> Result<usize, NotPlain> {
        loop {
            let rest = text.get(at..).unwrap_or_default();
            at += match rest {
                [byte, ..] if is_blank(*byte) => 1,
                [b'#', ..] => line(rest),
                _ if is_dashes(rest) => line(rest),
                [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => {
                    return Err(NotPlain { at, what: "a comment that the server runs" });
                }
                [b'/', b'*', comment @ ..] => match memmem::find(comment, b"*/") {
                    Some(end) => end + 4,
                    None => return Err(NotPlain { at, what: "a comment without an end" }),
                },
                _ => return Ok(at),
            };
        }
    }
}

/// The end of a word, if it is one that stands in a literal.
fn word(text: &[u8], at: usize) -> Result<usize, NotPlain> {
    let size = text[at..].iter().position(|&byte| !is_word(byte)).unwrap_or(text.len() - at);
    let (word, end) = (&text[at..at + size], at + size);
    let is_before_string = text.get(end) == Some(&b'\'');
    let is_literal = match word {
        // Digits come first in all numbers: the rest of 0x1F, 1e5.
        _ if at > 0 && text[at - 1].is_ascii_digit() => word.iter().all(u8::is_ascii_alphanumeric),
        [b'x' | b'X' | b'b' | b'B' | b'n' | b'N'] => is_before_string,
        // A character set before a string.
        [b'_', ..] => true,
        word => ["NULL", "TRUE", "FALSE"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes())),
    };
    match is_literal {
        true => Ok(end),
        false => Err(NotPlain { at, what: "a word that is not a literal" }),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// True if a comment to the end of the line begins here.
fn is_dashes(rest: &[u8]) -> bool {
    rest.starts_with(b"--") && rest.get(2).is_none_or(|&byte| is_blank(byte) || byte < b' ')
}

fn line(rest: &[u8]) -> usize {
    memchr(b'\n', rest).map_or(rest.len(), |end| end + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules() -> Rules {
        Rules {
            escapes: true,
            ansi_quotes: false,
            head: b"INSERT INTO t VALUES".to_vec(),
            counted: None,
            zero_is_explicit: false,
        }
    }

    /// The texts of the spans, and whether a statement has one row.
    fn texts(rules: &Rules, text: &str, max: usize) -> Result<(Vec<String>, bool), &'static str> {
        let found = rules.spans(text.as_bytes(), max).map_err(|found| found.what)?;
        let texts = found.spans.iter().map(|span| text[span.bytes.clone()].to_owned());
        Ok((texts.collect(), found.has_single))
    }

    #[test]
    fn statements_are_cut_and_their_words_left_out() {
        let text =
            "(1,'a'), (2,'b;(\\'');\n-- INSERT\nINSERT INTO t VALUES (3,'it''s'),(4,NULL) ;\n";
        let (spans, has_single) = texts(&rules(), text, 1000).unwrap();
        assert_eq!(spans, ["(1,'a'), (2,'b;(\\'')", "(3,'it''s'),(4,NULL)"]);
        assert!(!has_single);
        let (spans, _) = texts(&rules(), text, 8).unwrap();
        assert_eq!(spans, ["(1,'a')", "(2,'b;(\\'')", "(3,'it''s')", "(4,NULL)"]);
        for start in [",", ";INSERT INTO t VALUES ", " "] {
            let text = format!("{start}(1);INSERT INTO t VALUES(2)");
            let (spans, has_single) = texts(&rules(), &text, 8).unwrap();
            assert_eq!((spans.len(), has_single), (2, true));
        }
    }

    #[test]
    fn literals_of_every_kind_are_rows() {
        let cases = [
            "(-1,+2.5,.5,1e5,1E-5,0x1F,0b01,NULL,true,FALSE)",
            "(x'1f',X'',b'01',N'n',_binary 'a\\0',_utf8mb4\"x\",_latin1 0xE4)",
            "( 'a' 'b' , \"it's\" /* , ( */ , 1 -- ) '\n, 2 # '\n )",
            "()",
            "(1--1,2)",
        ];
        for case in cases {
            assert_eq!(texts(&rules(), case, 99).map(|found| found.0.len()), Ok(1), "{case}");
        }
    }

    #[test]
    fn what_is_no_literal_is_not_plain() {
        let cases = [
            "(NOW())",
            "(@a)",
            "(1),(DEFAULT)",
            "(a)",
            "((1))",
            "(1*2)",
            "(`a`)",
            "(/*!50000 1*/)",
            "(1) ON DUPLICATE KEY UPDATE a=1",
            "(1);INSERT INTO u VALUES (2)",
            "(1",
            "('a",
            "1",
            "(1)(2)",
            "(x 'a')",
            "(nullx)",
        ];
        for case in cases {
            assert!(texts(&rules(), case, 99).is_err(), "{case}");
        }
        let ansi = Rules { ansi_quotes: true, ..rules() };
        assert!(texts(&ansi, "(\"a\")", 99).is_err());
        let raw = Rules { escapes: false, ..rules() };
        assert_eq!(texts(&raw, "('\\'),('x')", 99).unwrap().0.len(), 1);
        assert!(texts(&rules(), "('\\'),('x')", 99).is_err());
    }

    #[test]
    fn values_that_the_server_counts_are_found() {
        let counted = |zero| Rules { counted: Some(1), zero_is_explicit: zero, ..rules() };
        for (value, with, without) in [
            ("7", true, true),
            (" -7 ", true, true),
            ("'7'", true, true),
            ("0", true, false),
            ("'00'", true, false),
            ("NULL", false, false),
            ("''", false, false),
            ("0.4", false, false),
            ("1e0", false, false),
            ("'x'", false, false),
        ] {
            let text = format!("('a,b',{value},0)");
            assert_eq!(texts(&counted(true), &text, 99).is_ok(), with, "{value}");
            assert_eq!(texts(&counted(false), &text, 99).is_ok(), without, "{value}");
        }
    }

    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            "[0-9]{1,4}",
            Just("NULL".to_owned()),
            "[a-z,;()\"# -]{0,9}".prop_map(|text| format!("'{text}'")),
            "[a-z,;()'`/*]{0,9}".prop_map(|text| format!("\"{text}\"")),
            Just("'\\'\\\\'".to_owned()),
            Just("''''".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn rows_come_out_as_they_went_in(
            statements in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(value(), 1..4), 1..5),
                1..5,
            ),
            max in 1_usize..80,
        ) {
            let row = |values: &Vec<String>| format!("({})", values.join(","));
            let rows: Vec<Vec<String>> =
                statements.iter().map(|rows| rows.iter().map(row).collect()).collect();
            let texts: Vec<String> = rows.iter().map(|rows| rows.join(",")).collect();
            let text = texts.join(";\nINSERT INTO t VALUES ");
            let found = rules().spans(text.as_bytes(), max).unwrap();
            let spans: Vec<&str> =
                found.spans.iter().map(|span| &text[span.bytes.clone()]).collect();
            let all: Vec<String> = rows.iter().flatten().cloned().collect();
            prop_assert_eq!(spans.join(","), all.join(","));
            let counted: u64 = found.spans.iter().map(|span| span.rows).sum();
            prop_assert_eq!(counted, all.len() as u64);
            prop_assert!(found.spans.iter().all(|span| span.rows == 1 || span.bytes.len() <= max));
            prop_assert_eq!(found.has_single, rows.iter().any(|rows| rows.len() == 1));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[(),;'\"\\\\a1x/*# \n-]{0,40}", max in 1_usize..9) {
            let _ = rules().spans(text.as_bytes(), max);
        }
    }
}
