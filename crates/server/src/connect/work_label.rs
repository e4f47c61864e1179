//! The work of a command, named in its statements for SHOW PROCESSLIST.

use std::fmt;
use std::sync::Arc;

/// Characters of a comment at most.
const LENGTH_MAX: usize = 200;

/// The current work in a few words: `load shop.orders: rows 42 %`.
#[derive(Clone)]
pub struct WorkLabel(Arc<dyn Fn() -> String + Send + Sync>);

impl WorkLabel {
    /// The work that `words` names when a statement begins.
    pub fn new(words: impl Fn() -> String + Send + Sync + 'static) -> WorkLabel {
        WorkLabel(Arc::new(words))
    }

    /// The comment in front of a statement: `/* inrush load shop.orders: rows 42 % */ `.
    ///
    /// Nothing in the words ends the comment, is a mark of a prepared statement, or is run by a server.
    pub(crate) fn comment(&self) -> String {
        let words = (self.0)();
        let fits = |c: char| c.is_alphanumeric() || " ._-$#%,=+@()".contains(c);
        let words = words.chars().take(LENGTH_MAX).map(|c| if fits(c) { c } else { '_' });
        format!("/* inrush {} */ ", words.collect::<String>())
    }
}

impl fmt::Debug for WorkLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkLabel({:?})", (self.0)())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_not_end_the_comment() {
        for (words, comment) in [
            ("load shop.orders, rows 42 %", "/* inrush load shop.orders, rows 42 % */ "),
            ("a*/ DROP TABLE t; /*!x", "/* inrush a__ DROP TABLE t_ ___x */ "),
            ("m\u{fc}ll\n:name ? ", "/* inrush m\u{fc}ll__name _  */ "),
        ] {
            let words = words.to_owned();
            assert_eq!(WorkLabel::new(move || words.clone()).comment(), comment);
        }
        let long = WorkLabel::new(|| "x".repeat(10_000)).comment();
        assert_eq!(long.len(), "/* inrush  */ ".len() + LENGTH_MAX);
    }
}
