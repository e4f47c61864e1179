//! Locks of threads that a panic does not poison.
//!
//! A panic of a worker ends its load by itself. The threads that clean up after it still need what the worker shared.
//! Names and functions are those of the standard library, whose guards these locks give.

#![forbid(unsafe_code)]

use std::sync::PoisonError;
use std::time::Duration;

pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// A value for one thread at a time.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

/// A condition for which the holder of a mutex waits.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

/// A value for many readers or one writer.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

impl<T> Mutex<T> {
    /// A mutex that nobody holds.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None while another thread holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Err(std::sync::TryLockError::WouldBlock) => None,
            Err(std::sync::TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Ok(guard) => Some(guard),
        }
    }

    /// The value, of a mutex that no other thread knows.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Condvar {
    /// A condition for which nobody waits.
    pub const fn new() -> Condvar {
        Condvar(std::sync::Condvar::new())
    }

    /// Wakes one of those that wait.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits until it is woken, by others or for no reason.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `is_waiting` is false.
    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        is_waiting: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_while(guard, is_waiting).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a while at most. The caller asks the value itself what has become of the condition.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until `is_waiting` is false, for a while at most.
    pub fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
        is_waiting: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_timeout_while(guard, time, is_waiting).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl<T> RwLock<T> {
    /// A lock that nobody holds.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(std::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for the value as one of many readers.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the value as its only holder.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_value_can_be_had_after_the_panic_of_its_holder() {
        let (mutex, rw_lock) = (Mutex::new(1), RwLock::new(1));
        let holder = || {
            let (mut a, mut b) = (mutex.lock(), rw_lock.write());
            (*a, *b) = (2, 2);
            panic!("of a test");
        };
        assert!(catch_unwind(AssertUnwindSafe(holder)).is_err());
        let guard = Condvar::new().wait_timeout(mutex.lock(), Duration::ZERO);
        assert_eq!((*guard, *rw_lock.read()), (2, 2));
        assert!(mutex.try_lock().is_none());
        drop(guard);
        assert_eq!(mutex.try_lock().as_deref(), Some(&2));
        assert_eq!(mutex.into_inner(), 2);
    }
}
