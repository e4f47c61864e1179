//! Words that options take, each with its value.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Words, each with its help and its value.
pub(crate) type Words<T> = [(&'static str, &'static str, T)];

/// The value of a word.
pub(crate) fn word<T: Copy>(words: &Words<T>, typed: &str) -> Option<T> {
    words.iter().find(|(word, ..)| *word == typed).map(|&(.., value)| value)
}

/// Reads an option that takes one of these words.
pub(super) fn words<T: Copy + Send + Sync + 'static>(
    words: &'static Words<T>,
) -> impl TypedValueParser<Value = T> {
    let possible = words.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(possible)
        .try_map(move |typed| word(words, &typed).ok_or("the word is unknown"))
}
