//! The step that every load into new tables ends with: they take the targets' places.

use server::identifier::TableName;
use targets::publish::Filled;
use targets::relations::KeyChecks;
use targets::{Lock, swap};

use crate::error::Error;
use crate::options::{LoadOptions, Mode};
use crate::pool;

/// Swaps the new tables in. What goes wrong after that no longer makes the load a failure. `target`
/// is what is loaded, for messages.
pub fn publish(
    filled: &mut Filled<'_>,
    target: &str,
    options: &LoadOptions,
) -> Result<Vec<String>, Error> {
    filled.ensure_session()?;
    let checks = if options.unchecked_keys { KeyChecks::None } else { KeyChecks::Rows };
    let swapped = filled.publish(swap_mode(options.mode), checks).map_err(|error| match error {
        server::Error::Unanswered(_) => {
            let reason = error.to_string();
            Error::SwapUnknown { target: target.to_owned(), reason }
        }
        error => error.into(),
    });
    let mut swapped = swapped?;
    // The rows are in: no wish to stop takes them out again.
    let _shield = options.interrupt.shield();
    let (died, dropped) = pool::catch_again("publish.swapped", || Ok(swapped.drop_old()?));
    let kept = match dropped {
        Ok(()) => None,
        Err(error @ Error::Server(server::Error::Leftover(_))) => Some(error.to_string()),
        Err(error) => {
            let left = left(&swapped.asides(), &error);
            Some(match swapped.is_referred_to() {
                false => left,
                true => {
                    format!("{left}; foreign keys of other tables may refer to old rows until then")
                }
            })
        }
    };
    Ok(died.into_iter().chain(kept).collect())
}

/// What is to be said of a panic, `died`, in the step that publishes `name`, of which `target` is one
/// or the only table: the server is asked whether the new table has its place.
pub fn died(target: &mut Lock, name: &str, died: Error) -> Error {
    let is_published = target.is_published();
    told(name, died, is_published, |target, reason| Error::SwapUnknown { target, reason })
}

/// As [`died`], where it is known, or not, whether all rows are in.
pub fn told(
    name: &str,
    died: Error,
    are_in: Result<bool, server::Error>,
    unknown: impl FnOnce(String, String) -> Error,
) -> Error {
    let target = name.to_owned();
    match are_in {
        Ok(false) => died,
        Ok(true) => Error::AllIn { error: Box::new(died), target },
        Err(error) => unknown(target, format!("{died}; {error}")),
    }
}

/// What is said of old tables that are there still.
fn left(asides: &[TableName], error: &Error) -> String {
    match asides {
        [aside] => format!(
            "the old table, {aside}, could not be dropped, the next load of this table drops it: {error}"
        ),
        asides => format!(
            "old tables, {} and others like it, could not be dropped, the next load of each table drops \
             its: {error}",
            asides[0]
        ),
    }
}

fn swap_mode(mode: Mode) -> swap::Mode {
    match mode {
        Mode::Insert | Mode::Append => swap::Mode::Insert,
        Mode::Replace => swap::Mode::Replace,
    }
}
