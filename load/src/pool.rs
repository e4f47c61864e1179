//! The workers of a stage.

use crate::stop::Stop;

/// Runs `work` in `threads` threads to its end.
///
/// The first worker that stops, by error or panic, has `close` called, which must wake and turn
/// away the others. Its reason is the result.
pub(crate) fn run(
    threads: usize,
    work: impl Fn() -> Result<(), Stop> + Sync,
    close: impl Fn() + Sync,
) -> Result<(), Stop> {
    let guarded = || {
        let guard = CloseOnPanic(&close);
        let outcome = work();
        if outcome.is_err() {
            close();
        }
        std::mem::forget(guard);
        outcome
    };
    let outcomes = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(guarded)).collect();
        let mut outcomes = vec![guarded()];
        for other in others {
            outcomes.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcomes
    });
    let mut abandoned = Ok(());
    for outcome in outcomes {
        match outcome {
            Ok(()) => {}
            Err(Stop::Abandoned) => abandoned = Err(Stop::Abandoned),
            stopped => return stopped,
        }
    }
    abandoned
}

struct CloseOnPanic<'a, F: Fn()>(&'a F);

impl<F: Fn()> Drop for CloseOnPanic<'_, F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::turn::Turnstile;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn the_reason_of_the_first_to_stop_counts_and_nobody_is_left_waiting() {
        let gate = Turnstile::new(());
        let next = AtomicU64::new(0);
        let outcome = run(
            4,
            || {
                let ticket = next.fetch_add(1, Ordering::Relaxed);
                if ticket == 0 {
                    return Err(Stop::Failed(Error::Usage("the reason".to_owned())));
                }
                gate.wait(ticket)?.pass();
                Ok(())
            },
            || gate.close(),
        );
        assert!(
            matches!(outcome, Err(Stop::Failed(Error::Usage(reason))) if reason == "the reason")
        );
    }
}
