//! One client of a stand-in, from its log-in to its end.

use std::io::{BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use super::engine::Engine;
use super::imports::{value_of, without_mark};
use super::shared::Shared;
use super::statements::{Answer, Run, names};
use super::tables::{Id, Value};
use crate::proxy::{Fate, Request, request};
use crate::wire::{
    COM_QUERY, COM_QUIT, COM_STMT_PREPARE, ENDING, ERR, LOCAL_INFILE, OK, error, framed,
    next_packet, refusal,
};

/// Many rows for a prepared statement, MariaDB's.
const COM_STMT_BULK_EXECUTE: u8 = 0xfa;
/// A log-in, as the server's own list of commands has it.
pub const COM_CONNECT: u8 = 0x0b;

const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];
/// The flag of an answer with another one behind it.
const MORE_RESULTS: u8 = 8;
/// Questions of which one request may have several.
const SEVERAL: [&str; 3] = ["SHOW CREATE TABLE ", "SELECT 1 FROM ", "SELECT GET_LOCK("];
const ER_LOCK_DEADLOCK: u16 = 1213;
/// Error of a statement that is prepared, but not for many rows at once.
const ER_UNSUPPORTED_PS: u16 = 1295;
/// The server's capabilities: everything that a client requests, but no encryption.
const CAPABILITIES: u32 = 0x000f_a28e;
/// MariaDB's own, of which the third is many rows for one statement.
const CAPABILITIES_MARIADB: u32 = 4;
/// Set by MySQL, which has none of those.
const CLIENT_MYSQL: u32 = 1;

/// A client's connection.
pub(super) struct Connection<'s> {
    run: Run<'s>,
    input: BufReader<UnixStream>,
    output: UnixStream,
    /// Statements that were prepared.
    prepared: Vec<String>,
}

/// The connection is over.
struct Over;

impl Connection<'_> {
    /// Serves a client until it goes.
    pub(super) fn serve(shared: &Shared, id: Id, stream: UnixStream) {
        let (Ok(output), Ok(input)) = (stream.try_clone(), stream.try_clone()) else { return };
        let run = Run { shared, id };
        let input = BufReader::new(input);
        shared.begin(id, &stream);
        let mut connection = Connection { run, input, output, prepared: Vec::new() };
        if connection.log_in().is_ok() {
            while let Some(packet) = next_packet(&mut connection.input) {
                if connection.request(&packet).is_err() {
                    break;
                }
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
        shared.end(id);
    }

    fn log_in(&mut self) -> Result<(), Over> {
        let fate = self.run.shared.fate(&Request { command: COM_CONNECT, text: Vec::new() });
        match fate {
            Fate::LostBefore => return Err(Over),
            Fate::Refused(errno) => {
                self.send(0, &error(errno))?;
                return Err(Over);
            }
            _ => {}
        }
        let id = u32::try_from(self.run.id).unwrap_or(u32::MAX);
        let engine = self.run.shared.engine;
        let (capabilities, of_mariadb, prefix) = match engine.is_mariadb() {
            true => (CAPABILITIES, CAPABILITIES_MARIADB, "\x0a5.5.5-"),
            false => (CAPABILITIES | CLIENT_MYSQL, 0, "\x0a"),
        };
        let capabilities = capabilities.to_le_bytes();
        let mut greeting = format!("{prefix}{}\0", engine.version()).into_bytes();
        greeting.extend(id.to_le_bytes());
        greeting.extend(b"abcdefgh\0");
        greeting.extend(&capabilities[..2]);
        greeting.extend([45, 2, 0]);
        greeting.extend(&capabilities[2..]);
        greeting.push(21);
        greeting.extend([0; 6]);
        greeting.extend(of_mariadb.to_le_bytes());
        greeting.extend(b"ijklmnopqrst\0mysql_native_password\0");
        self.send(0, &greeting)?;
        let packet = next_packet(&mut self.input).ok_or(Over)?;
        let mut welcome = framed(packet[3] + 1, &done(0, 0, ""));
        match fate {
            Fate::LostAfter => return Err(Over),
            Fate::LostWithin => welcome.truncate(welcome.len() / 2),
            _ => {}
        }
        self.output.write_all(&welcome).map_err(|_| Over)?;
        if fate == Fate::LostWithin { Err(Over) } else { Ok(()) }
    }

    fn request(&mut self, packet: &[u8]) -> Result<(), Over> {
        if packet.get(4) == Some(&COM_QUIT) {
            return Err(Over);
        }
        let Some(request) = request(packet) else { return Ok(()) };
        let fate = self.run.shared.fate(&request);
        let is_cut = matches!(fate, Fate::LostBefore | Fate::Refused(_));
        if is_cut && request.text == b"COMMIT" {
            self.run.commit_on_some();
        }
        match fate {
            Fate::LostBefore => return Err(Over),
            Fate::Refused(errno) => {
                if errno == ER_LOCK_DEADLOCK {
                    self.run.shared.held().rollback(self.run.id);
                }
                self.send(1, &error(errno))?;
                return if ENDING.contains(&errno) { Err(Over) } else { Ok(()) };
            }
            _ => {}
        }
        let text = String::from_utf8_lossy(&request.text).into_owned();
        match request.command {
            COM_QUERY if SEVERAL.iter().any(|head| text.starts_with(head)) => {
                let answers = self.several(&text)?;
                self.packets(1, &answers, fate)
            }
            COM_QUERY => {
                let (sequence, text) = match text.split_once("; ") {
                    Some((savepoint, text)) if savepoint.starts_with("SAVEPOINT ") => {
                        self.run.statement(savepoint);
                        let mut end = done(0, 0, "");
                        end[3] |= MORE_RESULTS;
                        self.send(1, &end)?;
                        (2, text)
                    }
                    _ => (1, &*text),
                };
                match self.run.statement(text) {
                    Answer::File => self.file(sequence, text, fate),
                    answer => self.answer(sequence, answer, fate),
                }
            }
            COM_STMT_PREPARE => self.prepare(text, fate),
            COM_STMT_BULK_EXECUTE => {
                let answer = self.bulk(&request.text);
                self.answer(1, answer, fate)
            }
            _ => self.answer(1, Answer::Done(0, String::new()), fate),
        }
    }

    /// The packets of the answers to one statement or several, up to the first that is refused.
    fn several(&mut self, text: &str) -> Result<Vec<Vec<u8>>, Over> {
        let mut packets: Vec<Vec<u8>> = Vec::new();
        for sql in text.split("; ") {
            if let Some(end) = packets.last_mut() {
                end[3] |= MORE_RESULTS;
            }
            packets.extend(match self.run.statement(sql) {
                Answer::Gone => return Err(Over),
                Answer::Rows(columns, rows) => {
                    table((0..columns).map(|at| column(&format!("c{at}"))).collect(), &rows)
                }
                Answer::Named(names, rows) => {
                    table(names.iter().map(|name| column(name)).collect(), &rows)
                }
                Answer::Refused(errno, message) => {
                    packets.push(refusal(errno, &message));
                    return Ok(packets);
                }
                _ => panic!("{sql} has no rows"),
            });
        }
        Ok(packets)
    }

    /// The rows of a file, which the client is asked for.
    fn file(&mut self, sequence: u8, sql: &str, fate: Fate) -> Result<(), Over> {
        self.send(sequence, &[&[LOCAL_INFILE], &b"rows"[..]].concat())?;
        let mut bytes = Vec::new();
        let sequence = loop {
            let packet = next_packet(&mut self.input).ok_or(Over)?;
            if fate == Fate::LostWithin {
                // The server has some of the rows, and takes them back.
                return Err(Over);
            }
            bytes.extend(&packet[4..]);
            if packet.len() == 4 {
                break packet[3].wrapping_add(1);
            }
        };
        let text = match self.run.shared.engine {
            Engine::TiDb { .. } => without_mark(&bytes),
            _ => &bytes,
        };
        let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let rows: Vec<Vec<Value>> =
            lines.map(|line| line.split(|&byte| byte == b'\t').map(value_of).collect()).collect();
        let name = names(sql).into_iter().next().unwrap_or_default();
        // Whose file is the client's is refused no row: it is passed over, with a warning.
        let answer = match self.run.insert(&name, &rows, true) {
            Answer::Done(count, _) => Answer::Loaded(count, rows.len() as u64 - count),
            other => other,
        };
        if let Answer::Loaded(_, skipped) = answer {
            self.run.shared.held().session(self.run.id).skipped = skipped;
        }
        self.answer(sequence, answer, fate)
    }

    fn prepare(&mut self, sql: String, fate: Fate) -> Result<(), Over> {
        let parameters = sql.matches('?').count() as u16;
        self.prepared.push(sql);
        let mut head = vec![OK];
        head.extend((self.prepared.len() as u32).to_le_bytes());
        head.extend([0, 0]);
        head.extend(parameters.to_le_bytes());
        head.extend([0; 3]);
        let mut packets = vec![head];
        packets.extend((0..parameters).map(|_| column("?")));
        packets.push(EOF.to_vec());
        self.packets(1, &packets, fate)
    }

    /// One statement for many rows. Each value has a byte before it that says whether it is NULL.
    fn bulk(&mut self, text: &[u8]) -> Answer {
        let number = u32::from_le_bytes([text[0], text[1], text[2], text[3]]) as usize;
        let sql = self.prepared.get(number.wrapping_sub(1)).cloned().unwrap_or_default();
        let Some(name) = names(&sql).into_iter().next() else {
            let message = "This command is not supported in the prepared statement protocol yet";
            return Answer::Refused(ER_UNSUPPORTED_PS, message.to_owned());
        };
        if let Err(refused) = self.run.touch(&name) {
            return refused;
        }
        let columns = sql.matches('?').count();
        let mut rest = text.get(6 + 2 * columns..).unwrap_or_default();
        let mut values = Vec::new();
        while let Some((&is_null, behind)) = rest.split_first() {
            let size = if is_null == 0 { usize::from(behind[0]) } else { 0 };
            assert!(size < 0xfb, "a stand-in takes short values only");
            values.push((is_null == 0).then(|| behind[1..=size].to_vec()));
            rest = &behind[if is_null == 0 { 1 + size } else { 0 }..];
        }
        let rows: Vec<Vec<Value>> = values.chunks(columns).map(<[Value]>::to_vec).collect();
        self.run.insert(&name, &rows, false)
    }

    fn answer(&mut self, sequence: u8, answer: Answer, fate: Fate) -> Result<(), Over> {
        let packets = match (answer, fate) {
            (Answer::Gone, _) => return Err(Over),
            (Answer::Done(..) | Answer::Loaded(..), Fate::DoneThenRefused(errno)) => {
                self.send(sequence, &error(errno))?;
                return if ENDING.contains(&errno) { Err(Over) } else { Ok(()) };
            }
            (Answer::Done(rows, info), _) => vec![done(rows, 0, &info)],
            (Answer::Loaded(rows, skipped), _) => {
                let all = rows + skipped;
                let info =
                    format!("Records: {all}  Deleted: 0  Skipped: {skipped}  Warnings: {skipped}");
                vec![done(rows, skipped, &info)]
            }
            (Answer::Refused(errno, message), _) => vec![refusal(errno, &message)],
            (Answer::Rows(columns, rows), _) => {
                table((0..columns).map(|at| column(&format!("c{at}"))).collect(), &rows)
            }
            (Answer::Named(names, rows), _) => {
                table(names.iter().map(|name| column(name)).collect(), &rows)
            }
            (Answer::File, _) => vec![vec![ERR]],
        };
        self.packets(sequence, &packets, fate)
    }

    /// Sends an answer, as much of it as its fate lets.
    fn packets(&mut self, first: u8, packets: &[Vec<u8>], fate: Fate) -> Result<(), Over> {
        let mut bytes = Vec::new();
        let mut sequence = first;
        for packet in packets {
            bytes.extend(framed(sequence, packet));
            sequence = sequence.wrapping_add(1);
        }
        match fate {
            Fate::LostAfter => return Err(Over),
            Fate::LostWithin => bytes.truncate(bytes.len() / 2),
            _ => {}
        }
        self.output.write_all(&bytes).map_err(|_| Over)?;
        if fate == Fate::LostWithin { Err(Over) } else { Ok(()) }
    }

    fn send(&mut self, sequence: u8, payload: &[u8]) -> Result<(), Over> {
        self.output.write_all(&framed(sequence, payload)).map_err(|_| Over)
    }
}

/// The packets of an answer with rows.
fn table(columns: Vec<Vec<u8>>, rows: &[Vec<Value>]) -> Vec<Vec<u8>> {
    let mut packets = vec![vec![columns.len() as u8]];
    packets.extend(columns);
    packets.push(EOF.to_vec());
    packets.extend(rows.iter().map(|row| row.iter().flat_map(value).collect()));
    packets.push(EOF.to_vec());
    packets
}

/// All is done.
fn done(rows: u64, warnings: u64, info: &str) -> Vec<u8> {
    let mut payload = vec![OK];
    payload.extend(length(rows));
    payload.extend([0, 2, 0]);
    payload.extend((warnings as u16).to_le_bytes());
    if !info.is_empty() {
        payload.extend(length(info.len() as u64));
        payload.extend(info.bytes());
    }
    payload
}

/// A column of an answer.
fn column(name: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    for text in ["def", "", "", "", name, ""] {
        payload.extend(length(text.len() as u64));
        payload.extend(text.bytes());
    }
    payload.extend([0x0c, 45, 0, 0, 4, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
    payload
}

/// A value of a row.
fn value(value: &Value) -> Vec<u8> {
    match value {
        None => vec![0xfb],
        Some(bytes) => [length(bytes.len() as u64), bytes.clone()].concat(),
    }
}

/// A number of as many bytes as it takes.
fn length(number: u64) -> Vec<u8> {
    match number {
        0..0xfb => vec![number as u8],
        0xfb..=0xffff => [&[0xfc], &(number as u16).to_le_bytes()[..]].concat(),
        _ => [&[0xfd], &(number as u32).to_le_bytes()[..3]].concat(),
    }
}
