//! Lists in messages: a folder or a dump may have hundreds of tables.

use std::fmt::Display;

/// Names of a list that a message tells.
const NAMED_MAX: usize = 3;

/// The first three of a list, and how many others there are: `a, b, c, and 12 more`.
pub fn first_of<N: Display>(names: impl IntoIterator<Item = N>) -> String {
    let mut names = names.into_iter();
    let mut words: Vec<String> =
        names.by_ref().take(NAMED_MAX).map(|name| name.to_string()).collect();
    match names.count() {
        0 => {}
        others => words.push(format!("and {others} more")),
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_list_some_are_named() {
        let names = ["a", "b", "c", "d", "e"];
        assert_eq!(first_of(names), "a, b, c, and 2 more");
        assert_eq!(first_of(&names[..3]), "a, b, c");
        assert_eq!(first_of(&names[..0]), "");
    }
}
