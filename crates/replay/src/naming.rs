//! Names of the dump, which are bytes in its character set, as text.

use server::Session;
use sql::Syntax;

use crate::error::Error;
use crate::order::Decode;
use crate::place::head;
use crate::state::SessionState;

/// Reads names as the server would.
pub(crate) struct Naming<'a> {
    /// A session of ours, asked where bytes are no UTF-8.
    pub(crate) own: &'a mut Session,
    /// The state of the dump's session.
    pub(crate) state: &'a SessionState,
    /// True if the server keeps all names in lower case: two spellings are one table then.
    pub(crate) is_lower: bool,
}

impl Decode for Naming<'_> {
    fn decode(&mut self, name: &[u8]) -> Result<String, Error> {
        let name = self.text(name)?;
        Ok(if self.is_lower { name.to_lowercase() } else { name })
    }

    fn syntax(&self) -> Syntax {
        self.state.syntax()
    }
}

impl Naming<'_> {
    fn text(&mut self, name: &[u8]) -> Result<String, Error> {
        let charset = self.state.charset();
        let is_utf8 = name.is_ascii() || charset.starts_with("utf8") || charset == "binary";
        match str::from_utf8(name) {
            Ok(text) if is_utf8 => Ok(text.to_owned()),
            Err(_) if is_utf8 => Err(Error::Refused(format!(
                "the name {:?} is not UTF-8, the character set of the dump",
                head(name)
            ))),
            // The name of a character set is letters and digits: the server said it.
            _ => {
                let hex: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
                let sql = format!("SELECT CONVERT(_{charset} x'{hex}' USING utf8mb4)");
                Ok(self.own.query_row(&sql)?.text(0)?)
            }
        }
    }
}

/// Reads names where no server is asked: as UTF-8, whatever they are.
pub(crate) struct Lossy;

impl Decode for Lossy {
    fn decode(&mut self, name: &[u8]) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    fn syntax(&self) -> Syntax {
        Syntax::default()
    }
}
