//! One record: an object whose fields are looked up among those that somebody wants.

use std::collections::HashMap;
use std::sync::Arc;

use super::Json;
use super::fault::Fault;
use super::field_place::{FieldPlace, each_field};
use super::pointer::resolve;
use super::token::{Cursor, plain, unescape};
use crate::key::Key;

/// Finds the fields of records. Fields have the numbers of their keys; fields that only have values of pointers have
/// numbers behind those.
#[derive(Debug)]
pub(super) struct Fields {
    keys: Arc<[Key]>,
    ignores_unknown: bool,
    /// The name of the field of each number.
    names: Vec<Vec<u8>>,
    /// Keys with pointers, and the field that each begins in.
    pointers: Vec<(usize, usize)>,
    /// Numbers by name, also by names in small letters, and without blanks at their ends.
    by_name: HashMap<Vec<u8>, usize>,
    /// The number of the field that was found at this place of the record before.
    order: Vec<usize>,
    /// The value of each key, then of fields that only pointers want; of the last record that was read.
    pub(super) found: Vec<Option<FieldPlace>>,
    scratch: Vec<u8>,
}

/// A name without the blanks at its ends, which names in headers lose too.
fn trimmed(name: &[u8]) -> &[u8] {
    std::str::from_utf8(name).map_or(name, |name| name.trim().as_bytes())
}

/// In place of a number: a field that is left out.
const LEFT_OUT: usize = usize::MAX;
/// In place of a number: a field that no record may have.
const LATE: usize = usize::MAX - 1;

impl Fields {
    /// Fields of these keys; no record may have one of the `late` names.
    pub(super) fn new(keys: Arc<[Key]>, late: &[Vec<u8>], json: Json) -> Fields {
        let mut by_name = HashMap::new();
        let plain = || keys.iter().enumerate().filter(|(_, key)| key.pointer.is_none());
        for (number, key) in plain() {
            by_name.entry(key.name.to_ascii_lowercase()).or_insert(number);
        }
        for (number, key) in plain() {
            by_name.insert(key.name.clone(), number);
        }
        for (number, key) in plain() {
            by_name.entry(trimmed(&key.name).to_ascii_lowercase()).or_insert(number);
        }
        let mut names: Vec<Vec<u8>> = keys.iter().map(|key| key.name.clone()).collect();
        let mut pointers = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            let Some(pointer) = &key.pointer else { continue };
            // As the fields of records are looked up.
            let known = by_name.get(&pointer.field);
            let known = known.or_else(|| by_name.get(&pointer.field.to_ascii_lowercase())).copied();
            let field = known.unwrap_or_else(|| {
                names.push(pointer.field.clone());
                by_name.insert(pointer.field.clone(), names.len() - 1);
                names.len() - 1
            });
            pointers.push((number, field));
        }
        // A column that has a pointer does not get the field of its own name.
        for (number, _) in &pointers {
            by_name.entry(keys[*number].name.clone()).or_insert(LEFT_OUT);
        }
        for name in late.iter().flat_map(|name| [name.to_ascii_lowercase(), name.clone()]) {
            by_name.entry(name).or_insert(LATE);
        }
        Fields {
            found: vec![None; names.len()],
            keys,
            names,
            pointers,
            ignores_unknown: json.ignores_unknown,
            by_name,
            order: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Finds the fields of a record.
    ///
    /// Errors: why its fields are not known; what was found is then of no use.
    pub(super) fn read(&mut self, record: &[u8]) -> Result<(), Fault> {
        self.found.fill(None);
        if let Err(error) = std::str::from_utf8(record) {
            return Err(Fault::NotUtf8(error.valid_up_to()));
        }
        let mut cursor = Cursor { text: record, at: 0 };
        let mut place = 0;
        each_field(&mut cursor, |name, is_escaped, found| {
            let number = self.number(name, is_escaped, place)?;
            place += 1;
            if number == LEFT_OUT {
                return Ok(());
            }
            match self.found[number].replace(found) {
                None => Ok(()),
                Some(_) => Err(Fault::Twice(self.names[number].clone())),
            }
        })?;
        self.follow_pointers(record)
    }

    /// Finds the values of pointers in their fields.
    fn follow_pointers(&mut self, record: &[u8]) -> Result<(), Fault> {
        for &(number, field) in &self.pointers {
            let rest = self.keys[number].pointer.as_ref().map_or(&[][..], |pointer| &pointer.rest);
            if let Some(place) = self.found[field] {
                self.found[number] = resolve(record, place, rest)?;
            }
        }
        Ok(())
    }

    /// The number of the field of this name, most often that of the same place in the record before.
    #[inline]
    fn number(&mut self, name: &[u8], is_escaped: bool, place: usize) -> Result<usize, Fault> {
        if let Some(&number) = self.order.get(place)
            && number != LEFT_OUT
            && !is_escaped
            && self.names[number] == name
        {
            return Ok(number);
        }
        self.look_up(name, is_escaped, place)
    }

    #[inline(never)]
    fn look_up(&mut self, name: &[u8], is_escaped: bool, place: usize) -> Result<usize, Fault> {
        self.scratch.clear();
        match is_escaped {
            true => unescape(name, &mut self.scratch),
            false => self.scratch.extend_from_slice(name),
        }
        let mut number = self.by_name.get(&self.scratch).copied();
        if number.is_none() {
            self.scratch.make_ascii_lowercase();
            let plain = self.by_name.get(&self.scratch);
            number = plain.or_else(|| self.by_name.get(trimmed(&self.scratch))).copied();
        }
        let number = match number {
            Some(LATE) => return Err(Fault::Late(plain(name, is_escaped))),
            Some(number) => number,
            None if self.ignores_unknown => LEFT_OUT,
            None => return Err(Fault::Unknown(plain(name, is_escaped))),
        };
        if self.order.len() <= place {
            self.order.resize(place + 1, LEFT_OUT);
        }
        self.order[place] = number;
        Ok(number)
    }
}
