//! A JSON column of MySQL: its texts to the binary documents that the server stores.
//!
//! The server converts a text to utf8mb4 first. It also stores some texts in which bytes are no
//! character (`"\xc3"`), and cannot show such a document afterwards (the text is NULL); those are
//! refused here. Source: MySQL 9.7, sql/field.cc `Field_json::store`,
//! sql-common/json_dom.cc `Json_dom::parse`.

mod encoder;
mod number;
mod parser;
mod string;
mod tree;

use self::encoder::Encoder;
use self::parser::Parser;
use crate::reason::Reason;
use crate::sql_type::Charset;
use crate::text::{Limit, Pad, Text};

/// Converts texts to documents.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    file: Charset,
    text: Text,
    /// The text in utf8mb4, if the file is in another character set.
    converted: Vec<u8>,
    parser: Parser,
}

impl Document {
    pub(crate) fn new(file: Charset) -> Document {
        let text = Text::new(file, Charset::Utf8mb4, Limit::Bytes(usize::MAX), Pad::Nothing);
        Document { file, text, converted: Vec::new(), parser: Parser::default() }
    }

    /// Appends the document of `text`.
    ///
    /// Errors: `out` is as before.
    pub(crate) fn convert(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match self.file {
            Charset::Binary => return Err(Reason::BinaryJson),
            Charset::Utf8mb4 => {
                if let Err(error) = std::str::from_utf8(text) {
                    let offset = u32::try_from(error.valid_up_to()).unwrap_or(u32::MAX);
                    return Err(Reason::InvalidCharacter { offset });
                }
                return encode(&mut self.parser, text, out);
            }
            _ => {}
        }
        self.converted.clear();
        self.text.convert(text, &mut self.converted)?;
        encode(&mut self.parser, &self.converted, out)
    }
}

fn encode(parser: &mut Parser, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let root = parser.parse(text)?;
    let start = out.len();
    let encoded = Encoder { tree: &parser.tree, text }.document(root, out);
    if encoded.is_err() {
        out.truncate(start);
    }
    encoded
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
