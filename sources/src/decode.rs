//! What a field with quotes or escapes means.

use crate::rows::Value;

/// Undoes quotes and escapes of one field into `out`. `raw` is the whole field as the scanner cut
/// it, `quoted` if it begins with an opening quote.
///
/// Source: `READ_INFO::read_field` and `unescape` in the server's `sql/sql_load.cc`.
#[inline(never)]
pub(crate) fn decode<'a>(
    raw: &[u8],
    quoted: bool,
    quote: Option<u8>,
    escape: Option<u8>,
    out: &'a mut Vec<u8>,
) -> Value<'a> {
    if let ([first, b'N'], Some(escape)) = (raw, escape)
        && *first == escape
        && quote != Some(escape)
    {
        return Value::Null;
    }
    out.clear();
    let ending = match (quoted, escape) {
        (true, _) if escape == quote => unquote(&raw[1..], quote, None, out),
        (true, _) => unquote(&raw[1..], quote, escape, out),
        (false, Some(escape)) if quote == Some(escape) => undouble(raw, escape, out),
        (false, Some(escape)) => unescape(raw, escape, out),
        (false, None) => plain(raw, out),
    };
    let enclosed = quoted && ending.closed;
    if quoted && !enclosed {
        // The file ended inside quotes: all of it is text, the opening quote too.
        out.extend(quote);
        out.rotate_right(1);
    }
    let null = (out.len() == 1 && ending.escaped_n)
        || (!enclosed && quote.is_some() && out.as_slice() == b"NULL");
    if null { Value::Null } else { Value::Bytes(out) }
}

/// What undoing a field found out besides its bytes.
#[derive(Default)]
struct Ending {
    /// The closing quote was there.
    closed: bool,
    /// There was an escaped `N`.
    escaped_n: bool,
}

/// A quoted field from after its opening quote: pairs of quotes become one, the last byte closes
/// if it is a quote not used up otherwise, any other quote is text.
fn unquote(raw: &[u8], quote: Option<u8>, escape: Option<u8>, out: &mut Vec<u8>) -> Ending {
    let mut ending = Ending::default();
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        if Some(byte) == escape {
            at += push_escaped(raw, at, out, &mut ending);
        } else if Some(byte) == quote && at + 1 == raw.len() {
            ending.closed = true;
            at += 1;
        } else if Some(byte) == quote && raw.get(at + 1) == Some(&byte) {
            out.push(byte);
            at += 2;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    ending
}

/// A field without quotes, with escapes.
fn unescape(raw: &[u8], escape: u8, out: &mut Vec<u8>) -> Ending {
    let mut ending = Ending::default();
    let mut at = 0;
    while let Some(found) = memchr::memchr(escape, &raw[at..]) {
        out.extend_from_slice(&raw[at..at + found]);
        at += found;
        at += push_escaped(raw, at, out, &mut ending);
    }
    out.extend_from_slice(&raw[at..]);
    ending
}

/// A field without quotes where the escape character is the quote: it escapes only itself.
fn undouble(raw: &[u8], escape: u8, out: &mut Vec<u8>) -> Ending {
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        out.push(byte);
        at += if byte == escape && raw.get(at + 1) == Some(&byte) { 2 } else { 1 };
    }
    Ending::default()
}

/// A field with nothing to undo.
fn plain(raw: &[u8], out: &mut Vec<u8>) -> Ending {
    out.extend_from_slice(raw);
    Ending::default()
}

/// Appends what the escape at `at` and the byte after it mean; returns the bytes used. An escape
/// that is the last byte of the file is text.
fn push_escaped(raw: &[u8], at: usize, out: &mut Vec<u8>, ending: &mut Ending) -> usize {
    let Some(&byte) = raw.get(at + 1) else {
        out.push(raw[at]);
        return 1;
    };
    ending.escaped_n |= byte == b'N';
    out.push(match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    });
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Raw field, quoted, value.
    type Case<'a> = (&'a [u8], bool, Option<&'a [u8]>);

    fn decoded(raw: &[u8], quoted: bool, quote: Option<u8>, escape: Option<u8>) -> Option<Vec<u8>> {
        let mut out = b"left over".to_vec();
        match decode(raw, quoted, quote, escape, &mut out) {
            Value::Null => None,
            Value::Bytes(bytes) => Some(bytes.to_vec()),
        }
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
