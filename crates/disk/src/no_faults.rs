//! The stand-in for `faults` in a program for users: nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::Operation;

#[inline(always)]
pub(crate) fn before(_: Operation, _: &'static str) -> io::Result<()> {
    Ok(())
}

#[inline(always)]
pub(crate) fn before_write(_: &'static str, bytes: usize) -> io::Result<usize> {
    Ok(bytes)
}

#[inline(always)]
pub(crate) fn writes(_: &File, _: Option<u64>, _: usize) -> io::Result<()> {
    Ok(())
}

#[inline(always)]
pub(crate) fn sizes(_: &File) -> io::Result<()> {
    Ok(())
}

#[inline(always)]
pub(crate) fn made(_: BorrowedFd<'_>, _: &OsStr) -> io::Result<()> {
    Ok(())
}

#[inline(always)]
pub(crate) fn renamed(_: BorrowedFd<'_>, _: &OsStr, _: &OsStr) -> io::Result<()> {
    Ok(())
}

#[inline(always)]
pub(crate) fn synced(_: impl AsFd) -> io::Result<()> {
    Ok(())
}
