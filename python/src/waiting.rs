//! Ctrl-C, at any moment: work is done on a thread of its own, while the calling one waits without the global lock and looks for signals.

use crate::error::{self, Error};
use margins::{MakeError, Watch};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long nobody looks for signals.
const LOOK: Duration = Duration::from_millis(50);
/// How long work that was asked to stop may take before it is left to end by itself.
const PATIENCE: Duration = Duration::from_secs(1);
/// As much as the first thread of a process has.
const STACK: usize = 8 << 20;

/// What becomes of work whose caller was interrupted.
enum Ended<T> {
    Done(T),
    /// With what the handler of the signal raised, and what became of the work, where that is known.
    Interrupted(PyErr, Option<T>),
}

/// Does some work, which hears of Ctrl-C through its watch. `patience` is how long it is waited for then.
fn done<T: Send + 'static>(
    py: Python<'_>,
    watch: &Watch,
    patience: Option<Duration>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Ended<T>> {
    let (sender, receiver) = channel();
    let receiver = Mutex::new(receiver);
    let thread = std::thread::Builder::new().name("margins".into()).stack_size(STACK);
    let started = thread.spawn(move || drop(sender.send(work())));
    started.map_err(|e| Error::new_err(format!("no thread can be started: {e}")))?;
    let mut interrupted: Option<(PyErr, Instant)> = None;
    loop {
        let found = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK));
        let raised = match found {
            Ok(value) => {
                return Ok(match interrupted {
                    None => Ended::Done(value),
                    Some((raised, _)) => Ended::Interrupted(raised, Some(value)),
                });
            }
            // What it would have said stands on standard error.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new_err("this is a defect of margins, and no answer: please report it"));
            }
            Err(RecvTimeoutError::Timeout) => py.check_signals().err(),
        };
        match (raised, &interrupted) {
            (Some(raised), None) => {
                watch.stop();
                interrupted = Some((raised, Instant::now()));
            }
            // Who asks twice does not want to wait.
            (Some(raised), Some(_)) => return Ok(Ended::Interrupted(raised, None)),
            (None, Some((_, since))) if patience.is_some_and(|most| since.elapsed() > most) => {
                if let Some((raised, _)) = interrupted {
                    return Ok(Ended::Interrupted(raised, None));
                }
            }
            (None, _) => {}
        }
    }
}

/// Reads and computes. Interrupted, it is left to end by itself: nobody hears of it any more.
pub fn reading<T: Send + 'static, E: std::error::Error + Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    match done(py, &Watch::default(), Some(Duration::ZERO), work)? {
        Ended::Done(value) => value.map_err(error::of),
        Ended::Interrupted(raised, _) => Err(raised),
    }
}

/// Plans: interrupted, it comes back soon.
pub fn planning<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Watch) -> Result<T, MakeError> + Send + 'static,
) -> PyResult<T> {
    let watch = Watch::default();
    let own = watch.clone();
    match done(py, &watch, Some(PATIENCE), move || work(&own))? {
        Ended::Done(value) => value.map_err(error::made),
        Ended::Interrupted(raised, _) => Err(raised),
    }
}

/// Makes a release: interrupted, it is waited for until it is known what was charged and what is left, and the exception says so.
pub fn making<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Watch) -> Result<T, MakeError> + Send + 'static,
) -> PyResult<T> {
    let watch = Watch::default();
    let own = watch.clone();
    let ended = done(py, &watch, None, move || work(&own))?;
    let (raised, became) = match ended {
        Ended::Done(value) => return value.map_err(error::made),
        Ended::Interrupted(raised, became) => (raised, became),
    };
    let note = match became {
        Some(Err(MakeError::Stopped(note))) => Some(note),
        Some(_) => watch.noted(),
        None => Some("it may not have ended yet: the ledger says what was charged".to_owned()),
    };
    match note.filter(|_| raised.is_instance_of::<PyKeyboardInterrupt>(py)) {
        Some(note) => Err(PyKeyboardInterrupt::new_err(note)),
        None => Err(raised),
    }
}
