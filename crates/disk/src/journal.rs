//! Journals: what is being done, line by line, for whoever comes after a crash.
//!
//! ```text
//! 3cba9d8d {"format":"inrush journal","version":1,"kind":"load","id":"1795295125000-4711-0"}
//! b29ea851 {"unix_ms":1795295125000,"pid":4711,"step":"import","event":"begin","detail":"shop.orders"}
//! ```
//!
//! Loads, replays and settings of servers are written down in one format and differ by their events
//! ([`Kind`]). Each line has a CRC-32C of its text. The first line is written with the first event. A
//! process that is killed leaves every line that it has written, and perhaps a torn one, which is dropped
//! when the journal is read.
//!
//! A power cut may take lines that were not synced, in any order. So a damaged line ends a journal, unless
//! a line behind it proves that it was synced: then the journal is refused.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{File, Folder, private};

/// Version of the format, which changes with what any kind of journal says.
pub const VERSION: u32 = 1;

/// The kind of the files in errors.
const WHAT: &str = "journal";
/// Pause between two attempts at a lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The events of one kind of journal.
pub trait Kind: Serialize + DeserializeOwned {
    /// Name of the kind, in the first line.
    const NAME: &'static str;
    /// Advice about a journal that cannot be read.
    const REMEDY: &'static str;
    /// True if each event is on disk before the next one is written.
    const SYNCS_ALL: bool = true;

    /// True if the event is on disk, and all before it, before its writer goes on.
    fn is_synced(&self) -> bool {
        Self::SYNCS_ALL
    }
}

/// An event, and when it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record<K> {
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// The process that wrote it.
    pub pid: u32,
    /// The event.
    #[serde(flatten)]
    pub what: K,
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    /// False while the first line is missing.
    has_header: bool,
    /// Offset of a line that was written in part and could not be cut off yet.
    torn_at: Option<u64>,
}

impl Writer {
    /// Makes a journal, for this user alone, under a name that nobody has. The name is not synced.
    pub fn create(folder: &Folder, name: &OsStr) -> io::Result<Writer> {
        let path = folder.path().join(name);
        Ok(Writer::new(folder.create(name, 0o600, WHAT)?, path))
    }

    /// Opens a journal, to [`read`](Writer::read) or [`restart`](Writer::restart) it and go on with it;
    /// made if it is missing.
    pub fn open(folder: &Folder, name: &OsStr) -> io::Result<Writer> {
        let file = File::new(private::append_to(folder, name, WHAT)?, WHAT);
        Ok(Writer::new(file, folder.path().join(name)))
    }

    fn new(file: File, path: PathBuf) -> Writer {
        Writer { file, path, has_header: false, torn_at: None }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps other writers out until it is dropped, and tells readers that its process lives. Waits for
    /// others at most so long.
    pub fn lock(&self, wait: Duration) -> io::Result<()> {
        lock(&self.file, wait)
    }

    /// All that was written so far. A torn end is cut off, since nothing behind it would be read.
    ///
    /// Errors: as of [`parse`].
    pub fn read<K: Kind>(&mut self) -> io::Result<Vec<Record<K>>> {
        let mut text = Vec::new();
        self.file.read_to_end(&mut text)?;
        let (records, whole) = parse(&text)?;
        self.has_header = whole > 0;
        if whole < text.len() {
            self.file.set_len(whole as u64)?;
        }
        Ok(records)
    }

    /// Removes all that was written.
    pub fn restart(&mut self) -> io::Result<()> {
        self.has_header = false;
        self.torn_at = Some(0);
        self.cut_torn_line()
    }

    /// Writes an event, and waits until it is on disk where it has to be. An event that cannot be
    /// written leaves no part of its line.
    pub fn append<K: Kind>(&mut self, what: &K) -> io::Result<()> {
        let record = Record { unix_ms: unix_ms(), pid: std::process::id(), what };
        let mut text = line(&serde_json::to_string(&record)?);
        if !self.has_header {
            let id = self.path.file_name().unwrap_or_default().to_string_lossy();
            let id = id.split('.').next().unwrap_or_default();
            text.insert_str(0, &line(&format!(r#"{}"{id}"}}"#, header::<K>())));
        }
        self.cut_torn_line()?;
        let end = self.file.metadata()?.len();
        if let Err(error) = self.file.write_all_at(text.as_bytes(), end) {
            self.torn_at = Some(end);
            // The next event tries again.
            let _ = self.cut_torn_line();
            return Err(error);
        }
        self.has_header = true;
        if what.is_synced() { self.sync() } else { Ok(()) }
    }

    fn cut_torn_line(&mut self) -> io::Result<()> {
        if let Some(end) = self.torn_at {
            self.file.set_len(end)?;
            self.torn_at = None;
        }
        Ok(())
    }

    /// Waits until all that was written is on disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Puts a journal of one event in the place of the one before. It is on disk when this returns.
pub fn replace<K: Kind>(folder: &Folder, name: &OsStr, what: &K) -> io::Result<()> {
    let mut new = OsString::from(name);
    new.push(".new");
    // Of a process that was killed: whoever replaces a journal holds a lock.
    folder.remove(&new, WHAT)?;
    Writer::create(folder, &new)?.append(what)?;
    folder.rename(&new, name, WHAT)?;
    folder.sync(WHAT)
}

/// All that a journal says.
///
/// Errors: as of [`parse`]; a file that is not ours alone; `NotFound`.
pub fn read<K: Kind>(folder: &Folder, name: &OsStr) -> io::Result<Vec<Record<K>>> {
    Ok(parse(&private::read(folder, name, WHAT)?)?.0)
}

/// The text of a journal's first record; none where its line is damaged, or the journal is of another build.
pub fn first_text<K: Kind>(journal: &[u8]) -> Option<&str> {
    let mut lines = journal.split_inclusive(|&byte| byte == b'\n');
    let first = lines.next().and_then(text_of)?;
    lines.next().and_then(text_of).filter(|_| first.starts_with(&header::<K>()))
}

/// The text of a journal's last line; none where that is damaged.
pub fn last_text(journal: &[u8]) -> Option<&str> {
    journal.split_inclusive(|&byte| byte == b'\n').next_back().and_then(text_of)
}

/// The records in the text of a journal, and the number of its bytes that are whole lines.
///
/// Errors, `InvalidData` with what to do: a journal of another kind or build, or a damaged one.
pub fn parse<K: Kind>(text: &[u8]) -> io::Result<(Vec<Record<K>>, usize)> {
    let mut lines = text.split_inclusive(|&byte| byte == b'\n');
    let Some(first) = lines.next().filter(|line| line.ends_with(b"\n")) else {
        return Ok((Vec::new(), 0));
    };
    if !text_of(first).is_some_and(|text| text.starts_with(&header::<K>())) {
        return Err(refused::<K>(format!(
            "the {} journal of a different build of Inrush",
            K::NAME
        )));
    }
    let record = |line| serde_json::from_str::<Record<K>>(text_of(line)?).ok();
    let mut lines = lines.map(|line| (line.len(), record(line)));
    let (mut records, mut whole) = (Vec::new(), first.len());
    while let Some((bytes, Some(record))) = lines.next() {
        records.push(record);
        whole += bytes;
    }
    // True if a line behind the damaged one was written when that one was on disk.
    let mut was_synced = K::SYNCS_ALL;
    for record in lines.filter_map(|(_, record)| record) {
        if was_synced {
            return Err(refused::<K>(format!("damaged in line {}", records.len() + 2)));
        }
        was_synced = record.what.is_synced();
    }
    Ok((records, whole))
}

/// True if the process that has locked a journal lives.
///
/// Errors: a journal that cannot be opened.
pub fn is_being_written(folder: &Folder, name: &OsStr) -> io::Result<bool> {
    let file = match folder.read_from(name, WHAT) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
    Ok(locked == Err(rustix::io::Errno::WOULDBLOCK))
}

/// Takes a file for this process alone, and waits for others at most so long.
///
/// Errors: `WouldBlock`, if others have it still.
pub fn lock(file: impl AsFd, wait: Duration) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if begun.elapsed() < wait => sleep(PAUSE),
            locked => return Ok(locked?),
        }
    }
}

/// The time, as records have it.
pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// How the first line begins; the id follows, which is the name of the file without its ending.
fn header<K: Kind>() -> String {
    format!(r#"{{"format":"inrush journal","version":{VERSION},"kind":"{}","id":"#, K::NAME)
}

fn refused<K: Kind>(seen: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("it is {seen}; {}", K::REMEDY))
}

fn line(text: &str) -> String {
    format!("{:08x} {text}\n", crc32c::crc32c(text.as_bytes()))
}

/// The text of a line that is whole.
fn text_of(line: &[u8]) -> Option<&str> {
    let (sum, text) = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (sum == crc32c::crc32c(text.as_bytes())).then_some(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    /// A step with a number; those below 10 are synced.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Step {
        Number(u64),
        Pair { one: u64, other: String },
        Nothing,
    }

    impl Kind for Step {
        const NAME: &'static str = "load";
        const REMEDY: &'static str = "remove it";
        const SYNCS_ALL: bool = false;

        fn is_synced(&self) -> bool {
            matches!(self, Step::Number(0..10))
        }
    }

    /// The same events, each synced.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Synced {
        number: u64,
    }

    impl Kind for Synced {
        const NAME: &'static str = "replay";
        const REMEDY: &'static str = "begin anew";
    }

    fn folder() -> (tempfile::TempDir, Folder) {
        let state = tempfile::tempdir().unwrap();
        let folder = private::make(&state.path().join("jobs")).unwrap();
        (state, folder)
    }

    fn written<K: Kind>(folder: &Folder, events: &[K]) -> Vec<u8> {
        let name = OsStr::new("7.jsonl");
        folder.remove(name, WHAT).unwrap();
        let mut writer = Writer::create(folder, name).unwrap();
        events.iter().for_each(|event| writer.append(event).unwrap());
        std::fs::read(writer.path()).unwrap()
    }

    fn events<K: Kind + Clone>(text: &[u8]) -> Vec<K> {
        parse::<K>(text).unwrap().0.into_iter().map(|record| record.what).collect()
    }

    /// The text with a bit of a line flipped; the first line is 0.
    fn bent(text: &[u8], number: usize) -> Vec<u8> {
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        let mut bent = text.to_vec();
        bent[lines[..number].concat().len() + 12] ^= 1;
        bent
    }

    #[test]
    fn the_first_record_and_the_last_are_had_without_the_others() {
        let (_state, folder) = folder();
        let text = written(&folder, &[Step::Number(77), Step::Nothing, Step::Number(78)]);
        assert!(first_text::<Step>(&text).unwrap().contains(r#""number":77}"#));
        assert!(last_text(&text).unwrap().contains(r#""number":78}"#));
        assert_eq!(first_text::<Synced>(&text), None);
        // Damage of another line does not matter, and that of its own does.
        for (line, has_first, has_last) in
            [(0, false, true), (1, false, true), (2, true, true), (3, true, false)]
        {
            let bent = bent(&text, line);
            let had = (first_text::<Step>(&bent).is_some(), last_text(&bent).is_some());
            assert_eq!(had, (has_first, has_last), "{line}");
        }
        assert_eq!(last_text(&text[..text.len() - 1]), None);
        assert_eq!((first_text::<Step>(b""), last_text(b"")), (None, None));
    }

    #[test]
    fn what_is_written_is_read() {
        let (_state, folder) = folder();
        let pair = Step::Pair { one: u64::MAX, other: "\u{e9}\n\"".to_owned() };
        let all = [Step::Number(7), pair, Step::Nothing];
        let text = written(&folder, &all);
        assert_eq!(events::<Step>(&text), all);
        let first = String::from_utf8_lossy(&text).lines().next().unwrap().to_owned();
        let header = r#" {"format":"inrush journal","version":1,"kind":"load","id":"7"}"#;
        assert!(first.ends_with(header), "{first}");
        let mut writer = Writer::open(&folder, OsStr::new("7.jsonl")).unwrap();
        let before: Vec<Step> = writer.read().unwrap().into_iter().map(|one| one.what).collect();
        assert_eq!(before, all);
        writer.append(&Step::Number(8)).unwrap();
        assert_eq!(read::<Step>(&folder, OsStr::new("7.jsonl")).unwrap()[3].what, Step::Number(8));
        writer.restart().unwrap();
        writer.append(&Step::Number(9)).unwrap();
        assert_eq!(events::<Step>(&std::fs::read(writer.path()).unwrap()), [Step::Number(9)]);
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_the_journal_goes_on() {
        let (_state, folder) = folder();
        let whole = written(&folder, &[1, 2, 3].map(|number| Synced { number }));
        for cut in 0..whole.len() {
            std::fs::write(folder.path().join("torn"), &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
            let mut writer = Writer::open(&folder, OsStr::new("torn")).unwrap();
            assert_eq!(
                writer.read::<Synced>().unwrap().len(),
                lines.saturating_sub(1),
                "cut at {cut}"
            );
            writer.append(&Synced { number: 9 }).unwrap();
            let again = read::<Synced>(&folder, OsStr::new("torn")).unwrap();
            assert_eq!(again.len(), lines.saturating_sub(1) + 1, "cut at {cut}");
            assert_eq!(again.last().unwrap().what.number, 9);
        }
    }

    /// Sets how long files of this process may become; None: as long as at its start.
    fn limit_files(bytes: Option<u64>) {
        let maximum = getrlimit(Resource::Fsize).maximum;
        setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
    }

    #[test]
    fn a_line_that_is_written_in_part_is_cut_off_again() {
        const NAME: &str = "journal::tests::a_line_that_is_written_in_part_is_cut_off_again";
        const AGAIN: &str = "INRUSH_TEST_AGAIN";
        if std::env::var_os(AGAIN).is_none() {
            // The limit is one of a process, and its signal would end the process.
            let script = r#"trap "" XFSZ; exec "$0" --exact "$1""#;
            let mut again = Command::new("sh");
            again.args(["-c", script]).arg(std::env::current_exe().unwrap()).arg(NAME);
            let outcome = again.env(AGAIN, "1").output().unwrap();
            let text = String::from_utf8_lossy(&outcome.stdout);
            assert!(outcome.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        let name = OsStr::new("7.jsonl");
        for open in [Writer::create, Writer::open] {
            // The first line is torn, and a later one.
            for room in [50, 1000] {
                let (_state, folder) = folder();
                let mut writer = open(&folder, name).unwrap();
                limit_files(Some(room));
                let is_written = |&number: &u64| writer.append(&Synced { number }).is_ok();
                let written = (0..100).take_while(is_written).count() as u64;
                limit_files(None);
                assert_eq!(written > 0, room > 50);
                for number in [200, 201] {
                    writer.append(&Synced { number }).unwrap();
                }
                let records = read::<Synced>(&folder, name).unwrap();
                let numbers: Vec<u64> = records.iter().map(|record| record.what.number).collect();
                assert_eq!(numbers, (0..written).chain([200, 201]).collect::<Vec<u64>>());
            }
        }
    }

    #[test]
    fn damage_is_refused_if_the_damaged_line_was_on_disk() {
        let (_state, folder) = folder();
        let refused = |text: &[u8], seen: &str| {
            let error = parse::<Synced>(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert_eq!(error.to_string(), format!("it is {seen}; begin anew"));
        };
        let text = written(&folder, &[1, 2, 3].map(|number| Synced { number }));
        refused(&bent(&text, 1), "damaged in line 2");
        refused(&bent(&text, 2), "damaged in line 3");
        // Nothing says that the last line was on disk.
        assert_eq!(events::<Synced>(&bent(&text, 3)).len(), 2);
        // A power cut may take one unsynced line and leave those behind it.
        let of_load = |events: &[u64]| {
            written(&folder, &events.iter().copied().map(Step::Number).collect::<Vec<_>>())
        };
        let lost = |events: &[u64]| parse::<Step>(&bent(&of_load(events), 2));
        assert_eq!(lost(&[1, 10, 11, 12]).unwrap().0.len(), 1);
        assert_eq!(lost(&[1, 10, 11, 2]).unwrap().0.len(), 1);
        let error = lost(&[1, 10, 2, 11]).unwrap_err().to_string();
        assert_eq!(error, "it is damaged in line 3; remove it");
        // Zeros in place of what was lost join two lines.
        let mut zeros = of_load(&[1, 10, 11]);
        let at = zeros.len() - 40;
        zeros[at - 60..at].fill(0);
        assert_eq!(events::<Step>(&zeros).len(), 1);
    }

    #[test]
    fn a_journal_of_another_kind_or_build_is_refused() {
        let (_state, folder) = folder();
        let other = "it is the replay journal of a different build of Inrush; begin anew";
        let refused = |text: &[u8]| {
            assert_eq!(parse::<Synced>(text).unwrap_err().to_string(), other);
        };
        refused(&written(&folder, &[Step::Nothing]));
        let text = written(&folder, &[Synced { number: 1 }]);
        refused(&bent(&text, 0));
        let first = text.iter().position(|&byte| byte == b'\n').unwrap();
        // Before there was a first line; of a version to come; JSON without sums.
        refused(&text[first + 1..]);
        refused(line(&format!("{}7}}", header::<Synced>().replace("1,", "2,"))).as_bytes());
        refused(b"{\n  \"server\": {}\n}\n");
        assert_eq!(parse::<Synced>(b"forged").unwrap(), (Vec::new(), 0));
    }

    #[test]
    fn a_journal_that_replaces_another_is_there_whole() {
        let (_state, folder) = folder();
        let name = OsStr::new("key.jsonl");
        std::fs::write(folder.path().join("key.jsonl.new"), "of a killed process").unwrap();
        for number in 1..3 {
            replace(&folder, name, &Synced { number }).unwrap();
            let records = read::<Synced>(&folder, name).unwrap();
            assert_eq!(records.len(), 1);
            assert_eq!(records[0].what.number, number);
        }
        assert_eq!(folder.names().unwrap(), [name]);
        folder.remove(name, WHAT).unwrap();
        assert_eq!(read::<Synced>(&folder, name).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_process_that_writes_is_told_from_one_that_is_gone() {
        let (_state, folder) = folder();
        let name = OsStr::new("7.jsonl");
        let writer = Writer::create(&folder, name).unwrap();
        assert!(!is_being_written(&folder, name).unwrap());
        writer.lock(Duration::ZERO).unwrap();
        assert!(is_being_written(&folder, name).unwrap());
        let other = Writer::open(&folder, name).unwrap();
        let error = other.lock(Duration::from_millis(30)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        drop(writer);
        other.lock(Duration::ZERO).unwrap();
    }
}
