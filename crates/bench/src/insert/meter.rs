//! Reads and writes of a step: by the server's counters, and by the kernel's.

use std::fs;
use std::ops::{AddAssign, Sub};

use serde::Serialize;
use server::Session;

use crate::error::Error;

/// Counters, or their differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counters {
    /// Pages the server read (`Innodb_pages_read`).
    pub pages_read: u64,
    /// Pages it wrote (`Innodb_pages_written`).
    pub pages_written: u64,
    /// Bytes it read from its files (`Innodb_data_read`).
    pub data_read: u64,
    /// Bytes it wrote to them (`Innodb_data_written`).
    pub data_written: u64,
    /// Bytes the disk read for the server's process.
    pub server_read_bytes: u64,
    /// Bytes the disk is to write for it.
    pub server_write_bytes: u64,
    /// Bytes the disk read for the client: the benchmark, and the programs it ran.
    pub client_read_bytes: u64,
    /// Bytes the disk is to write for it.
    pub client_write_bytes: u64,
}

impl Counters {
    /// All counters of a server with this process, now.
    pub(crate) fn now(session: &mut Session, pid: Option<u32>) -> Result<Counters, Error> {
        let mut counters = Counters::default();
        let status = session.query(
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_pages_read', \
             'Innodb_pages_written', 'Innodb_data_read', 'Innodb_data_written')",
        )?;
        for row in status {
            let value = row.number(1)?;
            match row.text(0)?.to_ascii_lowercase().as_str() {
                "innodb_pages_read" => counters.pages_read = value,
                "innodb_pages_written" => counters.pages_written = value,
                "innodb_data_read" => counters.data_read = value,
                _ => counters.data_written = value,
            }
        }
        let server = pid.map(|pid| io_of(&format!("/proc/{pid}/io"))).unwrap_or_default();
        (counters.server_read_bytes, counters.server_write_bytes) = server;
        // Programs that have ended are counted with the process that waited for them.
        let client = io_of("/proc/self/io");
        (counters.client_read_bytes, counters.client_write_bytes) = client;
        Ok(counters)
    }

    /// Bytes that the disk read for server and client.
    pub fn read_bytes(&self) -> u64 {
        self.server_read_bytes + self.client_read_bytes
    }

    /// Bytes that it is to write for them.
    pub fn write_bytes(&self) -> u64 {
        self.server_write_bytes + self.client_write_bytes
    }
}

impl Sub for Counters {
    type Output = Counters;

    fn sub(self, before: Counters) -> Counters {
        let less = u64::saturating_sub;
        Counters {
            pages_read: less(self.pages_read, before.pages_read),
            pages_written: less(self.pages_written, before.pages_written),
            data_read: less(self.data_read, before.data_read),
            data_written: less(self.data_written, before.data_written),
            server_read_bytes: less(self.server_read_bytes, before.server_read_bytes),
            server_write_bytes: less(self.server_write_bytes, before.server_write_bytes),
            client_read_bytes: less(self.client_read_bytes, before.client_read_bytes),
            client_write_bytes: less(self.client_write_bytes, before.client_write_bytes),
        }
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, more: Counters) {
        self.pages_read += more.pages_read;
        self.pages_written += more.pages_written;
        self.data_read += more.data_read;
        self.data_written += more.data_written;
        self.server_read_bytes += more.server_read_bytes;
        self.server_write_bytes += more.server_write_bytes;
        self.client_read_bytes += more.client_read_bytes;
        self.client_write_bytes += more.client_write_bytes;
    }
}

/// Pages of the change buffer: entries put off, whose pages are still to be read and written. None
/// of a server that has none.
pub(crate) fn change_buffer_pages(session: &mut Session) -> Result<Option<u64>, Error> {
    let rows = session.query("SHOW GLOBAL STATUS LIKE 'Innodb_ibuf_size'")?;
    let size: Option<u64> = rows.first().map(|row| row.number(1)).transpose()?;
    Ok(size.map(pages_of_size))
}

/// The server shows 64 bits of a variable that has 32, and counts a root that is always there.
fn pages_of_size(size: u64) -> u64 {
    u64::from(size as u32).saturating_sub(1)
}

/// Bytes read and written by the disk for a process, by `/proc/PID/io`; 0 where that cannot be read.
fn io_of(path: &str) -> (u64, u64) {
    let text = fs::read_to_string(path).unwrap_or_default();
    (io_field(&text, "read_bytes"), io_field(&text, "write_bytes"))
}

fn io_field(text: &str, name: &str) -> u64 {
    let mut fields = text.lines().filter_map(|line| line.split_once(": "));
    let found = fields.find(|(field, _)| *field == name);
    found.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_found_by_their_whole_names() {
        let text = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 1\n";
        assert_eq!((io_field(text, "read_bytes"), io_field(text, "write_bytes")), (4096, 8192));
        assert_eq!(io_field("", "read_bytes"), 0);
    }

    #[test]
    fn the_pages_of_the_change_buffer_are_the_lower_half_less_its_root() {
        // As 10.11.19 shows an empty one.
        assert_eq!(pages_of_size(8_710_193_676_289), 0);
        assert_eq!((pages_of_size(38), pages_of_size(0)), (37, 0));
    }

    #[test]
    fn a_counter_that_went_back_counts_as_nothing() {
        let before = Counters { pages_read: 7, data_read: 3, ..Counters::default() };
        let mut done = Counters { pages_read: 9, ..Counters::default() } - before;
        assert_eq!((done.pages_read, done.data_read), (2, 0));
        done += Counters { client_read_bytes: 5, server_read_bytes: 6, ..done };
        assert_eq!((done.pages_read, done.read_bytes()), (4, 11));
    }
}
