//! Work shared among threads, whose number changes nothing of what comes out.

use std::sync::{Mutex, PoisonError};

/// Does something with each of the parts, on so many threads. Where there are no threads (in a browser) it is done on this one.
pub(super) fn each<T: Send>(threads: usize, parts: impl Iterator<Item = T> + Send, does: impl Fn(T) + Sync) {
    if threads <= 1 {
        return parts.for_each(does);
    }
    let parts = Mutex::new(parts);
    let work = || {
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(part) = part else { return };
            does(part);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn every_part_once() {
        for threads in [0, 1, 3] {
            let mut all = vec![0u32; 100];
            each(threads, all.iter_mut().enumerate(), |(i, one)| *one += i as u32);
            assert_eq!(all, (0..100).collect::<Vec<_>>());
        }
    }
}
