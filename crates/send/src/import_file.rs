//! The file of rows that IMPORT INTO of TiDB reads: lines as of LOAD DATA, in a folder of its own.
//!
//! TiDB's reader of CSV takes these lines as its LOAD DATA does, with one difference: IMPORT INTO passes over
//! empty lines, and over white space alone. Each line therefore has two fields at least.
//! Sources: TiDB 8.5, pkg/executor/importer/import.go, pkg/lightning/mydump/csv_parser.go.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use disk::TempFolder;
use encode::text::{SEPARATOR, TERMINATOR};
use job::error::Error;
use rustix::fs::{Uid, fchown};
use server::ConnectOptions;
use server::identifier::{TableName, quote_name, quote_text};

use crate::sent_chunk::SentChunk;

/// Begins the names of folders; the number of the process and one of the load follow.
const PREFIX: &str = "inrush-import-";
/// The kind of the file in errors.
const WHAT: &str = "rows";
/// TiDB takes files of the server by their endings.
const NAME: &str = "rows.csv";
/// Fields that a line has at least.
const FIELDS_MIN: usize = 2;
/// Takes a field that no column gets.
const NO_COLUMN: &str = "@inrush";
/// A socket that waits for clients, in `/proc/net/tcp`.
const LISTENS: &str = "0A";
/// How TiDB reads the lines. They have no line feed but at their ends, so a large file can be split there.
const OPTIONS: &str = "character_set='utf8mb4', fields_terminated_by='\\t', fields_enclosed_by='', \
                       fields_escaped_by='\\\\', fields_defined_null_by='\\\\N', \
                       lines_terminated_by='\\n', split_file, checksum_table='required', detached";

/// A file that is written. It is removed with its folder when it is dropped.
#[derive(Debug)]
pub(crate) struct ImportFile {
    file: disk::File,
    bytes: AtomicU64,
    rows: AtomicU64,
    /// Columns of the lines.
    columns: Vec<String>,
    /// The user who gets the file.
    reader: u32,
    folder: TempFolder,
}

impl ImportFile {
    /// Makes it in the folder for temporary files, and removes those of killed processes.
    ///
    /// Errors: a file that cannot be made; a server whose process is not here.
    pub(crate) fn create(
        temp_dir: &Path,
        connect: &ConnectOptions,
        columns: Vec<String>,
    ) -> Result<ImportFile, Error> {
        let reader = server_user(connect).map_err(Error::NotImported)?;
        let made = TempFolder::create(temp_dir, PREFIX, WHAT);
        let folder = made.map_err(Error::io("making a folder in", temp_dir))?;
        let file = folder.folder().create(OsStr::new(NAME), 0o600, WHAT);
        let file = file.map_err(Error::io("making", &folder.path().join(NAME)))?;
        let (bytes, rows) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(ImportFile { file, bytes, rows, columns, reader, folder })
    }

    /// Writes the rows of a chunk. Several threads may write at once.
    pub(crate) fn push(&self, chunk: &SentChunk) -> Result<(), Error> {
        let text = lines(&chunk.text, self.columns.len());
        let offset = self.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
        let written = self.file.write_all_at(&text, offset);
        written.map_err(Error::io("writing", &self.path()))?;
        self.rows.fetch_add(chunk.rows.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Gives the file to the server's user, and the statement that reads it into `table`.
    ///
    /// Errors: a path that is no text; an owner that cannot be changed.
    pub(crate) fn hand_over(&self, table: &TableName) -> Result<String, Error> {
        let path = self.path();
        if !can_read(self.reader) {
            let reader = Some(Uid::from_raw(self.reader));
            let given = fchown(&self.file, reader, None)
                .and_then(|()| fchown(self.folder.folder(), reader, None));
            given.map_err(|e| Error::io("changing the owner of", &path)(e.into()))?;
        }
        let text = path.to_str().ok_or_else(|| {
            Error::NotImported(format!("the path {} is not UTF-8", path.display()))
        })?;
        Ok(statement(table, &self.columns, text))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }
}

/// True if a user can read files of this process's user without being given them.
fn can_read(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw()
}

/// The user of the server's process, who can be given files.
///
/// Errors, as a reason against IMPORT INTO: the process is not on this machine, or cannot read our files.
pub fn server_user(connect: &ConnectOptions) -> Result<u32, String> {
    let address = connect.target_text();
    let user = match connect.socket_path() {
        Some(path) => fs::metadata(path).ok().map(|meta| meta.uid()),
        None => listening_user(&address),
    };
    let Some(user) = user else {
        return Err(format!(
            "the process that listens at {address} is not on this machine, or not known, so it \
             cannot read a file of this machine"
        ));
    };
    let own = rustix::process::geteuid();
    if can_read(user) || own.is_root() {
        return Ok(user);
    }
    Err(format!(
        "the server runs as user {user}, and cannot read files of user {}: run Inrush as user {user}, \
         or as root",
        own.as_raw()
    ))
}

/// The user of the process that listens at `host:port`, if that is an address of this machine.
fn listening_user(address: &str) -> Option<u32> {
    let (host, port) = address.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let mut addresses = (host, port).to_socket_addrs().ok()?;
    if !addresses.all(|address| is_own(address.ip())) {
        return None;
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let users: BTreeSet<u32> =
        tables.iter().flatten().flat_map(|table| users_in(table, port)).collect();
    if users.len() == 1 { users.first().copied() } else { None }
}

/// True for an address of this machine.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Users of the sockets that listen at a port, by `/proc/net/tcp`.
fn users_in(table: &str, port: u16) -> Vec<u32> {
    let user = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (_, at) = words.next()?.rsplit_once(':')?;
        let state = words.nth(1)?;
        let is_it = state == LISTENS && u16::from_str_radix(at, 16) == Ok(port);
        words.nth(3).filter(|_| is_it)?.parse().ok()
    };
    table.lines().filter_map(user).collect()
}

/// Lines of so many fields, each with two at least.
fn lines(text: &[u8], fields: usize) -> Cow<'_, [u8]> {
    if fields >= FIELDS_MIN {
        return text.into();
    }
    let mut padded = Vec::with_capacity(2 * text.len());
    for line in text.split_inclusive(|byte| *byte == TERMINATOR) {
        padded.extend_from_slice(line.strip_suffix(&[TERMINATOR]).unwrap_or(line));
        padded.extend_from_slice(&[SEPARATOR, TERMINATOR]);
    }
    padded.into()
}

/// The statement that has the server read the file.
fn statement(table: &TableName, columns: &[String], path: &str) -> String {
    let mut names: Vec<String> = columns.iter().map(|name| quote_name(name)).collect();
    while names.len() < FIELDS_MIN {
        names.push(NO_COLUMN.to_owned());
    }
    let file = quote_text(path);
    format!(
        "IMPORT INTO {} ({}) FROM {file} FORMAT 'csv' WITH {OPTIONS}",
        table.quoted(),
        names.join(", ")
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_says_how_the_lines_are_read() {
        let table = TableName::new("shop", "_inrush_t");
        let columns = ["id", "na`me"].map(str::to_owned);
        assert_eq!(
            statement(&table, &columns, "/tmp/it's/rows.csv"),
            "IMPORT INTO `shop`.`_inrush_t` (`id`, `na``me`) FROM '/tmp/it''s/rows.csv' FORMAT 'csv' WITH \
             character_set='utf8mb4', fields_terminated_by='\\t', fields_enclosed_by='', \
             fields_escaped_by='\\\\', fields_defined_null_by='\\\\N', lines_terminated_by='\\n', \
             split_file, checksum_table='required', detached"
        );
        assert!(statement(&table, &columns[..1], "/x").contains("(`id`, @inrush) FROM '/x'"));
        assert!(statement(&table, &[], "/x").contains("(@inrush, @inrush) FROM"));
    }

    #[test]
    fn no_line_is_empty() {
        assert_eq!(&*lines(b"1\t\\N\n\t\n", 2), b"1\t\\N\n\t\n");
        assert_eq!(&*lines(b"\n \n\\N\na\\nb\n", 1), b"\t\n \t\n\\N\t\na\\nb\t\n");
        assert_eq!(&*lines(b"\n\n", 0), b"\t\n\t\n");
        assert_eq!(&*lines(b"", 1), b"");
    }

    #[test]
    fn the_user_of_a_server_is_told_by_its_socket() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
                     0: 0100007F:0FA0 00000000:0000 0A 00000000:00000000 00:00000000 00000000   998        0 1\n\
                     1: 0100007F:0FA0 0100007F:9999 01 00000000:00000000 00:00000000 00000000     7        0 2\n";
        assert_eq!(users_in(table, 4000), [998]);
        assert!(users_in(table, 4001).is_empty());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        assert_eq!(listening_user(&address), Some(rustix::process::geteuid().as_raw()));
        drop(listener);
        assert_eq!(listening_user(&address), None);
        // An address for documentation, which no machine has.
        assert_eq!(listening_user("192.0.2.1:4000"), None);
    }

    #[test]
    fn a_file_goes_with_its_folder_and_those_of_killed_processes_with_it() {
        let temp = tempfile::tempdir().unwrap();
        let socket = temp.path().join("socket");
        fs::write(&socket, "").unwrap();
        let left = temp.path().join(format!("{PREFIX}{}-0", u32::MAX));
        fs::create_dir(&left).unwrap();
        let connect = ConnectOptions::for_socket(&socket);
        let columns = vec!["a".to_owned(), "b".to_owned()];
        let file = ImportFile::create(temp.path(), &connect, columns).unwrap();
        assert!(!left.exists());
        let chunk = SentChunk { text: b"1\t2\n".to_vec(), ..SentChunk::default() };
        file.push(&chunk).unwrap();
        file.push(&chunk).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(file.folder.path()), mode(&file.path())), (0o700, 0o600));
        assert_eq!(fs::read(file.path()).unwrap(), b"1\t2\n1\t2\n");
        let statement = file.hand_over(&TableName::new("d", "t")).unwrap();
        assert!(statement.contains(file.path().to_str().unwrap()), "{statement}");
        drop(file);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}
