//! The step that every load into a new table ends with: it takes the target's place.

use server::publish::Filled;
use server::swap;

use crate::error::Error;
use crate::failpoint;
use crate::options::{LoadOptions, Mode};

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
    failpoint::hit("publish.swapped");
    match swapped.drop_old() {
        Ok(()) => Ok(Vec::new()),
        Err(error @ server::Error::Leftover(_)) => Ok(vec![error.to_string()]),
        Err(error) => Ok(vec![format!(
            "the old table, {}, could not be dropped, the next load of this table drops it: {error}",
            swapped.aside()
        )]),
    }
}

fn swap_mode(mode: Mode) -> swap::Mode {
    match mode {
        Mode::Insert | Mode::Append => swap::Mode::Insert,
        Mode::Replace => swap::Mode::Replace,
    }
}
