//! The step that every load into a new table ends with: it takes the target's place.

use server::publish::Filled;
use server::{Lock, swap};

use crate::error::Error;
use crate::options::{LoadOptions, Mode};
use crate::pool;

/// Swaps the new table in. What goes wrong after that no longer makes the load a failure.
pub fn publish(mut filled: Filled<'_>, options: &LoadOptions) -> Result<Vec<String>, Error> {
    let target = filled.lock.table.name.to_string();
    filled.ensure_session()?;
    let swapped = filled.publish(swap_mode(options.mode)).map_err(|error| match error {
        server::Error::Unanswered(_) => {
            let reason = error.to_string();
            Error::SwapUnknown { target, reason }
        }
        error => error.into(),
    });
    let mut swapped = swapped?;
    // The rows are in: no wish to stop takes them out again.
    let _shield = options.interrupt.shield();
    let (died, dropped) = pool::catch_again("publish.swapped", || Ok(swapped.drop_old()?));
    let left = match dropped {
        Ok(()) => None,
        Err(error @ Error::Server(server::Error::Leftover(_))) => Some(error.to_string()),
        Err(error) => Some(format!(
            "the old table, {}, could not be dropped, the next load of this table drops it: {error}",
            swapped.aside()
        )),
    };
    Ok(died.into_iter().chain(left).collect())
}

/// What is to be said of a panic, `died`, in the step that publishes: the server is asked whether the
/// new table has its place.
pub fn died(target: &mut Lock, died: Error) -> Error {
    let is_published = target.is_published();
    told(target, died, is_published, |target, reason| Error::SwapUnknown { target, reason })
}

/// As [`died`], where it is known, or not, whether all rows are in.
pub fn told(
    target: &Lock,
    died: Error,
    are_in: Result<bool, server::Error>,
    unknown: impl FnOnce(String, String) -> Error,
) -> Error {
    let target = target.table.name.to_string();
    match are_in {
        Ok(false) => died,
        Ok(true) => Error::AllIn { error: Box::new(died), target },
        Err(error) => unknown(target, format!("{died}; {error}")),
    }
}

fn swap_mode(mode: Mode) -> swap::Mode {
    match mode {
        Mode::Insert | Mode::Append => swap::Mode::Insert,
        Mode::Replace => swap::Mode::Replace,
    }
}
