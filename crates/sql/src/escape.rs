//! The meaning of a byte behind the escape character.

/// The byte that `byte` stands for behind a backslash in a string, and behind the escape character
/// in a field of LOAD DATA: to the server these are one list. Each has further escapes of its own:
/// `\%` and `\_` of strings, `\N` of fields.
///
/// Source: `get_text` in the server's `sql/sql_lex.cc`, `READ_INFO::unescape` in `sql/sql_load.cc`.
#[inline]
pub fn escaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}
