//! What long work is given beside its input: who hears how far it is, whether it is to stop, and what must not outlive it.
//!
//! A [`Watch`] is a value like any other, handed from whoever starts the work to whoever does it; several pieces of work in one process do
//! not know of each other. What it tells depends on the spec or on what is published, never on rows.
//!
//! Work stops in two ways. Whoever goes on afterwards says [`Watch::stop`]: the work looks at [`Watch::is_stopped`] now and then, and comes back
//! with an error, whose owners clean up as after any error. A process that ends at once says [`Watch::end`]: whatever file is not whole yet goes, and
//! nobody needs to look. What must not be ended in its middle (a line of the ledger, the renaming of finished files) is done [`Watch::whole`]; it
//! takes moments.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Hears of a stage: its name, how much of it is done, and how much there is.
type Hear = dyn Fn(&'static str, u64, u64) + Send + Sync;

/// Hears how far work is, and may stop it. Copies are of one watch; the default hears nothing.
///
/// ```
/// use margins_evaluator::watch::Watch;
/// let watch = Watch::hearing(|stage, done, of| println!("{stage}: {done} of {of}"));
/// let other = watch.clone();
/// std::thread::spawn(move || other.stop()).join().expect("it only stops");
/// assert!(watch.is_stopped());
/// ```
#[derive(Clone, Default)]
pub struct Watch(Arc<Inner>);

#[derive(Default)]
struct Inner {
    hears: Option<Box<Hear>>,
    stopped: AtomicBool,
    /// Stages within stages, by their numbers: the innermost is told of.
    open: Mutex<Vec<u64>>,
    next: AtomicU64,
    ending: Mutex<Ending>,
    free: Condvar,
}

/// What the end of the process waits for, and takes away.
#[derive(Default)]
struct Ending {
    /// The threads that do what must not be ended in its middle, and how deep they are in it.
    busy: Vec<(ThreadId, usize)>,
    leaving: bool,
    /// Files and folders that go when the process is ended.
    files: Vec<PathBuf>,
    /// Folders that this work made, the outer ones first: what is empty of them goes, too.
    folders: Vec<PathBuf>,
    /// What is said then.
    note: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nothing more happens on this thread: another one is ending the process.
fn never() -> ! {
    loop {
        thread::park();
    }
}

impl Watch {
    /// A watch that hears of every stage, on whatever thread does the work.
    pub fn hearing(hears: impl Fn(&'static str, u64, u64) + Send + Sync + 'static) -> Watch {
        Watch(Arc::new(Inner { hears: Some(Box::new(hears)), ..Inner::default() }))
    }

    /// Asks the work to come back soon, with an error.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to come back: what it has so far is thrown away.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Tells how far a stage is.
    pub fn tell(&self, stage: &'static str, done: u64, of: u64) {
        if let Some(hears) = &self.0.hears {
            hears(stage, done.min(of), of);
        }
    }

    /// Begins a stage of so many parts.
    pub fn stage(&self, name: &'static str, of: u64) -> Stage {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        if self.0.hears.is_some() {
            lock(&self.0.open).push(number);
        }
        Stage { watch: self.clone(), name, number, done: AtomicU64::new(0), of }
    }

    /// Does what must not be ended in its middle. If the process is to end, it does so before or after.
    pub fn whole<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Busy<'w>(&'w Inner);
        impl Drop for Busy<'_> {
            fn drop(&mut self) {
                let (own, mut ending) = (thread::current().id(), lock(&self.0.ending));
                let Some(at) = ending.busy.iter().position(|(thread, _)| *thread == own) else { return };
                ending.busy[at].1 -= 1;
                if ending.busy[at].1 > 0 {
                    return;
                }
                ending.busy.swap_remove(at);
                let leaving = ending.leaving;
                drop(ending);
                self.0.free.notify_all();
                if leaving {
                    never();
                }
            }
        }
        let (own, mut ending) = (thread::current().id(), lock(&self.0.ending));
        let leaving = ending.leaving;
        match ending.busy.iter_mut().find(|(thread, _)| *thread == own) {
            Some((_, depth)) => *depth += 1,
            None if leaving => {
                drop(ending);
                never();
            }
            None => ending.busy.push((own, 1)),
        }
        drop(ending);
        let _busy = Busy(&self.0);
        work()
    }

    /// Notes how things stand if the work is stopped from now on.
    pub fn note(&self, text: impl Into<String>) {
        lock(&self.0.ending).note = Some(text.into());
    }

    /// The last [note](Watch::note).
    pub fn noted(&self) -> Option<String> {
        lock(&self.0.ending).note.clone()
    }

    /// A file or folder that is not to outlive the process, until what is given back is dropped. Make it in one [`Watch::whole`] with this.
    pub fn passing(&self, path: &Path) -> Passing {
        lock(&self.0.ending).files.push(path.to_owned());
        Passing { watch: self.clone(), path: path.to_owned() }
    }

    /// Makes a folder, and those that it is in, where they are not there.
    pub fn folders(&self, path: &Path) -> std::io::Result<Folders> {
        self.whole(|| {
            let made: Vec<PathBuf> =
                crate::files::folders(path)?.into_iter().rev().map(Path::to_owned).collect();
            lock(&self.0.ending).folders.extend(made.iter().cloned());
            Ok(Folders { watch: self.clone(), made })
        })
    }

    /// Before the process ends: waits for what is done [whole](Watch::whole), lets nobody begin such work, takes away what is half done, and gives
    /// back the last [note](Watch::note).
    #[cfg(any(test, feature = "compile"))]
    pub(crate) fn end(&self) -> Option<String> {
        let mut ending = lock(&self.0.ending);
        ending.leaving = true;
        while !ending.busy.is_empty() {
            ending = self.0.free.wait(ending).unwrap_or_else(PoisonError::into_inner);
        }
        for file in ending.files.drain(..) {
            let _ = if file.is_dir() { std::fs::remove_dir_all(&file) } else { std::fs::remove_file(&file) };
        }
        remove_empty(&ending.folders);
        ending.note.take()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}

/// A stage, from its beginning until this is dropped.
#[derive(Debug)]
pub struct Stage {
    watch: Watch,
    name: &'static str,
    number: u64,
    done: AtomicU64,
    of: u64,
}

impl Stage {
    /// So many more of its parts are done.
    pub fn advance(&self, by: u64) {
        let done = self.done.fetch_add(by, Ordering::Relaxed) + by;
        let heard = self.watch.0.hears.is_some();
        if heard && lock(&self.watch.0.open).last() == Some(&self.number) {
            self.watch.tell(self.name, done, self.of);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.watch.0.hears.is_some() {
            lock(&self.watch.0.open).retain(|&open| open != self.number);
            self.watch.tell(self.name, self.of, self.of);
        }
    }
}

/// See [`Watch::passing`].
#[derive(Debug)]
pub struct Passing {
    watch: Watch,
    path: PathBuf,
}

impl Drop for Passing {
    fn drop(&mut self) {
        let files = &mut lock(&self.watch.0.ending).files;
        if let Some(at) = files.iter().position(|file| *file == self.path) {
            files.swap_remove(at);
        }
    }
}

/// Folders that were made: those with nothing in them go when this is dropped, or when the process is ended. See [`Watch::folders`].
#[derive(Debug)]
pub struct Folders {
    watch: Watch,
    made: Vec<PathBuf>,
}

impl Drop for Folders {
    fn drop(&mut self) {
        lock(&self.watch.0.ending).folders.retain(|folder| !self.made.contains(folder));
        remove_empty(&self.made);
    }
}

/// A folder that holds something is left: then it cannot be removed.
fn remove_empty(folders: &[PathBuf]) {
    folders.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_is_told_of() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let own = heard.clone();
        let watch = Watch::hearing(move |name, done, of| lock(&own).push((name, done, of)));
        let outer = watch.stage("outer", 3);
        outer.advance(1);
        {
            let inner = watch.stage("inner", 10);
            outer.advance(1);
            inner.advance(4);
            inner.advance(100);
        }
        drop(outer);
        let inner = [("inner", 4, 10), ("inner", 10, 10), ("inner", 10, 10)];
        assert_eq!(*lock(&heard), [&[("outer", 1, 3)], &inner[..], &[("outer", 3, 3)]].concat());
    }

    #[test]
    fn watches_do_not_know_of_each_other() {
        let (one, other) = (Watch::default(), Watch::default());
        one.note("one");
        one.clone().stop();
        assert!(one.is_stopped() && !other.is_stopped());
        assert_eq!((one.noted(), other.noted()), (Some("one".into()), None));
    }

    #[test]
    fn the_end_waits_for_what_is_whole_and_takes_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let watch = Watch::default();
        let (half, kept) = (dir.path().join("half"), dir.path().join("kept"));
        let _folders = watch.folders(&dir.path().join("a/b")).unwrap();
        std::fs::write(&half, "h").unwrap();
        let passing = watch.passing(&half);
        drop(watch.passing(&kept));
        let (began, begun) = std::sync::mpsc::channel();
        let (own, file) = (watch.clone(), kept.clone());
        // It never comes back: the process is ending.
        thread::spawn(move || {
            own.whole(|| {
                own.whole(|| began.send(()).unwrap());
                thread::sleep(std::time::Duration::from_millis(100));
                std::fs::write(&file, "k").unwrap();
            })
        });
        begun.recv().unwrap();
        watch.note("so it stands");
        assert_eq!(watch.end().as_deref(), Some("so it stands"));
        assert!(kept.exists() && !half.exists() && !dir.path().join("a").exists());
        drop(passing);
    }
}
