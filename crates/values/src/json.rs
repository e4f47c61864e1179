//! The texts that MariaDB's `JSON_VALID` accepts: the CHECK of a JSON column. MySQL's JSON is another
//! type: see `document`.
//!
//! It is a little wider than the standard, and the loads must agree with the server: a number may
//! end after its sign, point or `e` when punctuation follows (`[-]`, `[1.]`), any character may be
//! escaped, and white space, line ends included, may stand at the start of a key. Nesting ends at
//! 31 levels. Source: MariaDB 10.11, strings/json_lib.c.

use crate::charset::Charset;

/// Open arrays and objects at most.
const DEPTH_MAX: u32 = 31;

/// True if `text`, valid in utf8mb4, passes `JSON_VALID`.
pub(crate) fn is_valid(text: &[u8]) -> bool {
    Scanner { text, at: 0, open_objects: 0, depth: 0 }.document().is_some()
}

/// One pass over the text. Every step is None at the first thing the server refuses.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// One bit for each open bracket, last opened lowest: 1 for `{`.
    open_objects: u32,
    depth: u32,
}

impl Scanner<'_> {
    fn document(mut self) -> Option<()> {
        loop {
            self.value()?;
            // After a value: close what ends here, and go on behind a comma.
            loop {
                if self.depth == 0 {
                    self.skip_space();
                    return (self.at == self.text.len()).then_some(());
                }
                let object = self.open_objects & 1 == 1;
                match self.next_token()? {
                    b',' if object => {
                        self.quote()?;
                        self.key()?;
                        break;
                    }
                    b',' => break,
                    b'}' if object => self.close(),
                    b']' if !object => self.close(),
                    _ => return None,
                }
            }
        }
    }

    /// One value; of a bracket only what leads to the first scalar or an empty bracket in it.
    fn value(&mut self) -> Option<()> {
        loop {
            match self.next_token()? {
                b'{' => {
                    self.open(1)?;
                    match self.next_token()? {
                        b'}' => {
                            self.close();
                            return Some(());
                        }
                        b'"' => self.key()?,
                        _ => return None,
                    }
                }
                b'[' => {
                    self.open(0)?;
                    self.skip_space();
                    if self.text.get(self.at) == Some(&b']') {
                        self.at += 1;
                        self.close();
                        return Some(());
                    }
                }
                b'"' => return self.string(),
                b't' => return self.word(b"rue"),
                b'f' => return self.word(b"alse"),
                b'n' => return self.word(b"ull"),
                first @ (b'-' | b'0'..=b'9') => return self.number(first),
                _ => return None,
            }
        }
    }

    fn open(&mut self, object: u32) -> Option<()> {
        self.depth += 1;
        self.open_objects = self.open_objects << 1 | object;
        (self.depth <= DEPTH_MAX).then_some(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.open_objects >>= 1;
    }

    fn skip_space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Next byte that is no white space.
    fn next_token(&mut self) -> Option<u8> {
        self.skip_space();
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn quote(&mut self) -> Option<()> {
        (self.next_token()? == b'"').then_some(())
    }

    fn word(&mut self, rest: &[u8]) -> Option<()> {
        let found = self.text[self.at..].starts_with(rest);
        self.at += rest.len();
        found.then_some(())
    }

    /// A key behind its opening quote, and the colon.
    fn key(&mut self) -> Option<()> {
        self.skip_space();
        self.string()?;
        (self.next_token()? == b':').then_some(())
    }

    /// A string behind its opening quote.
    fn string(&mut self) -> Option<()> {
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        match byte {
            0..0x20 => None,
            b'u' => match self.four_hex_digits()? {
                0xdc00..=0xdfff => None,
                0xd800..=0xdbff => {
                    let escaped = self.text[self.at..].starts_with(b"\\u");
                    self.at += 2;
                    let low = escaped.then(|| self.four_hex_digits())??;
                    (0xdc00..=0xdfff).contains(&low).then_some(())
                }
                _ => Some(()),
            },
            _ => Some(()),
        }
    }

    fn four_hex_digits(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |n, &d| Some(n << 4 | char::from(d).to_digit(16)?))
    }

    /// A number behind its first character. It ends where its form does; whatever comes there is
    /// for the caller to judge, only the end of the text must not cut it short.
    fn number(&mut self, first: u8) -> Option<()> {
        let mut state = match first {
            b'-' => Number::Sign,
            b'0' => Number::Zero,
            _ => Number::Integral,
        };
        while let Some(&byte) = self.text.get(self.at) {
            if byte >= 0x80 {
                return None;
            }
            let Some(next) = state.next(byte) else { return Some(()) };
            state = next;
            self.at += 1;
        }
        (!matches!(state, Number::Sign | Number::Exponent)).then_some(())
    }
}

/// Where in a number the scanner is.
#[derive(Clone, Copy)]
enum Number {
    Sign,
    Zero,
    Integral,
    Fraction,
    /// Behind the `e`, or its sign.
    Exponent,
    ExponentDigits,
}

impl Number {
    fn next(self, byte: u8) -> Option<Number> {
        match (self, byte) {
            (Number::Sign, b'0') => Some(Number::Zero),
            (Number::Sign | Number::Integral, b'0'..=b'9') => Some(Number::Integral),
            (Number::Zero | Number::Integral, b'.') => Some(Number::Fraction),
            (Number::Fraction, b'0'..=b'9') => Some(Number::Fraction),
            (Number::Zero | Number::Integral | Number::Fraction, b'e' | b'E') => {
                Some(Number::Exponent)
            }
            (Number::Exponent, b'+' | b'-') => Some(Number::Exponent),
            (Number::Exponent | Number::ExponentDigits, b'0'..=b'9') => {
                Some(Number::ExponentDigits)
            }
            _ => None,
        }
    }
}

/// A JSON column is LONGTEXT of this charset and collation.
pub(crate) const CHARSET: Charset = Charset::Utf8mb4;
pub(crate) const COLLATION: &str = "utf8mb4_bin";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid() {
        for text in [
            "1",
            " 1 ",
            "-1.5e+10",
            "true",
            "null",
            "\"a\"",
            "[]",
            "{}",
            "[ ]",
            "{ }",
            r#"[1,[2],{"a":[]}]"#,
            r#"{"a":1,"b":{"c":null}}"#,
            r#""\u00e9\ud83d\ude00\q""#,
            "[-]",
            "[1.]",
            "[1e]",
            "{\"\n a\":1}",
            "\"\u{e9}\"",
            "0.5",
            "1.e5",
        ] {
            assert!(is_valid(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn invalid() {
        for text in [
            "",
            " ",
            "a",
            "tru",
            "truex",
            "[",
            "]",
            "[1",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "'a'",
            "\"a",
            "\"a\nb\"",
            "01",
            "-",
            "1e",
            "1 2",
            "[1}",
            r#""\ud800""#,
            r#""\u12g4""#,
            r#""\udc00""#,
            "{}{}",
            "+1",
            ".5",
        ] {
            assert!(!is_valid(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let nested = |depth| ["[".repeat(depth), "]".repeat(depth)].concat();
        assert!(is_valid(nested(31).as_bytes()));
        assert!(!is_valid(nested(32).as_bytes()));
    }
}
