//! The order that sorting promises, checked in debug builds wherever entries pass by.

/// Asserts in debug builds that entries come in ascending order; does nothing in others.
#[derive(Debug, Default)]
pub(crate) struct OrderCheck {
    /// The entry noted last; none yet if `None`.
    last: Option<(Vec<u8>, u64)>,
}

impl OrderCheck {
    /// Takes note of the next entry: its key and the ordinal that equal keys follow.
    #[inline(always)]
    pub(crate) fn note(&mut self, key: &[u8], ordinal: u64) {
        if cfg!(debug_assertions) {
            self.check(key, ordinal);
        }
    }

    fn check(&mut self, key: &[u8], ordinal: u64) {
        let (last, last_ordinal) = self.last.get_or_insert_default();
        assert!(
            (last.as_slice(), *last_ordinal) <= (key, ordinal),
            "entries ascend: {key:x?} of {ordinal} comes after {last:x?} of {last_ordinal}"
        );
        last.clear();
        last.extend_from_slice(key);
        *last_ordinal = ordinal;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "entries ascend"))]
    fn a_key_less_than_the_one_before_is_noticed_in_debug_builds() {
        let mut order = OrderCheck::default();
        order.note(b"a", 1);
        order.note(b"a", 2);
        order.note(b"b", 0);
        order.note(b"a", 3);
    }
}
