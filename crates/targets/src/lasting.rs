//! Work beside which something begins once it has lasted a while.
//!
//! A load of hundreds of small tables has thousands of statements, and nearly all of them end within a millisecond.
//! None has a thread of its own from its begin on: one thread looks at the clock for all of them, and starts
//! what is to be beside those that last.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use disk::failpoint;
use locks::{Mutex, MutexGuard};

/// Between two looks at the clock.
const TICK: Duration = Duration::from_millis(100);
/// The thread ends once there has been no work for so long.
const IDLE_MAX: Duration = Duration::from_secs(2);

static WORKS: Mutex<Works> = Mutex::new(Works { all: Vec::new(), begun: 0, has_clock: false });

/// All work that is under way.
struct Works {
    all: Vec<Work>,
    /// How much has begun so far.
    begun: u64,
    /// True while a thread looks at the clock.
    has_clock: bool,
}

struct Work {
    number: u64,
    due: Instant,
    beside: Beside,
}

/// The part that begins beside a work.
enum Beside {
    /// Not begun. The receiver is disconnected at the end of the work.
    Waiting(Box<dyn FnOnce() + Send>),
    /// Begun, unless there was no room for a thread: the work goes on without it.
    Begun(Option<JoinHandle<()>>),
}

/// Runs `work`. If it lasts `quiet`, `beside` begins in a thread of its own. It is to end soon after its
/// receiver is disconnected, at the end of `work`, and is waited for.
pub(crate) fn run<T>(
    quiet: Duration,
    beside: impl FnOnce(&Receiver<()>) + Send + 'static,
    work: impl FnOnce() -> T,
) -> T {
    let (sender, ended) = channel::<()>();
    let _under_way = UnderWay::begin(quiet, Box::new(move || beside(&ended)), sender);
    work()
}

/// The end of a work, however it ends.
struct UnderWay {
    number: u64,
    ended: Option<Sender<()>>,
}

impl UnderWay {
    fn begin(quiet: Duration, beside: Box<dyn FnOnce() + Send>, ended: Sender<()>) -> UnderWay {
        let mut works = works();
        works.begun += 1;
        let number = works.begun;
        let due = Instant::now() + quiet;
        works.all.push(Work { number, due, beside: Beside::Waiting(beside) });
        if !works.has_clock {
            // Without it nothing begins beside the work, which goes on.
            let clock = Builder::new().name("waiting".to_owned()).spawn(look_at_clock);
            works.has_clock = clock.is_ok();
        }
        UnderWay { number, ended: Some(ended) }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.ended = None;
        let mut works = works();
        let at = works.all.iter().position(|work| work.number == self.number);
        let work = at.map(|at| works.all.swap_remove(at));
        drop(works);
        if let Some(Work { beside: Beside::Begun(Some(thread)), .. }) = work {
            // A panic there changes nothing of what was done.
            let _ = thread.join();
        }
    }
}

/// True while a thread looks at the clock, however that ends.
struct Clock;

impl Drop for Clock {
    fn drop(&mut self) {
        works().has_clock = false;
    }
}

fn look_at_clock() {
    let clock = Clock;
    failpoint::hit("thread.waiting");
    let mut idle_since = Instant::now();
    loop {
        std::thread::sleep(TICK);
        let mut works = works();
        let now = Instant::now();
        works.all.iter_mut().filter(|work| work.due <= now).for_each(Work::go_on);
        if !works.all.is_empty() {
            idle_since = now;
        } else if idle_since.elapsed() > IDLE_MAX {
            // Under the same lock, so that who begins now starts another.
            works.has_clock = false;
            std::mem::forget(clock);
            return;
        }
    }
}

impl Work {
    /// Begins what is to be beside it, if that has not begun.
    fn go_on(&mut self) {
        if let Beside::Waiting(_) = self.beside
            && let Beside::Waiting(beside) =
                std::mem::replace(&mut self.beside, Beside::Begun(None))
        {
            let thread = Builder::new().name("holders".to_owned()).spawn(beside);
            self.beside = Beside::Begun(thread.ok());
        }
    }
}

fn works() -> MutexGuard<'static, Works> {
    WORKS.lock()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::RecvTimeoutError;

    /// Runs works of such lengths at once; how often something was beside each.
    fn beside(lengths: &[Duration]) -> Vec<u32> {
        let quiet = Duration::from_millis(300);
        let one = |length: Duration| {
            let seen = Arc::new(AtomicU32::new(0));
            let counted = Arc::clone(&seen);
            let look = move |ended: &Receiver<()>| {
                counted.fetch_add(1, Ordering::SeqCst);
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(quiet) {}
                counted.fetch_add(10, Ordering::SeqCst);
            };
            run(quiet, look, || std::thread::sleep(length));
            seen.load(Ordering::SeqCst)
        };
        std::thread::scope(|scope| {
            let all: Vec<_> =
                lengths.iter().map(|&length| scope.spawn(move || one(length))).collect();
            all.into_iter().map(|work| work.join().unwrap_or(u32::MAX)).collect()
        })
    }

    #[test]
    fn something_begins_beside_work_that_lasts_and_is_waited_for() {
        let (short, long) = (Duration::ZERO, Duration::from_secs(2));
        assert_eq!(beside(&[short, long, short, long]), [0, 11, 0, 11]);
        // Other tests may have work under way.
        let begun = Instant::now();
        while works().has_clock {
            assert!(begun.elapsed() < Duration::from_secs(60), "the thread has not ended");
            std::thread::sleep(TICK);
        }
        assert_eq!(beside(&[long, short]), [11, 0]);
    }
}
