//! The step that every load ends with: all its rows appear at once.
//!
//! ```text
//! RENAME, COMMIT or a decision -> the journal says that the rows are in -> old tables and proof go
//! ```
//!
//! If it is killed in between, something on the server proves that the rows are in until the journal says so
//! on disk, and the next load that meets it finishes the load. Failures behind the first arrow are warnings.

use schema::TableName;

use crate::error::Error;
use crate::pool;
use crate::progress::Stage;
use crate::steps::Steps;

/// Loaded rows that no other connection sees yet.
pub trait Publish {
    /// The table, or the tables, for messages.
    fn target(&self) -> String;

    /// Has the rows appear, all at once.
    ///
    /// Errors: none has appeared; one of [`Error::is_told`] where that is not so, or not known.
    fn publish(&mut self) -> Result<(), Error>;

    /// True if the rows have appeared. The server is asked after a panic in the publishing.
    ///
    /// Errors: the server cannot tell.
    fn is_published(&mut self) -> server::Result<bool>;

    /// The error of a load whose rows may have appeared or not.
    fn unknown(&self, reason: String) -> Error;

    /// The table that proves it, where there is one.
    fn proof(&self) -> Option<TableName>;

    /// Removes what proves it, and what the rows have replaced. Gives warnings.
    fn clean_up(&mut self) -> Vec<String>;

    /// Notes what others will notice where that is left to the next load.
    fn leave(&mut self) {}
}

/// The step that publishes all rows of a load; gives warnings.
///
/// Errors: those of [`Publish::publish`]; [`Error::AllIn`] where a panic came behind it.
pub fn publish(steps: &mut Steps<'_>, rows: &mut dyn Publish) -> Result<Vec<String>, Error> {
    let interrupt = steps.interrupt.clone();
    let published = pool::catch(|| steps.last_step(Stage::Publish, || rows.publish()));
    let mut warnings = published.unwrap_or_else(|died| {
        let _shield = interrupt.shield();
        Err(after_panic(rows, died))
    })?;
    // The rows are in: no wish to stop takes them out again.
    let _shield = interrupt.shield();
    match (steps.rows_are_in(), rows.proof()) {
        (Ok(()), _) => match pool::catch(|| rows.clean_up()) {
            Ok(left) => warnings.extend(left),
            Err(died) => warnings.push(format!(
                "{died}; all rows are loaded, and the next load removes the leftovers of this load"
            )),
        },
        (Err(error), Some(proof)) => {
            warnings.push(unwritten(&proof, &error));
            let _ = pool::catch(|| rows.leave());
        }
        (Err(error), None) => warnings.push(error.to_string()),
    }
    Ok(warnings)
}

/// The error of a load that panicked while it was published: the server knows whether the rows have appeared.
fn after_panic(rows: &mut dyn Publish, died: Error) -> Error {
    match rows.is_published() {
        Ok(false) => died,
        Ok(true) => Error::AllIn { error: Box::new(died), target: rows.target() },
        Err(error) => rows.unknown(format!("{died}; {error}")),
    }
}

/// The warning about a journal that could not be written to after the rows were published.
pub fn unwritten(proof: &TableName, error: &Error) -> String {
    format!(
        "all rows are loaded, but the journal could not be written ({error}): table {proof} \
         stays, so that the same command does not load the rows again"
    )
}
