//! A parsed JSON document: its values in lists, without a copy of its text.

/// Bytes of a string: of the text, or of the buffer for strings that had escapes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) len: u32,
    pub(super) is_unescaped: bool,
}

/// An array or object: a run of [`Tree::entries`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    pub(super) is_object: bool,
    pub(super) first: u32,
    pub(super) count: u32,
    /// Its bytes in the small format; None if the small format cannot have it.
    pub(super) small_bytes: Option<u16>,
}

/// One value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    /// All below zero, and up to 2^32 - 1.
    Integer(i64),
    /// From 2^32 on.
    Unsigned(u64),
    Double(f64),
    String(Span),
    Container(Container),
}

/// A value of a container, in objects with its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) key: Span,
    pub(super) value: Value,
    /// Grows from member to member of an object as the text has them.
    pub(super) place: u32,
}

/// The values of one document. The buffers serve one document after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// Values of closed containers: those of one container side by side. Members are in the order
    /// of their keys.
    pub(super) entries: Vec<Entry>,
    /// Strings that had escapes, without them.
    pub(super) unescaped: Vec<u8>,
}

impl Tree {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.unescaped.clear();
    }

    /// The bytes of a string of the document `text`.
    #[inline]
    pub(super) fn bytes<'t>(&'t self, text: &'t [u8], span: Span) -> &'t [u8] {
        let bytes = if span.is_unescaped { &self.unescaped } else { text };
        &bytes[span.start as usize..][..span.len as usize]
    }

    pub(super) fn entries_of(&self, container: Container) -> &[Entry] {
        &self.entries[container.first as usize..][..container.count as usize]
    }
}
