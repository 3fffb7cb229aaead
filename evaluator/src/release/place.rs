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
//! * At the end it looks again, under the lock, then gives the signature its name and then the file. So of two runs
//!   that replace the same release the last one leaves both its files, never one of each. Between the two renames
//!   a reader sees the old file beside the new signature for an instant; `verify` says then that they do not belong together.
//! * A run that is killed between the two renames leaves the signature under its name and the whole file under its temporary
//!   one. The next run of that name sees that the signature there signs all of that file and gives it its
//!   name: what was paid for is not lost. Any other dead file is removed.
//!
//! Where folders cannot be locked (Windows, some network drives) nothing is swept, and two runs that replace the
//! same release at the same instant may leave a pair that `verify` refuses.

use super::file_name;
use super::seal_error::SealError;
use super::verify::sidecar_path;
use super::{MAX_SIGNATURE, Release, ReleaseError, signature};
use crate::watch::{Passing, Watch};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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
        self.watch.whole(|| self.made())
    }

    fn made(&self) -> Result<(NamedTempFile, Passing), SealError> {
        let locked = crate::files::locked(&self.dir)?;
        let busy = locked.is_some() && self.sweep();
        self.look()?;
        if busy && !self.replace {
            return Err(SealError::Busy(self.path.clone()));
        }
        let file = self.temporary()?;
        // Held until the file is closed. Where it cannot be, nobody sweeps.
        let _ = file.as_file().try_lock();
        let passing = self.watch.passing(file.path());
        Ok((file, passing))
    }

    /// Gives a finished file and its signature their names. Nothing ends the process in between.
    pub(super) fn put(&self, file: NamedTempFile, signature: &str) -> Result<(), SealError> {
        self.watch.whole(|| self.names(file, signature))
    }

    fn names(&self, file: NamedTempFile, signature: &str) -> Result<(), SealError> {
        let _locked = crate::files::locked(&self.dir)?;
        self.look()?;
        let beside = self.holding(signature.as_bytes())?;
        let before = self.signature()?;
        self.rename(beside, &self.minisig)?;
        if let Err(e) = self.rename(file, &self.path) {
            // A release that is still there keeps its own signature, which is never half there.
            let _ = match before {
                Some(own) => own.persist(&self.minisig).map(drop).map_err(|e| e.error),
                None => fs::remove_file(&self.minisig),
            };
            return Err(e);
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

    /// The signature that is there, if it is as short as all are, in a file that can take its name again.
    fn signature(&self) -> io::Result<Option<NamedTempFile>> {
        let short = fs::metadata(&self.minisig).is_ok_and(|there| there.len() <= MAX_SIGNATURE);
        let Some(text) = short.then(|| fs::read(&self.minisig).ok()).flatten() else { return Ok(None) };
        self.holding(&text).map(Some)
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
        let done = if self.replace { file.persist(to) } else { file.persist_noclobber(to) };
        match done {
            Ok(_) => Ok(()),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Err(SealError::Exists(to.into())),
            Err(e) => Err(e.error.into()),
        }
    }

    /// On Unix a new name is only safe when its folder is; elsewhere folders cannot be opened.
    fn sync(&self) -> io::Result<()> {
        #[cfg(unix)]
        File::open(&self.dir)?.sync_all()?;
        Ok(())
    }

    /// What killed runs of this name left: a release that only lacks its name gets it, the rest goes. What cannot be
    /// read or removed stays; it is in nobody's way. Whether another run of this name is alive.
    fn sweep(&self) -> bool {
        let Ok(entries) = fs::read_dir(&self.dir) else { return false };
        let mut alive = false;
        for entry in entries.flatten() {
            let ours = entry.file_name().to_str().is_some_and(|n| self.is_temporary(n))
                && entry.file_type().is_ok_and(|t| t.is_file());
            if !ours {
                continue;
            }
            match File::open(entry.path()).map(|f| f.try_lock()) {
                Ok(Ok(())) => {}
                Ok(Err(TryLockError::WouldBlock)) => {
                    alive = true;
                    continue;
                }
                Ok(Err(TryLockError::Error(_))) | Err(_) => continue,
            }
            let _ = match self.completes(&entry.path()) {
                Ok(true) => fs::rename(entry.path(), &self.path).and_then(|()| self.sync()),
                _ => fs::remove_file(entry.path()),
            };
        }
        alive
    }

    fn is_temporary(&self, name: &str) -> bool {
        name.strip_prefix(&self.prefix())
            .and_then(|rest| rest.strip_suffix(SUFFIX))
            .is_some_and(|middle| middle.len() == RANDOM && middle.bytes().all(|b| b.is_ascii_alphanumeric()))
    }

    /// Whether the signature under its name signs every byte of this release.
    fn completes(&self, left: &Path) -> Result<bool, ReleaseError> {
        let there = fs::symlink_metadata(&self.path);
        if there.is_ok_and(|there| !there.is_file()) {
            return Ok(false);
        }
        let release = Release::open(left)?;
        let Some(sidecar) = release.read_sidecar(&self.minisig)? else { return Ok(false) };
        let manifest = release.manifest();
        let bad = |e: minisign_verify::Error| ReleaseError::Signature(e.to_string());
        let key = signature::parse_key(&manifest.signer.public_key)?;
        let mut stream = key.verify_stream(&sidecar).map_err(bad)?;
        let mut chunk = vec![0; 1 << 18];
        let mut at = 0;
        while at < release.file_length() {
            let n = usize::try_from(release.file_length() - at).unwrap_or(usize::MAX).min(chunk.len());
            release.source.read_exact_at(&mut chunk[..n], at)?;
            stream.update(&chunk[..n]);
            at += n as u64;
        }
        stream.finalize().map_err(bad)?;
        let recipient = manifest.recipient.as_ref().map(|r| r.name.as_str());
        Ok(file_name(&manifest.about.name, recipient) == self.name)
    }
}

const SUFFIX: &str = ".tmp";
/// Random letters and digits in the name of a temporary file.
const RANDOM: usize = 6;
