//! A job with a journal, whatever is done in it.

use std::sync::mpsc::Sender;

use job::error::Error;
use job::options::LoadOptions;
use job::pool;
use job::progress::{Progress, Stage, telling};
use job::steps::Steps;
use job::tuning;
use server::ConnectOptions;

/// A job from the first line of its journal to the last: `work` is done with connections that end
/// when they are asked to, and what it waits for is told.
pub fn job<T>(
    connect: &ConnectOptions,
    options: &LoadOptions,
    target: &str,
    progress: &dyn Progress,
    work: impl FnOnce(&ConnectOptions, &mut Steps<'_>, Sender<String>) -> Result<T, Error>,
) -> Result<T, Error> {
    let connect = ConnectOptions {
        interrupt: options.interrupt.clone(),
        ..tuning::for_load(connect, options)
    };
    let _watcher = options.interrupt.watch(&connect);
    tuning::recover(&connect, &options.state_dir).iter().for_each(|text| progress.note(text));
    let server = connect.server_text();
    let (command, interrupt) = (options.command.as_ref(), options.interrupt.clone());
    let mut steps =
        Steps::begin(&options.state_dir, target, command, &server, progress, interrupt)?;
    let outcome = telling(progress, |told| {
        let connect = ConnectOptions { notices: Some(told.clone()), ..connect };
        pool::catch(|| work(&connect, &mut steps, told)).flatten()
    })
    .map_err(|error| steps.explain(unbegun(error, &steps)));
    steps.end(&outcome);
    outcome
}

/// A mistake of ours before anything was begun says so.
fn unbegun(error: Error, steps: &Steps<'_>) -> Error {
    match error {
        Error::Internal(_) if steps.stage == Stage::Inspect => {
            let state = format!("{} is unchanged; the load had not begun", steps.target());
            Error::Step { step: steps.stage.name(), error: Box::new(error), state, clean: true }
        }
        error => error,
    }
}
