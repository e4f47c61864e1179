//! Work on several inputs at a time, as each waits for an answer of its server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use disk::failpoint;

/// The results of work on each item by some threads, or by as many as the system gives, in the order of the items.
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
        let spawned =
            (1..threads.min(items.len())).map(|_| Builder::new().spawn_scoped(scope, begin));
        let threads: Vec<_> = spawned.map_while(Result::ok).collect();
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The variable by which threads get stacks of another size.
    const STACK: &str = "RUST_MIN_STACK";

    #[test]
    fn work_is_done_where_the_system_gives_no_thread() {
        if std::env::var_os(STACK).is_none() {
            let name = "at_once::tests::work_is_done_where_the_system_gives_no_thread";
            let mut alone = Command::new(std::env::current_exe().unwrap());
            // No address space has room for such a stack.
            let alone =
                alone.args([name, "--test-threads", "1"]).env(STACK, (1u64 << 60).to_string());
            let done = alone.output().unwrap();
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(done.status.success() && text.contains("1 passed"), "{done:?}");
            return;
        }
        let doubled = at_once(4, &[1, 2, 3], |item| Ok::<_, ()>(item * 2), || ());
        assert_eq!(doubled, Ok(vec![2, 4, 6]));
    }
}
