//! The meaning of a field with quotes or escapes.

use std::sync::Arc;

use values::MultiByte;

/// The rules of a dialect for decoding a field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) quote: Option<u8>,
    pub(crate) escape: Option<u8>,
    pub(crate) charset: MultiByte,
    /// For each field of a record, whether it is read by characters; empty where that is the same.
    pub(crate) by_character: Arc<[bool]>,
    /// Each 0xff brings a NUL along.
    pub(crate) ghost: bool,
    /// Rows of fixed size know no NULL.
    pub(crate) is_fixed: bool,
}

/// Undoes quotes and escapes of one field into `out`. `raw` is the whole field as the scanner cut
/// it, `quoted` if it begins with an opening quote, `index` its place in the record. None is NULL.
///
/// Source: `READ_INFO::read_field` and `unescape` in the server's `sql/sql_load.cc`.
#[inline(never)]
pub(crate) fn decode<'a>(
    raw: &[u8],
    quoted: bool,
    index: usize,
    rules: &Rules,
    out: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    let Rules { quote, escape, .. } = *rules;
    if let ([first, b'N'], Some(escape)) = (raw, escape)
        && *first == escape
        && quote != Some(escape)
        && !rules.is_fixed
    {
        return None;
    }
    out.clear();
    let charset = match rules.by_character.get(index) {
        Some(true) => rules.charset,
        _ => MultiByte::None,
    };
    let mut text = Text { raw, at: 0, rules, charset, out, escaped_n: false, closed: false };
    match quoted {
        true => text.unquote(),
        false => text.unescape(),
    }
    let Text { escaped_n, closed, .. } = text;
    let null =
        (out.len() == 1 && escaped_n) || (!closed && quote.is_some() && out.as_slice() == b"NULL");
    if null && !rules.is_fixed { None } else { Some(out) }
}

/// A field while it is undone.
struct Text<'a> {
    raw: &'a [u8],
    at: usize,
    rules: &'a Rules,
    charset: MultiByte,
    out: &'a mut Vec<u8>,
    /// There was an escaped `N`.
    escaped_n: bool,
    /// The closing quote was there.
    closed: bool,
}

impl Text<'_> {
    /// A quoted field: pairs of quotes become one, the last byte closes if it is a quote not used
    /// up otherwise, any other quote is text. Without closing quote the opening one is text too.
    fn unquote(&mut self) {
        let Rules { quote, escape, .. } = *self.rules;
        self.at = 1;
        while self.at < self.raw.len() {
            self.push_plain(quote, escape);
            let Some(&byte) = self.raw.get(self.at) else { break };
            let next = self.raw.get(self.at + 1).copied();
            if Some(byte) == escape && (escape != quote || next == escape) {
                self.push_escaped();
            } else if Some(byte) == quote && next.is_none() {
                self.closed = true;
                return;
            } else if Some(byte) == quote && next == quote {
                self.out.push(byte);
                self.at += 2;
            } else if Some(byte) == quote && next == Some(0xff) && self.rules.ghost {
                self.out.extend([byte, 0xff, 0]);
                self.at += 2;
            } else {
                self.push_token();
            }
        }
        self.out.extend(quote);
        self.out.rotate_right(1);
    }

    /// A field without quotes.
    fn unescape(&mut self) {
        let Rules { quote, escape, ghost, .. } = *self.rules;
        match escape {
            Some(escape) if quote != Some(escape) && !ghost && self.charset == MultiByte::None => {
                while let Some(found) = memchr::memchr(escape, &self.raw[self.at..]) {
                    self.out.extend_from_slice(&self.raw[self.at..self.at + found]);
                    self.at += found;
                    self.push_escaped();
                }
                self.out.extend_from_slice(&self.raw[self.at..]);
            }
            _ => self.unescape_by_token(),
        }
    }

    /// The same for any dialect. Where the escape is the quote, it escapes only itself; it is the
    /// first byte only if the quote that opened was closed by the last byte of the file.
    fn unescape_by_token(&mut self) {
        let Rules { quote, escape, ghost, .. } = *self.rules;
        let is_both = quote == escape;
        if is_both && escape.is_some() && self.raw.first().copied() == escape {
            self.push_token();
        }
        while let Some(&byte) = self.raw.get(self.at) {
            let next = self.raw.get(self.at + 1).copied();
            if Some(byte) == escape && (!is_both || next == escape) {
                self.push_escaped();
            } else if ghost && byte == 0xff {
                self.out.extend([0xff, 0]);
                self.at += 1;
            } else {
                self.push_token();
            }
        }
    }

    /// Takes text up to the next quote or escape; none where characters may hold these.
    fn push_plain(&mut self, quote: Option<u8>, escape: Option<u8>) {
        let (Some(quote), true) = (quote, self.charset == MultiByte::None) else { return };
        let rest = &self.raw[self.at..];
        let plain = memchr::memchr2(quote, escape.unwrap_or(quote), rest).unwrap_or(rest.len());
        self.out.extend_from_slice(&rest[..plain]);
        self.at += plain;
    }

    /// Takes text as it is.
    fn push_token(&mut self) {
        let rest = &self.raw[self.at..];
        let size = self.charset.token_size(rest);
        self.out.extend_from_slice(&rest[..size]);
        self.at += size;
    }

    /// Takes an escape and the byte after it. An escape that is the last byte of the file is text.
    fn push_escaped(&mut self) {
        let Some(&byte) = self.raw.get(self.at + 1) else {
            return self.push_token();
        };
        self.escaped_n |= byte == b'N';
        self.out.push(sql::escaped(byte));
        self.at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Raw field, quoted, value.
    type Case<'a> = (&'a [u8], bool, Option<&'a [u8]>);

    fn decoded(raw: &[u8], quoted: bool, quote: Option<u8>, escape: Option<u8>) -> Option<Vec<u8>> {
        let mut out = b"left over".to_vec();
        let rules = Rules { quote, escape, ..Rules::default() };
        decode(raw, quoted, 0, &rules, &mut out).map(<[u8]>::to_vec)
    }

    #[test]
    fn escapes_mean_what_the_server_says() {
        let escape = Some(b'\\');
        let cases: [(&[u8], Option<&[u8]>); 9] = [
            (br"\N", None),
            (br"\NN", Some(b"NN")),
            (br"\0\b\n\r\t\Z", Some(b"\0\x08\n\r\t\x1a")),
            (br"\a\\\|\'", Some(b"a\\|'")),
            (br"ab\", Some(br"ab\")),
            (br"\", Some(br"\")),
            (b"a\\\nb", Some(b"a\nb")),
            (br"x\N", Some(b"xN")),
            (b"NULL", Some(b"NULL")),
        ];
        for (raw, expected) in cases {
            assert_eq!(decoded(raw, false, None, escape).as_deref(), expected, "{raw:?}");
        }
    }

    #[test]
    fn quotes_mean_what_the_server_says() {
        let cases: [Case<'_>; 10] = [
            (br#""a""b""#, true, Some(br#"a"b"#)),
            (br#""a"b"c""#, true, Some(br#"a"b"c"#)),
            (br#""a\"b""#, true, Some(br#"a"b"#)),
            (br#""\N""#, true, None),
            (br#""NULL""#, true, Some(b"NULL")),
            (br"NU\LL", false, None),
            (br#""""""#, true, Some(br#"""#)),
            (br#""open"#, true, Some(br#""open"#)),
            (br#""""#, true, Some(b"")),
            (br#"""""#, true, Some(br#""""#)),
        ];
        for (raw, quoted, expected) in cases {
            let seen = decoded(raw, quoted, Some(b'"'), Some(b'\\'));
            assert_eq!(seen.as_deref(), expected, "{}", raw.escape_ascii());
        }
    }

    #[test]
    fn an_escape_that_is_the_quote_escapes_only_itself() {
        let both = Some(b'"');
        assert_eq!(decoded(br#"a""b"N"#, false, both, both).as_deref(), Some(&br#"a"b"N"#[..]));
        assert_eq!(decoded(br#""N""#, true, both, both).as_deref(), Some(&b"N"[..]));
    }
}
