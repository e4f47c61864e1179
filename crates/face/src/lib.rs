//! Names of options in messages, written as the caller's face takes them.
//!
//! ```text
//!                               command line               keywords
//! {REJECTS_MAX}                 --rejects-max              rejects_max=
//! {UNLOGGED}                    --unlogged                 unlogged=True
//! PATH.with("direct")           --path direct              path="direct"
//! call("tune", RESTORE)         inrush tune --restore      inrush.tune(restore=True)
//! ```
//!
//! A process has one face. A message is written when an error is shown or a note is made, so a face is
//! chosen before anything else is called.

#![forbid(unsafe_code)]

pub mod option;
pub mod statement;

use std::fmt::{self, Display, Formatter};
use std::sync::OnceLock;

static FACE: OnceLock<Face> = OnceLock::new();

/// How a process is told its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Face {
    /// Arguments of a command: `--path direct`.
    #[default]
    CommandLine,
    /// Arguments of a call, as Python has them: `path="direct"`.
    Keyword,
}

impl Face {
    /// Messages of this process name options so from now on. The first choice stays.
    pub fn choose(self) {
        FACE.get_or_init(|| self);
    }

    fn current() -> Face {
        FACE.get().copied().unwrap_or_default()
    }
}

/// An option of ours. Shown, it is its name as the face writes it; [`option`] lists all that messages name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionName {
    name: &'static str,
    typed: &'static str,
    form: Form,
}

/// The form of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing: it is there, or is not.
    Flag,
    /// A value.
    Value,
    /// A value that messages join to it by `=`, also on the command line.
    Joined,
}

impl OptionName {
    /// Its name alone: `rejects-max`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// As messages of the program write it: `--rejects-max`, `-o`.
    pub const fn typed(self) -> &'static str {
        self.typed
    }

    /// The form of its value.
    pub const fn form(self) -> Form {
        self.form
    }

    /// The option with a value. A value that stands for others is quoted too: `ddl="FILE"`.
    pub const fn with<V: Display>(self, value: V) -> Setting<V> {
        Setting { option: self, value, others: &[] }
    }

    /// The option with one of several values: `--path stream or insert`.
    pub const fn with_any(self, values: &'static [&'static str]) -> Setting<&'static str> {
        match values {
            [value, others @ ..] => Setting { option: self, value, others },
            [] => self.with(""),
        }
    }

    fn show(self, face: Face, f: &mut Formatter<'_>) -> fmt::Result {
        match face {
            Face::CommandLine => f.write_str(self.typed),
            Face::Keyword => {
                let value = if self.form == Form::Flag { "True" } else { "" };
                write!(f, "{}={value}", self.name.replace('-', "_"))
            }
        }
    }
}

impl Display for OptionName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.show(Face::current(), f)
    }
}

/// An option with a value, or with one of several.
#[derive(Clone, Copy, Debug)]
pub struct Setting<V> {
    option: OptionName,
    value: V,
    others: &'static [&'static str],
}

impl<V: Display> Setting<V> {
    fn show(&self, face: Face, f: &mut Formatter<'_>) -> fmt::Result {
        self.option.show(face, f)?;
        if face == Face::CommandLine {
            f.write_str(if self.option.form == Form::Joined { "=" } else { " " })?;
        }
        show_value(&self.value, face, f)?;
        for (at, other) in self.others.iter().enumerate() {
            f.write_str(if at + 1 == self.others.len() { " or " } else { ", " })?;
            show_value(other, face, f)?;
        }
        Ok(())
    }
}

impl<V: Display> Display for Setting<V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.show(Face::current(), f)
    }
}

fn show_value(value: &impl Display, face: Face, f: &mut Formatter<'_>) -> fmt::Result {
    if face == Face::CommandLine {
        return write!(f, "{value}");
    }
    let text = value.to_string();
    // Quotes that a shell needs.
    let text = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(&text);
    match text.parse::<f64>() {
        Ok(_) => f.write_str(text),
        Err(_) => write!(f, "{text:?}"),
    }
}

/// A command of the program with an option, which may be a [`Setting`].
pub const fn call<O>(command: &'static str, option: O) -> Call<O> {
    Call { command, option }
}

/// The result of [`call`].
#[derive(Clone, Copy, Debug)]
pub struct Call<O> {
    command: &'static str,
    option: O,
}

impl<O: Display> Display for Call<O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Call { command, option } = self;
        match Face::current() {
            Face::CommandLine => write!(f, "inrush {command} {option}"),
            Face::Keyword => write!(f, "inrush.{command}({option})"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::option::{ALL, ON_DUPLICATE, PATH, REJECTS_MAX, SSL_MODE, UNLOGGED};
    use super::*;

    /// Both faces of what is shown, without choosing one for the process.
    struct In<F>(Face, F);

    impl<F: Fn(Face, &mut Formatter<'_>) -> fmt::Result> Display for In<F> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            self.1(self.0, f)
        }
    }

    fn both(show: impl Fn(Face, &mut Formatter<'_>) -> fmt::Result) -> [String; 2] {
        [Face::CommandLine, Face::Keyword].map(|face| In(face, &show).to_string())
    }

    #[test]
    fn each_face_writes_an_option_and_its_values_in_its_own_way() {
        let name = |option: OptionName| both(move |face, f| option.show(face, f));
        assert_eq!(name(REJECTS_MAX), ["--rejects-max", "rejects_max="]);
        assert_eq!(name(UNLOGGED), ["--unlogged", "unlogged=True"]);
        let direct = PATH.with("direct");
        assert_eq!(both(|face, f| direct.show(face, f)), ["--path direct", "path=\"direct\""]);
        let none = REJECTS_MAX.with(0);
        assert_eq!(both(|face, f| none.show(face, f)), ["--rejects-max 0", "rejects_max=0"]);
        let any = ON_DUPLICATE.with_any(&["skip", "replace", "update"]);
        assert_eq!(
            both(|face, f| any.show(face, f)),
            [
                "--on-duplicate skip, replace or update",
                "on_duplicate=\"skip\", \"replace\" or \"update\""
            ]
        );
        let mode = SSL_MODE.with("VERIFY_CA");
        assert_eq!(
            both(|face, f| mode.show(face, f)),
            ["--ssl-mode=VERIFY_CA", "ssl_mode=\"VERIFY_CA\""]
        );
    }

    #[test]
    fn no_option_is_listed_twice() {
        for (at, option) in ALL.iter().enumerate() {
            assert!(ALL[..at].iter().all(|before| before.name() != option.name()), "{option}");
        }
    }
}
