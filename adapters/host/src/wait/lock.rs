//! A lock that a panic does not spoil.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keeps what threads share. A panic while it is held locks nobody out: what it left behind is still a machine.
#[derive(Debug, Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
