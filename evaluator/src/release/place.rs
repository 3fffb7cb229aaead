//! The two names of a release, `NAME.margins` and `NAME.margins.minisig`, in a folder that several runs may use at
//! once and any run may be killed in.
//!
//! # Protocol
//!
//! * A run writes a temporary file `.NAME.margins.XXXXXX.tmp` in the same folder and holds an advisory lock on it
//!   until it ends. The lock goes with the process, so a temporary file without one is dead.
//! * Whoever makes, sweeps or renames such files holds an advisory lock on the folder. It is held for moments: when
//!   a run begins, and when its two finished files get their names.
//! * When a run begins it looks at both names (what is there and is no file, a link included, is refused: nothing
//!   is followed or replaced that is not a file) and makes its temporary file, so all that is found before the
//!   ledger is charged. And it sweeps the dead files of its own name. Where another run of that name is alive, it ends there,
//!   unless it may replace what that one makes: of two runs only one could have the name, and both would be charged.
//! * At the end it looks again, under the lock. A signature of the release that is replaced goes aside, the file gets its name, then
//!   its signature. So of two runs that replace the same release the last one leaves both its files, and whatever kills a run,
//!   no file is beside a signature of another: `verify` holds at every instant, and says at the worst that no signature is beside the
//!   file. (Who opened the old file before, and reads the new signature, is told to verify again.)
//! * A run that is killed there leaves the file, whole, under one of its names, and its signature under a temporary one. The next run of
//!   that name gives both their names, as long as no signature has its own: what was paid for is not lost. Any other dead file is removed.
//!
//! Where folders cannot be locked (Windows, some network drives) nothing is swept, and two runs that replace the
//! same release at the same instant may leave a pair that `verify` refuses. Whoever may read a folder can lock it, and never let go: after some seconds a run
//! that begins is refused, before anything is charged, and one that ends goes on as where there is no lock.

use super::file_name;
use super::seal_error::SealError;
use super::verify::sidecar_path;
use super::{MAX_SIGNATURE, Release, ReleaseError};
use crate::watch::{Passing, Watch};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, PersistError, TempPath};

/// Where a release goes.
#[derive(Debug)]
pub(super) struct Place {
    dir: PathBuf,
    name: String,
    replace: bool,
    watch: Watch,
    /// `NAME.margins`
    pub path: PathBuf,
    /// `NAME.margins.minisig`
    pub minisig: PathBuf,
}

impl Place {
    pub(super) fn new(dir: &Path, name: &str, replace: bool, watch: Watch) -> Place {
        let path = dir.join(format!("{name}.margins"));
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        Place { dir: dir.into(), name: name.into(), replace, watch, minisig: sidecar_path(&path), path }
    }

    /// The temporary file of a run that begins.
    pub(super) fn begin(&self) -> Result<(NamedTempFile, Passing), SealError> {
        let locked = crate::files::locked(&self.dir)?;
        self.watch.whole(|| self.made(locked))
    }

    fn made(&self, locked: Option<File>) -> Result<(NamedTempFile, Passing), SealError> {
        let busy = locked.is_some() && self.sweep();
        self.look()?;
        if busy && !self.replace {
            return Err(SealError::Busy(self.path.clone()));
        }
        let file = self.own()?;
        let passing = self.watch.passing(file.path());
        Ok((file, passing))
    }

    /// A temporary file that this run holds until it is closed. Where it cannot be held nobody sweeps; where another program is quicker to hold it, it is no run's.
    fn own(&self) -> io::Result<NamedTempFile> {
        for _ in 0..MOST_TRIES {
            let file = self.temporary()?;
            if !matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock)) {
                return Ok(file);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another program locks every file that is made in its folder",
        ))
    }

    /// Gives a finished file and its signature their names. Nothing ends the process in between.
    pub(super) fn put(&self, file: NamedTempFile, signature: &str) -> Result<(), SealError> {
        let _locked = match crate::files::locked(&self.dir) {
            // What is paid for is not given up for somebody who does not let go.
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy => None,
            locked => locked?,
        };
        self.watch.whole(|| self.names(file, signature))
    }

    fn names(&self, file: NamedTempFile, signature: &str) -> Result<(), SealError> {
        self.look()?;
        let beside = self.holding(signature.as_bytes())?;
        let before = self.aside()?;
        if let Err(e) = self.rename(file, &self.path) {
            // A release that is still there keeps its own signature.
            let _ = before.map(|own| own.persist(&self.minisig));
            return Err(e);
        }
        if let Err(e) = self.persist(beside, &self.minisig) {
            // The next run finds it.
            let _ = e.file.keep();
            return Err(SealError::Beside(e.error));
        }
        self.sync().map_err(SealError::Folder)
    }

    /// Whether both names may be taken. Names are looked at themselves: a link to nowhere is there, too.
    fn look(&self) -> Result<(), SealError> {
        for path in [&self.path, &self.minisig] {
            match fs::symlink_metadata(path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e.into()),
                Ok(there) if !there.is_file() => return Err(SealError::NotAFile(path.clone())),
                Ok(_) if !self.replace => return Err(SealError::Exists(path.clone())),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Takes the signature that is there aside, if there is one: it goes with what is returned, unless it gets its name again.
    fn aside(&self) -> io::Result<Option<TempPath>> {
        let aside = self.temporary()?.into_temp_path();
        match fs::rename(&self.minisig, &aside) {
            Ok(()) => Ok(Some(aside)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// A file with this in it, on the disk, that waits for its name.
    fn holding(&self, text: &[u8]) -> io::Result<NamedTempFile> {
        let mut file = self.temporary()?;
        file.write_all(text)?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    /// A file that vanishes unless it is given its name. Readable by whom the process's files
    /// usually are: a release is to be published.
    fn temporary(&self) -> io::Result<NamedTempFile> {
        let prefix = self.prefix();
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX).rand_bytes(RANDOM);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.tempfile_in(&self.dir)
    }

    fn prefix(&self) -> String {
        format!(".{}.margins.", self.name)
    }

    fn rename(&self, file: NamedTempFile, to: &Path) -> Result<(), SealError> {
        match self.persist(file, to) {
            Ok(_) => Ok(()),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Err(SealError::Exists(to.into())),
            Err(e) => Err(e.error.into()),
        }
    }

    fn persist(&self, file: NamedTempFile, to: &Path) -> Result<File, PersistError> {
        if self.replace { file.persist(to) } else { file.persist_noclobber(to) }
    }

    /// On Unix a new name is only safe when its folder is; elsewhere folders cannot be opened.
    fn sync(&self) -> io::Result<()> {
        #[cfg(unix)]
        File::open(&self.dir)?.sync_all()?;
        Ok(())
    }

    /// What killed runs of this name left: a release that only lacks names gets them, the rest goes. What cannot be
    /// read or removed stays; it is in nobody's way. Whether another run of this name is alive.
    fn sweep(&self) -> bool {
        let Ok(entries) = fs::read_dir(&self.dir) else { return false };
        let (mut dead, mut alive) = (Vec::new(), false);
        for entry in entries.flatten() {
            let ours = entry.file_name().to_str().is_some_and(|n| self.is_temporary(n))
                && entry.file_type().is_ok_and(|t| t.is_file());
            if !ours {
                continue;
            }
            match File::open(entry.path()).map(|f| f.try_lock()) {
                Ok(Ok(())) => dead.push(entry.path()),
                Ok(Err(TryLockError::WouldBlock)) => alive = true,
                Ok(Err(TryLockError::Error(_))) | Err(_) => {}
            }
        }
        let _ = self.complete(&dead);
        for left in dead {
            let _ = fs::remove_file(left);
        }
        alive
    }

    /// Names for a dead release and its signature, where that name is free: one without a name, or else the one that has it.
    fn complete(&self, dead: &[PathBuf]) -> io::Result<()> {
        let is_there = |path: &Path| fs::symlink_metadata(path).map(|there| there.is_file());
        if is_there(&self.minisig).is_ok() || matches!(is_there(&self.path), Ok(false)) {
            return Ok(());
        }
        for file in dead.iter().chain([&self.path]) {
            for signature in dead {
                if self.signs(signature, file).is_ok_and(|signs| signs) {
                    fs::rename(file, &self.path)?;
                    fs::rename(signature, &self.minisig)?;
                    return self.sync();
                }
            }
        }
        Ok(())
    }

    fn is_temporary(&self, name: &str) -> bool {
        name.strip_prefix(&self.prefix())
            .and_then(|rest| rest.strip_suffix(SUFFIX))
            .is_some_and(|middle| middle.len() == RANDOM && middle.bytes().all(|b| b.is_ascii_alphanumeric()))
    }

    /// Whether this is the release's signature of every byte of this file.
    fn signs(&self, signature: &Path, file: &Path) -> Result<bool, ReleaseError> {
        let release = Release::open(file)?;
        let manifest = release.manifest();
        let recipient = manifest.recipient.as_ref().map(|r| r.name.as_str());
        if file_name(&manifest.about.name, recipient) != self.name {
            return Ok(false);
        }
        let text = crate::files::text(signature, MAX_SIGNATURE)?;
        Ok(release.signer_among(&text, &[&manifest.signer.public_key])?.is_some())
    }
}

const SUFFIX: &str = ".tmp";
/// Temporary files that are made until one is not locked by somebody else.
const MOST_TRIES: usize = 16;
/// Random letters and digits in the name of a temporary file.
const RANDOM: usize = 6;
