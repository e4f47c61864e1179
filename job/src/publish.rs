//! The step that every load into a new table ends with: it takes the target's place.

use server::{Target, publish};

use crate::error::Error;
use crate::failpoint;
use crate::options::{LoadOptions, Mode};

/// Swaps the new table in. What goes wrong after that no longer makes the load a failure.
pub fn publish(target: &mut Target, options: &LoadOptions) -> Result<Vec<String>, Error> {
    let mode = publish_mode(options.mode);
    target.ensure_session()?;
    target.publish(mode).map_err(|error| match error {
        server::Error::Unanswered(_) => {
            let (target, reason) = (target.table.name.to_string(), error.to_string());
            Error::SwapUnknown { target, reason }
        }
        error => error.into(),
    })?;
    // The rows are in: no wish to stop takes them out again.
    let _shield = options.interrupt.shield();
    failpoint::hit("publish.swapped");
    match target.drop_old(mode) {
        Ok(()) => Ok(Vec::new()),
        Err(error @ server::Error::Leftover(_)) => Ok(vec![error.to_string()]),
        Err(error) => Ok(vec![format!(
            "the old table, {}, could not be dropped, the next load of this table drops it: {error}",
            target.aside(mode)
        )]),
    }
}

fn publish_mode(mode: Mode) -> publish::Mode {
    match mode {
        Mode::Insert | Mode::Append => publish::Mode::Insert,
        Mode::Replace => publish::Mode::Replace,
    }
}
