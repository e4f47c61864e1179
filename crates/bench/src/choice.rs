//! Values that options of the command line name: ways, steps, dumps.

/// A value that an option names.
pub trait Choice: Copy + 'static {
    /// Every value, in the order of printing.
    const ALL: &'static [Self];

    /// Name on the command line.
    fn short(self) -> &'static str;

    /// The values that were asked for, or all.
    fn chosen(asked: &[Self]) -> Vec<Self> {
        if asked.is_empty() { Self::ALL.to_vec() } else { asked.to_vec() }
    }

    /// The values that `option` was given by their names.
    ///
    /// Errors: a name that no value has, as a sentence.
    fn named(option: &str, names: &[String]) -> Result<Vec<Self>, String> {
        let of = |name: &String| {
            let found = Self::ALL.iter().copied().find(|one| one.short() == name);
            found.ok_or_else(|| {
                let all: Vec<&str> = Self::ALL.iter().map(|one| one.short()).collect();
                format!("{option}: {name:?} is none of {}", all.join(", "))
            })
        };
        names.iter().map(of).collect()
    }
}

/// Declares an enum whose values are a [`Choice`]: each with its name on the command line and, where that is
/// another one, its name for people. JSON has the values in snake case.
macro_rules! choices {
    (
        $(#[$about:meta])*
        $vis:vis enum $choice:ident {
            $($(#[$of:meta])* $value:ident = $short:literal $(, $name:literal)?;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
        #[serde(rename_all = "snake_case")]
        $vis enum $choice {
            $($(#[$of])* $value,)+
        }

        impl $crate::choice::Choice for $choice {
            const ALL: &'static [$choice] = &[$($choice::$value),+];

            fn short(self) -> &'static str {
                match self {
                    $($choice::$value => $short,)+
                }
            }
        }

        impl $choice {
            /// Name for people.
            $vis fn name(self) -> &'static str {
                match self {
                    $($choice::$value => {
                        const NAMES: &[&str] = &[$short $(, $name)?];
                        NAMES[NAMES.len() - 1]
                    })+
                }
            }
        }
    };
}
pub(crate) use choices;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    choices! {
        /// Two of them.
        enum Pet {
            /// One with a name of its own.
            HouseCat = "cat", "a cat";
            /// And one without.
            Dog = "dog";
        }
    }

    #[test]
    fn values_are_found_by_their_names() {
        assert_eq!(Pet::named("--pets", &[]).unwrap(), []);
        assert_eq!(Pet::named("--pets", &["dog".to_owned()]).unwrap(), [Pet::Dog]);
        let error = Pet::named("--pets", &["a cat".to_owned()]).unwrap_err();
        assert_eq!(error, "--pets: \"a cat\" is none of cat, dog");
        assert_eq!(
            (Pet::chosen(&[]), Pet::chosen(&[Pet::Dog])),
            (Pet::ALL.to_vec(), vec![Pet::Dog])
        );
        assert_eq!((Pet::HouseCat.name(), Pet::Dog.name()), ("a cat", "dog"));
        assert_eq!(serde_json::to_value(Pet::HouseCat).unwrap(), "house_cat");
    }
}
