//! Fields between separators, so that LOAD DATA and `inrush load` read what was there.
//!
//! ```text
//! escapes, no quotes   each special byte behind the escape character; NULL is \N
//! quotes, no escapes   a field with a special byte in quotes, quotes doubled; NULL is the bare word
//! both                 such a field in quotes, quotes and escapes behind the escape character
//! neither              a field with a special byte cannot be written, nor NULL without --null-token
//! ```

use face::option::{DIALECT, FIELDS_TERMINATED_BY, LINES_TERMINATED_BY, NULL_TOKEN};
use sources::Dialect;
use values::decode::Decoder;

use super::plain::Special;
use super::{Field, Kind, Stored};
use crate::error::Error;

/// Letters that mean something else behind an escape character.
const ESCAPED: &[u8] = b"0bnrtZN";
/// The text of NULL in a dialect of quotes.
const NULL: &[u8] = b"NULL";
/// Bytes that a file may begin with to say how its text is encoded.
const MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe"];

/// How fields are written.
#[derive(Debug)]
pub(crate) struct Delimited {
    pub(crate) prelude: Vec<u8>,
    kinds: Vec<Kind>,
    separator: Vec<u8>,
    line_start: Vec<u8>,
    /// The text behind the last field.
    line_end: Vec<u8>,
    quote: Option<u8>,
    escape: Option<u8>,
    null: Option<Vec<u8>>,
    /// A field that is just this, not in quotes, is NULL too.
    tokens: Vec<Vec<u8>>,
    /// Bytes of the longest of them, and of NULL.
    token_bytes_max: usize,
    /// Bytes that a field cannot have as they are.
    special: Special,
    /// True if no number or time has one, nor has the text for NULL.
    clocks_are_plain: bool,
}

impl Delimited {
    /// Errors: a dialect in which fields or lines cannot be told apart, or that cannot escape its own.
    pub(crate) fn new(
        dialect: &Dialect,
        fields: &[Field],
        header: bool,
    ) -> Result<Delimited, Error> {
        check(dialect)?;
        let special = special(dialect);
        let null = match (dialect.null_tokens.last(), dialect.escaped_by, dialect.enclosed_by) {
            (Some(token), _, _) => Some(token.clone()),
            (None, Some(escape), _) => Some(vec![escape, b'N']),
            (None, None, Some(_)) => Some(NULL.to_vec()),
            (None, None, None) => None,
        };
        let mut line_end = dialect.lines_terminated_by.clone();
        if dialect.trailing_separator {
            line_end.splice(0..0, dialect.fields_terminated_by.iter().copied());
        }
        let clocks_are_plain = dialect.null_tokens.is_empty()
            && !b"0123456789+-.:e ".iter().any(|byte| special.has(*byte));
        let token_bytes = dialect.null_tokens.iter().map(Vec::len);
        let token_bytes_max = token_bytes.fold(NULL.len(), usize::max);
        let mut delimited = Delimited {
            prelude: Vec::new(),
            kinds: fields.iter().map(|field| field.kind).collect(),
            separator: dialect.fields_terminated_by.clone(),
            line_start: dialect.lines_starting_by.clone(),
            line_end,
            quote: dialect.enclosed_by,
            escape: dialect.escaped_by,
            null,
            tokens: dialect.null_tokens.clone(),
            token_bytes_max,
            special,
            clocks_are_plain,
        };
        if header {
            delimited.name_columns(fields)?;
        }
        Ok(delimited)
    }

    fn name_columns(&mut self, fields: &[Field]) -> Result<(), Error> {
        let mut line = Vec::new();
        self.begin_row(&mut line);
        for (at, field) in fields.iter().enumerate() {
            self.separate(at, &mut line);
            self.text(at, field.name.as_bytes(), &mut line).map_err(|why| {
                Error::Usage(format!(
                    "the name of column `{}` cannot be a header: {why}",
                    field.name
                ))
            })?;
        }
        self.end_row(&mut line);
        self.prelude = line;
        Ok(())
    }

    #[inline]
    pub(crate) fn begin_row(&self, out: &mut Vec<u8>) {
        if !self.line_start.is_empty() {
            out.extend_from_slice(&self.line_start);
        }
    }

    #[inline]
    pub(crate) fn end_row(&self, out: &mut Vec<u8>) {
        match *self.line_end {
            [byte] => out.push(byte),
            _ => out.extend_from_slice(&self.line_end),
        }
    }

    #[inline]
    fn separate(&self, field: usize, out: &mut Vec<u8>) {
        match *self.separator {
            _ if field == 0 => {}
            [byte] => out.push(byte),
            _ => out.extend_from_slice(&self.separator),
        }
    }

    #[inline]
    pub(crate) fn value(
        &self,
        field: usize,
        value: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<str>> {
        self.separate(field, out);
        match (value, self.kinds[field]) {
            (Some(value), Kind::Number | Kind::Clock) if self.clocks_are_plain => {
                out.extend_from_slice(value);
                Ok(())
            }
            (Some(value), _) => self.text(field, value, out),
            (None, _) => {
                let null = self.null.as_ref().ok_or_else(|| {
                    format!(
                        "it is NULL, which the dialect cannot write; {NULL_TOKEN} sets its text"
                    )
                })?;
                out.extend_from_slice(null);
                Ok(())
            }
        }
    }

    /// Appends the next value as it is stored, where its text can be written without being looked at by itself
    /// before.
    #[inline(always)]
    pub(crate) fn stored(
        &self,
        field: usize,
        decoder: &Decoder,
        stored: &[u8],
        out: &mut Vec<u8>,
    ) -> Stored {
        let start = out.len();
        if matches!(self.kinds[field], Kind::Number | Kind::Clock) {
            if !self.clocks_are_plain {
                return Stored::Unknown;
            }
            self.separate(field, out);
            return match decoder.decode(stored, out) {
                Ok(()) => Stored::Written,
                Err(_) => Stored::NoValue,
            };
        }
        let Some(text) = decoder.as_text(stored) else { return Stored::Unknown };
        self.separate(field, out);
        let end = out.len();
        if self.special.push_plain(text.bytes, !text.is_utf8, out)
            && !self.means_more(field, text.bytes)
        {
            return Stored::Written;
        }
        out.truncate(end);
        let is_text = text.is_utf8 || text.bytes.is_ascii();
        if is_text && self.protect(text.bytes, out).is_ok() {
            return Stored::Written;
        }
        out.truncate(start);
        Stored::Unknown
    }

    #[inline]
    fn text(&self, field: usize, value: &[u8], out: &mut Vec<u8>) -> Result<(), Box<str>> {
        let start = out.len();
        if self.special.push_plain(value, false, out) && !self.means_more(field, value) {
            return Ok(());
        }
        out.truncate(start);
        self.protect(value, out)
    }

    /// True if a field that is just this would be read as something else.
    #[inline(always)]
    fn means_more(&self, field: usize, value: &[u8]) -> bool {
        // The text of NULL is short, in nearly all dialects.
        let may_mean_more = value.len() <= self.token_bytes_max || field == 0;
        may_mean_more && self.is_token(field, value)
    }

    fn is_token(&self, field: usize, value: &[u8]) -> bool {
        let is_null = self.quote.is_some() && value == NULL;
        let is_token = self.tokens.iter().any(|token| token == value);
        let is_empty_line = value.is_empty() && self.kinds.len() == 1;
        let has_mark = field == 0 && MARKS.iter().any(|mark| value.starts_with(mark));
        is_null || is_token || has_mark || (is_empty_line && self.quote.is_some())
    }

    #[cold]
    fn protect(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), Box<str>> {
        match (self.quote, self.escape) {
            (Some(quote), escape) => {
                out.push(quote);
                match escape {
                    None => push_doubled(value, quote, out),
                    Some(escape) => {
                        let special = [quote, escape, 0];
                        push_with_escapes(value, escape, |byte| special.contains(&byte), out);
                    }
                }
                out.push(quote);
                Ok(())
            }
            (None, Some(escape)) => {
                if self.tokens.iter().any(|token| token == value) {
                    return Err(
                        format!("it equals the text that {NULL_TOKEN} sets for NULL").into()
                    );
                }
                let has_mark = MARKS.iter().any(|mark| value.starts_with(mark));
                let (first, rest) = value.split_at(usize::from(has_mark));
                first.iter().for_each(|byte| push_escaped(*byte, escape, out));
                push_with_escapes(rest, escape, |byte| self.special.has(byte), out);
                Ok(())
            }
            (None, None) => Err(format!(
                "it contains a separator, a line end or the text for NULL, and the dialect has \
                 neither quotes nor escapes; use {}",
                DIALECT.with_any(&["csv", "mysql"])
            )
            .into()),
        }
    }
}

/// Bytes that a field cannot have as they are.
fn special(dialect: &Dialect) -> Special {
    let terminators = [&dialect.fields_terminated_by, &dialect.lines_terminated_by];
    let firsts = terminators.into_iter().filter_map(|text| text.first());
    let mut special: Vec<u8> =
        firsts.chain(&dialect.enclosed_by).chain(&dialect.escaped_by).copied().collect();
    if dialect.any_newline {
        special.push(b'\r');
    }
    if dialect.escaped_by.is_some() {
        special.push(0);
    }
    Special::new(&special)
}

/// Appends a text, each of its quotes twice.
fn push_doubled(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    for part in text.split_inclusive(|byte| *byte == quote) {
        out.extend_from_slice(part);
        if part.last() == Some(&quote) {
            out.push(quote);
        }
    }
}

/// Appends a text with an escape before each special byte.
fn push_with_escapes(text: &[u8], escape: u8, is_special: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    for part in text.split_inclusive(|byte| is_special(*byte)) {
        match part.split_last() {
            Some((last, before)) if is_special(*last) => {
                out.extend_from_slice(before);
                push_escaped(*last, escape, out);
            }
            _ => out.extend_from_slice(part),
        }
    }
}

fn push_escaped(byte: u8, escape: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        0 => b'0',
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        byte => byte,
    };
    out.extend_from_slice(&[escape, letter]);
}

fn check(dialect: &Dialect) -> Result<(), Error> {
    let refuse = |text: &str| Err(Error::Usage(text.to_owned()));
    dialect.check().map_err(|error| Error::Usage(error.to_string()))?;
    let (fields, lines) = (&dialect.fields_terminated_by, &dialect.lines_terminated_by);
    if fields.is_empty() || lines.is_empty() || fields == lines {
        return refuse(&format!(
            "an export needs different separators for fields and lines: {FIELDS_TERMINATED_BY} \
             and {LINES_TERMINATED_BY}"
        ));
    }
    let firsts = [fields[0], lines[0]];
    let own = firsts.iter().chain(&dialect.enclosed_by).chain(&dialect.escaped_by);
    if dialect.escaped_by.is_some() && own.clone().any(|byte| ESCAPED.contains(byte)) {
        return refuse(
            "separator, quote and escape character cannot be one of 0 b n r t Z N, which have a \
             meaning after an escape character",
        );
    }
    let mut special = own.copied().collect::<Vec<_>>();
    special.sort_unstable();
    if special.windows(2).any(|two| two[0] == two[1]) {
        return refuse(
            "field separator, line end, quote and escape must begin with four different bytes",
        );
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fields(count: usize) -> Vec<Field> {
        (0..count).map(|at| Field { name: format!("c{at}"), kind: Kind::Text }).collect()
    }

    fn line(dialect: &Dialect, values: &[Option<&str>]) -> Result<String, Box<str>> {
        let delimited = Delimited::new(dialect, &fields(values.len()), false).unwrap();
        let mut out = Vec::new();
        delimited.begin_row(&mut out);
        for (at, value) in values.iter().enumerate() {
            delimited.value(at, value.map(str::as_bytes), &mut out)?;
        }
        delimited.end_row(&mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn each_dialect_keeps_nulls_and_special_bytes_apart() {
        let values = [None, Some(""), Some("NULL"), Some("a\tb\\c\n\0"), Some("q\",\r")];
        let mysql = line(&Dialect::mysql(), &values).unwrap();
        assert_eq!(mysql, "\\N\t\tNULL\ta\\tb\\\\c\\n\\0\tq\",\r\n");
        let csv = line(&Dialect::csv(), &values).unwrap();
        assert_eq!(csv, "NULL,,\"NULL\",\"a\tb\\c\n\0\",\"q\"\",\r\"\n");
        let both = Dialect { enclosed_by: Some(b'\''), ..Dialect::mysql() };
        let text = line(&both, &[None, Some("NULL"), Some("it's\ta\\b")]).unwrap();
        assert_eq!(text, "\\N\t'NULL'\t'it\\'s\ta\\\\b'\n");
        assert_eq!(line(&Dialect::tbl(), &[Some("a"), Some("b")]).unwrap(), "a|b|\n");
        assert!(line(&Dialect::tsv(), &[None]).unwrap_err().contains("--null-token"));
        assert!(line(&Dialect::tsv(), &[Some("a\tb")]).unwrap_err().contains("neither"));
        let token = Dialect { null_tokens: vec![Vec::new()], ..Dialect::csv() };
        assert_eq!(line(&token, &[None, Some("")]).unwrap(), ",\"\"\n");
        let token = Dialect { null_tokens: vec![b"(missing)".to_vec()], ..Dialect::csv() };
        let text = line(&token, &[Some("a"), Some("(missing)"), None]).unwrap();
        assert_eq!(text, "a,\"(missing)\",(missing)\n");
        let token = Dialect { null_tokens: vec![b"-".to_vec()], ..Dialect::mysql() };
        assert!(line(&token, &[Some("-")]).is_err());
    }

    #[test]
    fn dialects_that_cannot_be_read_back_are_refused() {
        for dialect in [
            Dialect { fields_terminated_by: Vec::new(), ..Dialect::mysql() },
            Dialect { lines_terminated_by: b"\t".to_vec(), ..Dialect::mysql() },
            Dialect { fields_terminated_by: b"n".to_vec(), ..Dialect::mysql() },
            Dialect { enclosed_by: Some(b','), ..Dialect::csv() },
            Dialect { escaped_by: Some(b'"'), ..Dialect::csv() },
        ] {
            assert!(Delimited::new(&dialect, &fields(2), false).is_err(), "{dialect:?}");
        }
    }

    #[test]
    fn a_header_names_the_columns() {
        let named = vec![Field { name: "a,b".to_owned(), kind: Kind::Number }];
        let delimited = Delimited::new(&Dialect::csv(), &named, true).unwrap();
        assert_eq!(delimited.prelude, b"\"a,b\"\n");
        assert!(Delimited::new(&Dialect::tbl(), &named, true).is_ok());
    }
}
