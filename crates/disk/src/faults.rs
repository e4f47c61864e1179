//! Faults at the nth operation, for tests.
//!
//! `INRUSH_FAULT=12:enospc` names the operation, counted from 1 over the whole process, and what
//! befalls it:
//!
//! | kind | the nth operation | later ones |
//! | --- | --- | --- |
//! | `eio` | fails: input/output error | work again |
//! | `enospc` | fails if it takes space: disk full | fail likewise |
//! | `short` | a write is done by half | as with `enospc` |
//! | `kill` | the process dies before it, as by `kill -9` | |
//! | `torn` | a write is done by half, then the process dies | |
//! | `power` | the process dies before it, and what was not synced is lost in part (`unsynced`) | |
//! | `power.7` | the same, by another seed | |
//! | `power.all` | the same, and all of it is lost | |
//!
//! `INRUSH_FAULT_LOG=FILE` gets a line for each operation, `write space`, to count them by.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::unsynced::Loss;
use crate::{Operation, unsynced};

/// Writes are cut at a multiple of it, so that O_DIRECT takes the rest.
const CUT_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Eio,
    Enospc,
    Short,
    Kill,
    Torn,
    Power(Loss),
}

struct Fault {
    at: u64,
    kind: Kind,
}

static FAULT: LazyLock<Option<Fault>> = LazyLock::new(|| {
    let text = std::env::var("INRUSH_FAULT").ok()?;
    let (at, kind) = text.split_once(':')?;
    let at = at.parse().ok()?;
    let kind = match kind {
        "eio" => Kind::Eio,
        "enospc" => Kind::Enospc,
        "short" => Kind::Short,
        "kill" => Kind::Kill,
        "torn" => Kind::Torn,
        "power" => Kind::Power(Loss::Some(at)),
        "power.all" => Kind::Power(Loss::All),
        _ => Kind::Power(Loss::Some(kind.strip_prefix("power.")?.parse().ok()?)),
    };
    Some(Fault { at, kind })
});
static LOG: LazyLock<Option<std::fs::File>> = LazyLock::new(|| {
    let path = std::env::var_os("INRUSH_FAULT_LOG")?;
    OpenOptions::new().append(true).create(true).open(path).ok()
});
static OPERATIONS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn before(operation: Operation, what: &'static str) -> io::Result<()> {
    judge(operation, what, 0).map(drop)
}

/// How many of `bytes` may be written.
pub(crate) fn before_write(what: &'static str, bytes: usize) -> io::Result<usize> {
    let granted = judge(Operation::Write, what, bytes)?;
    if granted < bytes && FAULT.as_ref().is_some_and(|fault| fault.kind == Kind::Torn) {
        // The half is written by the caller; a thread of its own ends the process after that.
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            die();
        });
    }
    Ok(granted)
}

/// True if unsynced writes are to be tracked.
fn is_power() -> bool {
    FAULT.as_ref().is_some_and(|fault| matches!(fault.kind, Kind::Power(_)))
}

/// Before `bytes` bytes are written at `offset`, or where the file stands.
pub(crate) fn writes(file: &File, offset: Option<u64>, bytes: usize) -> io::Result<()> {
    if !is_power() {
        return Ok(());
    }
    let offset = offset.map_or_else(|| end_of_writes(file), Ok)?;
    unsynced::write(file, offset, bytes)
}

/// Where a write without a place goes.
fn end_of_writes(file: &File) -> io::Result<u64> {
    match rustix::fs::fcntl_getfl(file)?.contains(OFlags::APPEND) {
        true => Ok(file.metadata()?.len()),
        false => Ok(rustix::fs::tell(file)?),
    }
}

/// Before the size is set.
pub(crate) fn sizes(file: &File) -> io::Result<()> {
    if is_power() { unsynced::size(file) } else { Ok(()) }
}

/// After a file was made in a folder.
pub(crate) fn made(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    if is_power() { unsynced::make(folder, name) } else { Ok(()) }
}

/// After a file got another name.
pub(crate) fn renamed(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> io::Result<()> {
    if is_power() { unsynced::rename(folder, from, to) } else { Ok(()) }
}

/// After a file or a folder was synced.
pub(crate) fn synced(of: impl AsFd) -> io::Result<()> {
    if is_power() { unsynced::sync(of) } else { Ok(()) }
}

fn judge(operation: Operation, what: &'static str, bytes: usize) -> io::Result<usize> {
    let number = OPERATIONS.fetch_add(1, Ordering::Relaxed) + 1;
    if let Some(mut log) = LOG.as_ref() {
        let name = format!("{operation:?}").to_lowercase();
        let _ = log.write_all(format!("{name} {what}\n").as_bytes());
    }
    let Some(fault) = FAULT.as_ref() else { return Ok(bytes) };
    let takes_space =
        matches!(operation, Operation::Create | Operation::Write | Operation::Allocate);
    let full = || Err(Errno::NOSPC.into());
    match fault.kind {
        Kind::Eio if number == fault.at => Err(Errno::IO.into()),
        Kind::Enospc if number >= fault.at && takes_space => full(),
        Kind::Short if number == fault.at && bytes > 1 => Ok(half(bytes)),
        Kind::Short if number >= fault.at && takes_space => full(),
        Kind::Torn if number == fault.at && bytes > 1 => Ok(half(bytes)),
        Kind::Torn | Kind::Power(_) if number > fault.at => wait_for_death(),
        Kind::Power(loss) if number == fault.at => {
            unsynced::lose(loss);
            die()
        }
        Kind::Kill | Kind::Torn if number == fault.at => die(),
        _ => Ok(bytes),
    }
}

fn half(bytes: usize) -> usize {
    let half = bytes / 2;
    if half >= CUT_BYTES { half / CUT_BYTES * CUT_BYTES } else { half }
}

fn die() -> ! {
    let me = rustix::process::getpid();
    let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
    wait_for_death()
}

/// The signal is on its way: no operation of ours after it.
fn wait_for_death() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}
