//! Ctrl-C, at any moment: the process ends at once, and leaves nothing half written.
//!
//! A thread waits for the signal. It ends what is [watched](Watch::end), says what became of the budget and ends the process; nobody else needs to look
//! whether it is time to stop. Only a command listens: a library's caller has signals of its own.

use crate::watch::Watch;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// From now on Ctrl-C, and the request to end, end the process in this way, with exit code 130 or 143. `say` shows what is said. The end of the terminal
/// is left as it is: whoever wants to go on beyond it (`nohup`) has asked for that before.
pub fn listen(watch: Watch, say: fn(&str)) {
    let signal = Arc::new(AtomicUsize::new(0));
    for known in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
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
