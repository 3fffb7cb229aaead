//! Ctrl-C, at any moment: the process ends at once, and leaves nothing half written.
//!
//! A thread waits for the signal. It removes whatever file is not whole yet, says what became of the budget and ends the process; nobody else needs to look
//! whether it is time to stop. What must not be ended in its middle (a line of the ledger, the renaming of finished files) is done
//! [`whole`]: the thread waits for it, and it takes moments.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

static STATE: Mutex<State> =
    Mutex::new(State { busy: 0, leaving: false, files: Vec::new(), folders: Vec::new(), note: None });
static FREE: Condvar = Condvar::new();

struct State {
    /// How many threads do what must not be ended in its middle.
    busy: usize,
    leaving: bool,
    /// Files and folders that go when the process is ended.
    files: Vec<PathBuf>,
    /// Folders that this process made, the outer ones first: what is empty of them goes, too.
    folders: Vec<PathBuf>,
    /// What is said then.
    note: Option<String>,
}

thread_local! {
    /// How often this thread is in the middle of something.
    static DEPTH: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nothing more happens on this thread: another one is ending the process.
fn never() -> ! {
    loop {
        std::thread::park();
    }
}

/// Does what must not be ended in its middle. If the process is to end, it does so before or after.
pub fn whole<T>(work: impl FnOnce() -> T) -> T {
    struct Busy;
    impl Drop for Busy {
        fn drop(&mut self) {
            let depth = DEPTH.get() - 1;
            DEPTH.set(depth);
            if depth > 0 {
                return;
            }
            let mut state = state();
            state.busy -= 1;
            let leaving = state.leaving;
            drop(state);
            FREE.notify_all();
            if leaving {
                never();
            }
        }
    }
    if DEPTH.get() == 0 {
        let mut state = state();
        if state.leaving {
            drop(state);
            never();
        }
        state.busy += 1;
    }
    DEPTH.set(DEPTH.get() + 1);
    let _busy = Busy;
    work()
}

/// What is said of the state of things if the process is ended from now on.
pub fn note(text: impl Into<String>) {
    state().note = Some(text.into());
}

/// A file or folder that is not to outlive the process, until this is dropped.
#[derive(Debug)]
pub struct Passing(PathBuf);

impl Passing {
    /// Make the file and this in one [`whole`].
    pub fn new(path: &Path) -> Passing {
        state().files.push(path.to_owned());
        Passing(path.to_owned())
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let mut state = state();
        if let Some(at) = state.files.iter().position(|file| *file == self.0) {
            state.files.swap_remove(at);
        }
    }
}

/// Folders that this process made: those with nothing in them go when this is dropped, or when the process is ended.
#[derive(Debug)]
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// Makes a folder, and those that it is in, where they are not there.
    pub fn make(path: &Path) -> std::io::Result<Folders> {
        let absent = path.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let mut made: Vec<PathBuf> =
            absent.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        made.reverse();
        whole(|| {
            std::fs::create_dir_all(path)?;
            state().folders.extend(made.iter().cloned());
            Ok(Folders(made))
        })
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        state().folders.retain(|folder| !self.0.contains(folder));
        remove_empty(&self.0);
    }
}

/// A folder that holds something is left: then it cannot be removed.
fn remove_empty(folders: &[PathBuf]) {
    folders.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
}

/// From now on Ctrl-C, and the request to end, end the process in this way, with exit code 130 or 143. `say` shows what is said. The end of the terminal
/// is left as it is: whoever wants to go on beyond it (`nohup`) has asked for that before.
pub fn listen(say: fn(&str)) {
    static LISTENING: OnceLock<()> = OnceLock::new();
    if LISTENING.set(()).is_err() {
        return;
    }
    let signal = Arc::new(AtomicUsize::new(0));
    for known in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // Where there is no such signal the process ends as any other does.
        let _ = signal_hook::flag::register_usize(known, signal.clone(), known as usize);
    }
    let wait = move || loop {
        std::thread::sleep(Duration::from_millis(20));
        match signal.load(Ordering::Relaxed) {
            0 => {}
            signal => leave(signal, say),
        }
    };
    let _ = std::thread::Builder::new().name("interrupt".into()).spawn(wait);
}

fn leave(signal: usize, say: fn(&str)) -> ! {
    let mut state = state();
    state.leaving = true;
    while state.busy > 0 {
        state = FREE.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    for file in state.files.drain(..) {
        let _ = if file.is_dir() { std::fs::remove_dir_all(&file) } else { std::fs::remove_file(&file) };
    }
    remove_empty(&state.folders);
    say(&state.note.take().map_or("interrupted".into(), |note| format!("interrupted: {note}")));
    // Nobody begins anything any more: the state stays locked.
    std::process::exit(128 + i32::try_from(signal).unwrap_or(2))
}
