//! Names of databases and tables.

/// A name as it is in the server: quotes undone. Bytes, in the dump's character set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// The database, where the statement names it.
    pub database: Option<Vec<u8>>,
    /// The table's name, or that of what else it is.
    pub name: Vec<u8>,
}

/// A name in backquotes.
pub fn quoted(name: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'`'];
    for &byte in name {
        quoted.extend(std::iter::repeat_n(byte, if byte == b'`' { 2 } else { 1 }));
    }
    quoted.push(b'`');
    quoted
}
