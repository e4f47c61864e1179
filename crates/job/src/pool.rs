//! The workers of a stage.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::Scope;

use locks::Mutex;

use crate::error::Error;
use crate::failpoint;
use crate::stop::Reason;

/// Runs `work` in `threads` threads to its end.
///
/// The first worker that stops, by error or panic, has `close` called, which must wake and turn
/// away the others. Its reason is the result.
pub fn run<R: Reason>(
    threads: usize,
    work: impl Fn() -> Result<(), R> + Sync,
    close: impl Fn() + Sync,
) -> Result<(), R> {
    let work = |next: &dyn Fn()| {
        next();
        work()
    };
    run_growing(threads, work, close)
}

/// The same in as few threads as are needed, at most `threads`: each worker gets a function that has one
/// more begin, if it is called for the first time.
pub fn run_growing<R: Reason>(
    threads: usize,
    work: impl Fn(&dyn Fn()) -> Result<(), R> + Sync,
    close: impl Fn() + Sync,
) -> Result<(), R> {
    let team = Team { threads, work, close, outcomes: Mutex::new(Vec::new()) };
    std::thread::scope(|scope| team.work_at(1, scope));
    let mut abandoned = Ok(());
    for outcome in team.outcomes.into_inner() {
        match outcome {
            Ok(()) => {}
            Err(reason) if reason.is_abandoned() => abandoned = Err(reason),
            stopped => return stopped,
        }
    }
    abandoned
}

/// Workers, each of which may have the next begin.
struct Team<R, W, C> {
    threads: usize,
    work: W,
    close: C,
    outcomes: Mutex<Vec<Result<(), R>>>,
}

impl<R, W, C> Team<R, W, C>
where
    R: Reason,
    W: Fn(&dyn Fn()) -> Result<(), R> + Sync,
    C: Fn() + Sync,
{
    /// Has worker `number` (1, 2, ..) work to the end, in this thread.
    fn work_at<'scope>(&'scope self, number: usize, scope: &'scope Scope<'scope, '_>) {
        let has_next = Cell::new(number < self.threads);
        let next = || {
            if has_next.replace(false) {
                scope.spawn(move || self.work_at(number + 1, scope));
            }
        };
        let outcome = catch(|| (self.work)(&next)).unwrap_or_else(|error| Err(R::from(error)));
        if outcome.is_err() {
            (self.close)();
        }
        self.outcomes.lock().push(outcome);
    }
}

/// The results of `work` for each of `all`, in their order, in at most so many threads.
///
/// Errors: a panic in one of them; those that were not begun then are left.
pub fn map<T: Send, U: Send>(
    threads: usize,
    all: Vec<T>,
    work: impl Fn(T) -> U + Sync,
) -> Result<Vec<U>, Error> {
    let count = all.len();
    let (queue, done) = (Mutex::new(all.into_iter().enumerate()), Mutex::new(Vec::new()));
    let died = Mutex::new(None);
    let next = || queue.lock().next().filter(|_| died.lock().is_none());
    let work_all = || {
        while let Some((at, one)) = next() {
            match catch(|| work(one)) {
                Ok(given) => done.lock().push((at, given)),
                Err(error) => drop(died.lock().replace(error)),
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads.min(count)).for_each(|_| drop(scope.spawn(work_all)));
        work_all();
    });
    if let Some(error) = died.into_inner() {
        return Err(error);
    }
    let mut done = done.into_inner();
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, given)| given).collect())
}

/// The result of `work`, or an error that names the place of its panic: a load must clean up after
/// a bug of ours as after anything else.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    // What a worker shares is behind locks, and nobody goes on with it after a failure.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| internal(&*panic))
}

/// The result of `work` that must be done though a load is through; it is called once more if it
/// panics, with a warning. `place` is its failpoint's, at the first try.
pub fn catch_again<T>(
    place: &str,
    mut work: impl FnMut() -> Result<T, Error>,
) -> (Option<String>, Result<T, Error>) {
    let first = catch(|| {
        failpoint::hit(place);
        work()
    });
    match first {
        Ok(done) => (None, done),
        Err(died) => (Some(format!("{died}; all rows are loaded")), catch(work).flatten()),
    }
}

/// The error of a thread that panicked.
pub fn internal(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    Error::Internal(text.unwrap_or("a panic without a message").to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::stop::Stop;
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

    #[test]
    fn workers_begin_when_one_before_needs_them() {
        for (wanted, threads, begun) in [(1, 64, 1), (3, 64, 3), (64, 2, 2), (5, 5, 5)] {
            let (left, workers) = (AtomicU64::new(wanted), AtomicU64::new(0));
            let take = || {
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            };
            let work = |next: &dyn Fn()| {
                workers.fetch_add(1, Ordering::SeqCst);
                // Each has one thing to do, and leaves more to the next.
                if take().is_ok() && left.load(Ordering::SeqCst) > 0 {
                    next();
                    next();
                }
                Ok::<_, Stop>(())
            };
            run_growing(threads, work, || {}).unwrap();
            assert_eq!(workers.into_inner(), begun, "{wanted} of {threads}");
        }
    }

    #[test]
    fn of_each_thing_there_is_what_came_of_it_in_their_order() {
        for threads in [1, 2, 7] {
            let doubled = map(threads, (0..100).collect(), |number: usize| 2 * number).unwrap();
            assert_eq!(doubled, (0..200).step_by(2).collect::<Vec<_>>());
            assert!(map(threads, Vec::new(), |(): ()| ()).unwrap().is_empty());
            let dies = |number: usize| assert!(number != 5, "five");
            let error = map(threads, (0..100).collect(), dies).unwrap_err();
            assert!(error.to_string().contains("five"), "{error}");
        }
    }

    #[test]
    fn a_panic_is_an_error_and_nobody_is_left_waiting() {
        let gate = Turnstile::new(());
        let next = AtomicU64::new(0);
        let outcome = run(
            3,
            || {
                let ticket = next.fetch_add(1, Ordering::Relaxed);
                assert!(ticket > 0, "the bug");
                gate.wait(ticket)?.pass();
                Ok(())
            },
            || gate.close(),
        );
        assert!(matches!(outcome, Err(Stop::Failed(Error::Internal(text))) if text == "the bug"));
    }
}
