//! Ctrl-C, at any moment: the process ends at once, and leaves nothing half written.
//!
//! A thread waits for the signal. It ends what is [watched](Watch::end), says what became of the budget and ends the process; nobody else needs to look
//! whether it is time to stop. Only a command listens: a library's caller has signals of its own.

use crate::watch::Watch;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The signal of a terminal that is closed, unless somebody who wants to go on beyond it (`nohup`) had it ignored; where that is not known it stays as it is.
fn hung_up() -> Option<i32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let ignored = u64::from_str_radix(ignored.trim(), 16).ok()?;
    // The first signal of them.
    (ignored & 1 == 0).then_some(1)
}

/// From now on Ctrl-C, the request to end, and the end of the terminal end the process in this way, with exit code 130, 143 or 129. `say` shows what is said. A file
/// that may not grow further is an error of that file, and no end of the process.
pub fn listen(watch: Watch, say: fn(&str)) {
    let signal = Arc::new(AtomicUsize::new(0));
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    for known in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM].into_iter().chain(hung_up()) {
        // Where there is no such signal the process ends as any other does.
        let _ = signal_hook::flag::register_usize(known, signal.clone(), known as usize);
    }
    let wait = move || loop {
        std::thread::sleep(Duration::from_millis(20));
        match signal.load(Ordering::Relaxed) {
            0 => {}
            signal => {
                let note = watch.end();
                say(&note.map_or("interrupted".into(), |note| format!("interrupted: {note}")));
                std::process::exit(128 + i32::try_from(signal).unwrap_or(2))
            }
        }
    };
    let _ = std::thread::Builder::new().name("interrupt".into()).spawn(wait);
}
