//! The parser of JSON texts, which accepts those that MySQL accepts.
//!
//! Everything from a NUL behind the value on is not looked at. Source: MySQL 9.7, extra/rapidjson
//! `GenericReader::Parse` with the stream `MemoryStream`; sql-common/json_dom.cc
//! `Rapid_json_handler`, `Json_object::add_alias` (the last of equal keys wins) and
//! `Json_key_comparator` (short keys first).

use std::cmp::Ordering;

use super::encoder;
use super::number::number;
use super::string::string;
use super::tree::{Container, Entry, Span, Tree, Value};
use crate::reason::Reason;

/// Arrays and objects in each other at most.
const DEPTH_MAX: usize = 100;

/// A container that is not closed yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    is_object: bool,
    /// Its first value in [`Parser::pending`].
    first: usize,
}

/// Parses one text after the other into the same buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Parser {
    pub(super) tree: Tree,
    open: Vec<Open>,
    /// Values of open containers, those of the innermost one last.
    pending: Vec<Entry>,
}

impl Parser {
    /// The value of a text, with the values in it in [`Parser::tree`].
    ///
    /// Errors: the server refuses the text.
    pub(super) fn parse(&mut self, text: &[u8]) -> Result<Value, Reason> {
        if u32::try_from(text.len()).is_err() {
            return Err(Reason::TooLong);
        }
        self.tree.clear();
        self.open.clear();
        self.pending.clear();
        let mut at = 0;
        let root = loop {
            let Some(value) = self.value(text, &mut at)? else { continue };
            if let Some(root) = self.close(text, &mut at, value)? {
                break root;
            }
        };
        match next_token(text, &mut at) {
            None | Some(0) => Ok(root),
            Some(_) => Err(Reason::NotJson),
        }
    }

    /// A scalar or an empty container; None where a container with values begins.
    fn value(&mut self, text: &[u8], at: &mut usize) -> Result<Option<Value>, Reason> {
        let value = match next_token(text, at).ok_or(Reason::NotJson)? {
            first @ (b'{' | b'[') => {
                *at += 1;
                return self.open(text, at, first == b'{');
            }
            b'"' => Value::String(self.string(text, at)?),
            b't' => word(text, at, b"true", Value::Boolean(true))?,
            b'f' => word(text, at, b"false", Value::Boolean(false))?,
            b'n' => word(text, at, b"null", Value::Null)?,
            _ => {
                let (value, bytes) = number(&text[*at..]).ok_or(Reason::NotJson)?;
                *at += bytes;
                value
            }
        };
        Ok(Some(value))
    }

    fn open(
        &mut self,
        text: &[u8],
        at: &mut usize,
        is_object: bool,
    ) -> Result<Option<Value>, Reason> {
        if self.open.len() == DEPTH_MAX {
            return Err(Reason::TooDeep);
        }
        let end = if is_object { b'}' } else { b']' };
        self.open.push(Open { is_object, first: self.pending.len() });
        if next_token(text, at) == Some(end) {
            *at += 1;
            return self.container(text).map(Some);
        }
        if is_object {
            self.key(text, at)?;
        }
        Ok(None)
    }

    /// Puts a value into its container, and each container that ends behind it into its own. The
    /// root when it is complete.
    fn close(
        &mut self,
        text: &[u8],
        at: &mut usize,
        mut value: Value,
    ) -> Result<Option<Value>, Reason> {
        while let Some(Open { is_object, .. }) = self.open.last().copied() {
            match (is_object, self.pending.last_mut()) {
                (true, Some(member)) => member.value = value,
                _ => self.pending.push(Entry { key: Span::default(), value, place: 0 }),
            }
            let token = next_token(text, at).ok_or(Reason::NotJson)?;
            *at += 1;
            match token {
                b',' if is_object => {
                    self.key(text, at)?;
                    return Ok(None);
                }
                b',' => return Ok(None),
                b'}' if is_object => value = self.container(text)?,
                b']' if !is_object => value = self.container(text)?,
                _ => return Err(Reason::NotJson),
            }
        }
        Ok(Some(value))
    }

    /// Reads a key and its colon.
    fn key(&mut self, text: &[u8], at: &mut usize) -> Result<(), Reason> {
        if next_token(text, at) != Some(b'"') {
            return Err(Reason::NotJson);
        }
        let key = self.string(text, at)?;
        if next_token(text, at) != Some(b':') {
            return Err(Reason::NotJson);
        }
        *at += 1;
        let place = index(self.pending.len())?;
        self.pending.push(Entry { key, value: Value::Null, place });
        Ok(())
    }

    fn string(&mut self, text: &[u8], at: &mut usize) -> Result<Span, Reason> {
        let read = string(text, *at + 1, &mut self.tree.unescaped);
        let (span, end) = read.ok_or(Reason::NotJson)?;
        *at = end;
        Ok(span)
    }

    /// Ends the innermost container.
    fn container(&mut self, text: &[u8]) -> Result<Value, Reason> {
        let Some(Open { is_object, first }) = self.open.pop() else { return Err(Reason::NotJson) };
        if is_object {
            self.sort_members(text, first);
        }
        let entries = &self.pending[first..];
        let container = Container {
            is_object,
            first: index(self.tree.entries.len())?,
            count: index(entries.len())?,
            small_bytes: encoder::small_bytes(entries, is_object),
        };
        self.tree.entries.extend_from_slice(entries);
        self.pending.truncate(first);
        Ok(Value::Container(container))
    }

    /// Sorts the members of the innermost object, and keeps the last of those with one key.
    fn sort_members(&mut self, text: &[u8], first: usize) {
        let tree = &self.tree;
        let compare = |a: &Entry, b: &Entry| match a.key.len.cmp(&b.key.len) {
            Ordering::Equal => tree.bytes(text, a.key).cmp(tree.bytes(text, b.key)),
            other => other,
        };
        let members = &mut self.pending[first..];
        members.sort_unstable_by(|a, b| compare(a, b).then(a.place.cmp(&b.place)));
        let mut kept = 0;
        for at in 0..members.len() {
            let is_last = match members.get(at + 1) {
                Some(next) => compare(&members[at], next) != Ordering::Equal,
                None => true,
            };
            if is_last {
                members[kept] = members[at];
                kept += 1;
            }
        }
        self.pending.truncate(first + kept);
    }
}

/// Steps to the next byte that is no white space.
#[inline]
fn next_token(text: &[u8], at: &mut usize) -> Option<u8> {
    while matches!(text.get(*at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        *at += 1;
    }
    text.get(*at).copied()
}

fn word(text: &[u8], at: &mut usize, word: &[u8], value: Value) -> Result<Value, Reason> {
    if !text[*at..].starts_with(word) {
        return Err(Reason::NotJson);
    }
    *at += word.len();
    Ok(value)
}

fn index(count: usize) -> Result<u32, Reason> {
    u32::try_from(count).map_err(|_| Reason::TooLong)
}
