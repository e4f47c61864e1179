//! Settings of a session, and a server, that change how text is read.

use values::MultiByte;

/// The session's settings that change how its text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syntax {
    /// `sql_mode` has NO_BACKSLASH_ESCAPES: a backslash in a string is one.
    pub no_backslash_escapes: bool,
    /// `sql_mode` has ANSI_QUOTES: `"` quotes names.
    pub ansi_quotes: bool,
    /// How the bytes of `character_set_client` make characters.
    pub characters: MultiByte,
}

impl Syntax {
    /// True if a backslash escapes inside these quotes.
    pub(crate) fn escapes_in(self, quote: u8) -> bool {
        match quote {
            b'`' => false,
            b'"' => !self.no_backslash_escapes && !self.ansi_quotes,
            _ => !self.no_backslash_escapes,
        }
    }

    /// True if a byte below 0x80 may be a part of a character here.
    pub fn hides_ascii(self) -> bool {
        self.characters.may_hold(b'\\')
    }
}

/// Which version comments a server runs: all others are comments to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comments {
    /// The server is a MariaDB: it knows `/*M!`, and passes over `/*!50700` to `/*!99999`.
    pub mariadb: bool,
    /// Its version: 101119 is 10.11.19, 80036 is 8.0.36.
    pub version: u32,
}

impl Default for Comments {
    /// A MariaDB that runs whatever is meant for one.
    fn default() -> Comments {
        Comments { mariadb: true, version: 999_998 }
    }
}

impl Comments {
    /// True if the comment is run; `text` is the text behind `/*`.
    ///
    /// Source: `lex_one_token`, MY_LEX_LONG_COMMENT, in `sql/sql_lex.cc` of both servers.
    pub(crate) fn runs(self, text: &[u8]) -> bool {
        let (text, for_mariadb) = match text {
            [b'!', rest @ ..] => (rest, false),
            [b'M', b'!', rest @ ..] if self.mariadb => (rest, true),
            _ => return false,
        };
        let digits = text.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
        if digits < 5 {
            return true;
        }
        let number =
            text[..digits].iter().fold(0, |sum, &digit| sum * 10 + u32::from(digit - b'0'));
        let not_for_it = self.mariadb && !for_mariadb && (50_700..=99_999).contains(&number);
        number <= self.version && !not_for_it
    }
}
