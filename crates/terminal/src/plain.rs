//! Text for terminals, in which nothing of a file or a server is obeyed.
//!
//! A value of the input, a name of a file or a table, or a text of the server may hold what a terminal obeys:
//! escape sequences, the controls of C1, a carriage return, marks that turn the direction of text. They are
//! written as JSON writes them, `\u001b`, which is the same string in JSON and shows people what is there.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

/// Writes text without the characters that terminals obey, except line feeds and tabs.
#[derive(Debug)]
pub struct Plain<W> {
    out: W,
}

impl<W: Write> Plain<W> {
    /// Text for `out`.
    pub fn new(out: W) -> Plain<W> {
        Plain { out }
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shown = text(&String::from_utf8_lossy(bytes));
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Text of which each formatted piece is in one line: a line feed in a value is written as `\n`.
#[derive(Debug)]
pub struct Lines<W>(Plain<W>);

impl<W: Write> Lines<W> {
    /// Text for `out`.
    pub fn new(out: W) -> Lines<W> {
        Lines(Plain::new(out))
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_fmt(&mut self, piece: fmt::Arguments<'_>) -> io::Result<()> {
        let text = piece.to_string();
        match text.strip_suffix('\n') {
            Some(line) => self.0.write_all(format!("{}\n", one_line(line)).as_bytes()),
            None => self.0.write_all(one_line(&text).as_bytes()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The text with `\n` for each line feed.
pub fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// The text without what terminals obey.
pub fn text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_obeyed(c) {
            // Strings take everything.
            true => _ = write!(shown, "\\u{:04x}", u32::from(c)),
            false => shown.push(c),
        }
    }
    shown
}

/// A control character, or a mark of the direction of text.
fn is_obeyed(c: char) -> bool {
    let is_direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_direction || (c.is_control() && !matches!(c, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        assert!(io::Write::write_all(&mut Plain::new(&mut out), bytes).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        for (text, shown) in [
            ("a\tb\nc", "a\tb\nc"),
            ("Müller 😀", "Müller 😀"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u001b[31mred\\u001b[0m"),
            ("a\rb\u{7}\u{7f}\0", "a\\u000db\\u0007\\u007f\\u0000"),
            ("\u{9b}2J", "\\u009b2J"),
            ("abc\u{202e}fdp.exe\u{2066}", "abc\\u202efdp.exe\\u2066"),
        ] {
            assert_eq!(plain(text.as_bytes()), shown, "{text:?}");
        }
        assert_eq!(plain(b"a\x9b2Jb"), "a\u{fffd}2Jb");
    }

    #[test]
    fn a_line_feed_in_a_value_begins_no_line() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out);
        let dynamic: &mut dyn Write = &mut lines;
        let [key, part] = ["a\r\nok", "b\nc"];
        assert!(writeln!(dynamic, "key {key}: 1").is_ok());
        assert!(write!(dynamic, "{part}").is_ok() && writeln!(dynamic).is_ok());
        assert_eq!(String::from_utf8_lossy(&out), "key a\\u000d\\nok: 1\nb\\nc\n");
    }

    #[test]
    fn json_means_the_same() {
        let text = "\u{1b}[31m\u{9b}\u{202e}\n";
        let json = serde_json::to_string(text).unwrap_or_default();
        let read: Result<String, _> = serde_json::from_str(&plain(json.as_bytes()));
        assert_eq!(read.ok().as_deref(), Some(text));
    }
}
