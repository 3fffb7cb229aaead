//! Who waits for a long stage may hear how far it is. What is told depends on the spec or on what is published, never on rows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What is told of a stage: its name, how much of it is done, and how much there is.
pub type Told = fn(&'static str, u64, u64);

static HEARS: OnceLock<Told> = OnceLock::new();
/// Stages within stages, by their numbers: the innermost is told of.
static OPEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// From now on `told` hears of every stage.
pub fn listen(told: Told) {
    // Whoever listens first is the one.
    let _ = HEARS.set(told);
}

/// A stage, from its beginning until this is dropped.
pub struct Stage {
    name: &'static str,
    number: u64,
    done: AtomicU64,
    of: u64,
}

impl Stage {
    /// Begins one of so many parts.
    pub fn new(name: &'static str, of: u64) -> Stage {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if HEARS.get().is_some() {
            OPEN.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        }
        Stage { name, number, done: AtomicU64::new(0), of }
    }

    /// So many more of them are done.
    pub fn advance(&self, by: u64) {
        let done = self.done.fetch_add(by, Ordering::Relaxed) + by;
        let Some(told) = HEARS.get() else { return };
        let innermost = OPEN.lock().unwrap_or_else(PoisonError::into_inner).last() == Some(&self.number);
        if innermost {
            told(self.name, done.min(self.of), self.of);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let Some(told) = HEARS.get() else { return };
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).retain(|&open| open != self.number);
        told(self.name, self.of, self.of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static HEARD: Mutex<Vec<(&str, u64, u64)>> = Mutex::new(Vec::new());

    /// The only test of this process that listens; others may have stages meanwhile.
    #[test]
    fn the_innermost_is_told_of() {
        listen(|name, done, of| HEARD.lock().unwrap().push((name, done, of)));
        let outer = Stage::new("outer stage of this test", 3);
        outer.advance(1);
        {
            let inner = Stage::new("inner stage of this test", 10);
            outer.advance(1);
            inner.advance(4);
            inner.advance(100);
        }
        drop(outer);
        let heard = HEARD.lock().unwrap();
        let own: Vec<_> =
            heard.iter().filter(|h| h.0.ends_with("this test")).map(|h| (&h.0[..5], h.1, h.2)).collect();
        let inner = [("inner", 4, 10), ("inner", 10, 10), ("inner", 10, 10)];
        // Stages of other tests may be within these: then nothing is told before the end.
        assert!(own.contains(&inner[2]) && own.last() == Some(&("outer", 3, 3)), "{own:?}");
        assert!(own.iter().all(|h| inner.contains(h) || matches!(h, ("outer", 1 | 3, 3))), "{own:?}");
    }
}
