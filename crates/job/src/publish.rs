//! The step that every load into new tables ends with: they take the targets' places.

use server::identifier::TableName;
use targets::Lock;
use targets::publish::Filled;
use targets::relations::KeyChecks;
use targets::swapped::Swapped;

use crate::error::Error;
use crate::options::{LoadOptions, Mode};
use crate::pool;
use crate::steps::Steps;

/// Swaps the new tables in. `target` is what is loaded, for messages.
pub fn swap<'f>(
    filled: &'f mut Filled<'_>,
    target: &str,
    options: &LoadOptions,
) -> Result<Swapped<'f>, Error> {
    filled.ensure_session()?;
    let checks = if options.server.unchecked_keys { KeyChecks::None } else { KeyChecks::Rows };
    filled.publish(swap_mode(options.mode), checks).map_err(|error| match error {
        server::Error::Unanswered(_) => {
            let reason = error.to_string();
            Error::SwapUnknown { target: target.to_owned(), reason }
        }
        error => error.into(),
    })
}

/// Drops the old tables, which prove that the rows are in, once the journal says so. What goes wrong no
/// longer makes the load a failure: gives warnings.
pub fn finish(
    mut swapped: Swapped<'_>,
    steps: &mut Steps<'_>,
    options: &LoadOptions,
) -> Vec<String> {
    // The rows are in: no wish to stop takes them out again.
    let _shield = options.interrupt.shield();
    if let Err(error) = steps.rows_are_in() {
        return vec![unwritten(&swapped.asides()[0], &error)];
    }
    let (died, dropped) = pool::catch_again("publish.swapped", || Ok(swapped.drop_old()?));
    let kept = match dropped {
        Ok(()) => None,
        Err(error @ Error::Server(server::Error::Leftover(_))) => Some(error.to_string()),
        Err(error) => Some(match swapped.has_keys_left() {
            false => left(&swapped.asides(), &error),
            true => format!("foreign keys of other tables were not carried over: {error}"),
        }),
    };
    died.into_iter().chain(kept).collect()
}

/// What is said where the journal cannot be written to once the rows are in.
pub fn unwritten(proof: &TableName, error: &Error) -> String {
    format!(
        "all rows are in, but the journal could not be written to ({error}): {proof} stays, and tells the same \
         command that its rows are in"
    )
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

/// Rows are added to a table by another way: of one that is swapped in, the old table has none.
fn swap_mode(mode: Mode) -> Mode {
    if mode == Mode::Append { Mode::Insert } else { mode }
}
