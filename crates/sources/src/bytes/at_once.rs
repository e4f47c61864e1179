//! Work on several inputs at a time, as each waits for an answer of its server.

use std::sync::atomic::{AtomicUsize, Ordering};

use disk::failpoint;

/// The results of work on each item by some threads, in the order of the items.
///
/// Errors: the first of the work's, after which none is begun; `failed` if a thread panicked.
pub fn at_once<T: Sync, R: Send, E: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
    failed: impl FnOnce() -> E,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            let outcome = work(item);
            if outcome.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            done.push((at, outcome));
        }
    };
    let begin = || {
        failpoint::hit("thread.objects");
        work()
    };
    let each = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(begin)).collect();
        let mut each = vec![Ok(work())];
        // Each is waited for: one that has failed fails the scope otherwise.
        each.extend(threads.into_iter().map(|thread| thread.join()));
        each.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let Ok(each) = each else { return Err(failed()) };
    let mut done: Vec<_> = each.into_iter().flatten().collect();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
