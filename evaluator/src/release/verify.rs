//! Every check of a release's integrity, one by one, for people.

use super::layout::Row;
use super::manifest::Section;
use super::{Kind, Manifest, Release, ReleaseError, SignerKind, canonical, signature};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Passed,
    /// Nothing wrong, but something deserves attention.
    Warning,
    /// Good to know and not needed; it was left out, and why is said.
    Skipped,
    /// Needed, and this program cannot do it or it is too much work: nothing is verified without it.
    Unchecked,
    /// Not as it should be.
    Failed,
}

impl Outcome {
    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Warning => "warning",
            Outcome::Skipped => "skipped",
            Outcome::Unchecked => "unchecked",
            Outcome::Failed => "failed",
        }
    }

    /// Four characters for people.
    pub fn mark(self) -> &'static str {
        match self {
            Outcome::Passed => "ok",
            Outcome::Warning => "note",
            Outcome::Skipped => "skip",
            Outcome::Unchecked => "????",
            Outcome::Failed => "FAIL",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was checked.
    pub what: String,
    /// What came of it.
    pub outcome: Outcome,
    /// More for people.
    pub detail: String,
}

/// All checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// In the order they were done.
    pub checks: Vec<Check>,
    /// The BLAKE3 hash of the whole file, as `b3sum` prints it.
    pub file_blake3: String,
}

impl Verification {
    /// Whether nothing failed.
    #[cfg(test)]
    pub(crate) fn passed(&self) -> bool {
        self.checks.iter().all(|c| c.outcome != Outcome::Failed)
    }

    fn add(&mut self, what: impl Into<String>, outcome: Outcome, detail: impl Into<String>) {
        self.checks.push(Check { what: what.into(), outcome, detail: detail.into() });
    }
}

/// What may be the matter with a signature beside a release that is whole.
const BESIDE: &str = ". If this release is being replaced, verify it again";

/// Where the signature of the whole file is: `NAME.margins.minisig`.
pub fn sidecar_path(path: &Path) -> PathBuf {
    let mut sidecar = path.as_os_str().to_owned();
    sidecar.push(".minisig");
    sidecar.into()
}

impl Release {
    /// Reads the whole file once and checks every hash, the signatures, and, when a public key
    /// is given (one line of base64 or a `.pub` file's text), that its owner signed.
    ///
    /// A file whose noise came from a known seed fails, however whole it is. The error is for
    /// a file that cannot be read at all; what is wrong with a file that can is in the checks.
    pub fn verify_all(&self, public_key: Option<&str>) -> Result<Verification, ReleaseError> {
        let mut out = Verification { checks: Vec::new(), file_blake3: String::new() };
        let manifest = self.manifest();
        out.manifest(manifest, self.manifest_bytes());
        out.signer(manifest, public_key);

        let key = signature::parse_key(&manifest.signer.public_key)?;
        let given = || self.beside.as_ref().map(|text| self.sidecar(text).map(Some));
        let read = |path| self.read_sidecar(&sidecar_path(path));
        let sidecar = match self.path.as_deref().map(read).or_else(given) {
            None => Beside::NoFile,
            Some(Err(e)) => Beside::Unreadable(e),
            Some(Ok(None)) => Beside::Missing,
            Some(Ok(Some(signature))) => Beside::Signature(Box::new(signature)),
        };
        let stream = match &sidecar {
            Beside::Signature(signature) => Some(key.verify_stream(signature)),
            _ => None,
        };
        let (mut stream, refused) = match stream {
            Some(Ok(stream)) => (Some(stream), None),
            Some(Err(e)) => (None, Some(e)),
            None => (None, None),
        };
        if let Some(e) = &refused {
            out.add(WHOLE_FILE, Outcome::Failed, e.to_string());
        }
        let (hashes, blake3) = self.pass(&mut |chunk| {
            if let Some(stream) = &mut stream {
                stream.update(chunk);
            }
        })?;
        out.file_blake3 = blake3;
        out.sections(manifest.format, &self.rows, &hashes);
        match (&sidecar, stream) {
            (Beside::Signature(_), Some(mut stream)) => {
                let signs = stream.finalize().map_err(|e| e.to_string());
                out.whole_file(signs);
            }
            (Beside::Signature(_), None) => {}
            (other, _) => out.no_signature(other),
        }
        Ok(out)
    }

    /// The BLAKE3 hash of the whole file, as `b3sum` prints it.
    pub fn blake3(&self) -> io::Result<String> {
        Ok(self.pass(&mut |_| {})?.1)
    }

    /// Which of these keys made a signature of all bytes, whatever the comments in its text say.
    #[cfg(feature = "compile")]
    pub(super) fn signer_among(&self, text: &str, keys: &[&str]) -> Result<Option<usize>, ReleaseError> {
        let wrong = |e: minisign_verify::Error| ReleaseError::Signature(e.to_string());
        let signed = minisign_verify::Signature::decode(text).map_err(wrong)?;
        for (i, key) in keys.iter().enumerate() {
            let key = signature::parse_key(key)?;
            // Of another key's number.
            let Ok(mut stream) = key.verify_stream(&signed) else { continue };
            self.pass(&mut |chunk| stream.update(chunk))?;
            if stream.finalize().is_ok() {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }

    /// One pass: the header and the table, every section, the manifest and the signature. Each section's hash, and that of
    /// the file; `see` is shown every byte.
    fn pass(&self, see: &mut dyn FnMut(&[u8])) -> io::Result<(Vec<[u8; 32]>, String)> {
        let mut whole = blake3::Hasher::new();
        let stage = self.watch.stage("verifying", self.length);
        let mut read = |from: u64, length: u64| -> io::Result<[u8; 32]> {
            let mut hasher = blake3::Hasher::new();
            let mut buf = vec![0; 1 << 18];
            let (mut at, end) = (from, from + length);
            while at < end {
                let n = usize::try_from(end - at).unwrap_or(usize::MAX).min(buf.len());
                let chunk = &mut buf[..n];
                self.source.read_exact_at(chunk, at)?;
                hasher.update(chunk);
                whole.update(chunk);
                see(chunk);
                stage.advance(n as u64);
                at += n as u64;
            }
            Ok(*hasher.finalize().as_bytes())
        };
        let first = self.rows.first().map_or(self.length, |r| r.offset);
        let last = self.rows.last().map_or(first, |r| r.offset + r.length);
        read(0, first)?;
        let hashes = self.rows.iter().map(|r| read(r.offset, r.length)).collect::<io::Result<_>>()?;
        read(last, self.length - last)?;
        Ok((hashes, whole.finalize().to_hex().to_string()))
    }

    /// The signature in this file; `None` when there is no such file.
    pub(super) fn read_sidecar(
        &self,
        path: &Path,
    ) -> Result<Option<minisign_verify::Signature>, ReleaseError> {
        let file = match crate::files::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let mut text = Vec::new();
        file.take(super::MAX_SIGNATURE + 1).read_to_end(&mut text)?;
        self.sidecar(&text).map(Some)
    }

    /// A signature of the whole file, from its text.
    fn sidecar(&self, text: &[u8]) -> Result<minisign_verify::Signature, ReleaseError> {
        let manifest = self.manifest();
        let comment = Manifest::trusted_comment(&manifest.about.name, manifest.format, self.manifest_bytes());
        signature::parse(text, &comment)
    }
}

/// The check of the signature beside the release.
const WHOLE_FILE: &str = "whole-file signature";

/// What is beside a release.
enum Beside {
    /// The release does not come from a file.
    NoFile,
    /// No `.minisig`.
    Missing,
    /// One that is no signature of this release.
    Unreadable(ReleaseError),
    /// One.
    Signature(Box<minisign_verify::Signature>),
}

impl Verification {
    /// What is not a field of this program's manifest does not come back.
    fn manifest(&mut self, manifest: &Manifest, bytes: &[u8]) {
        if canonical::to_bytes(manifest).ok().as_deref() == Some(bytes) {
            let key = &manifest.signer.public_key;
            let detail = format!("canonical, signed by {key}, and repeats the table");
            self.add("manifest", Outcome::Passed, detail);
        } else {
            let detail = "it has fields that this format does not know, which say who knows what";
            self.add("manifest", Outcome::Failed, detail);
        }
        if manifest.is_not_private() {
            let detail = "NOT PRIVATE: the noise came from a known seed or the key is one everybody has";
            self.add("privacy", Outcome::Failed, detail);
        }
    }

    /// Whether the owner of the given key signed, or who did.
    fn signer(&mut self, manifest: &Manifest, public_key: Option<&str>) {
        use Outcome::{Failed, Passed, Warning};
        let signer = &manifest.signer.public_key;
        let (outcome, detail) = match (public_key.map(signature::public_key_text), manifest.signer.kind) {
            (Some(Ok(key)), _) if key == *signer => {
                (Passed, "the given public key signed this release".into())
            }
            (Some(Ok(key)), _) => (Failed, format!("signed by {signer}, not by the given public key {key}")),
            (Some(Err(e)), _) => (Failed, format!("the given public key cannot be read: {e}")),
            (None, SignerKind::Agency) => {
                (Warning, "no public key was given, so who signed is not known".into())
            }
            (None, SignerKind::ThrowAway) => {
                (Warning, "a throw-away key: the file is whole, but nothing shows who made it".into())
            }
            (None, SignerKind::NotPrivate) => (Failed, "the key everybody has".into()),
        };
        self.add("signer", outcome, detail);
    }

    /// What the signature beside the file says of all its bytes.
    fn whole_file(&mut self, signs: Result<(), String>) {
        match signs {
            Ok(()) => {
                self.add(WHOLE_FILE, Outcome::Passed, "the file beside the release signs all its bytes")
            }
            Err(e) => self.add(WHOLE_FILE, Outcome::Failed, e),
        }
    }

    /// Why nothing signs the whole file.
    fn no_signature(&mut self, beside: &Beside) {
        let (outcome, detail) = match beside {
            Beside::NoFile => (Outcome::Warning, "the release does not come from a file".into()),
            Beside::Missing => (Outcome::Warning, "there is no .minisig file beside the release".into()),
            Beside::Unreadable(e) => (Outcome::Failed, format!("the file beside the release: {e}{BESIDE}")),
            Beside::Signature(_) => return,
        };
        self.add(WHOLE_FILE, outcome, detail);
    }

    /// One check a damaged or unknown section, and one for all the whole ones. What no reader understands may be
    /// anything, the microdata too.
    fn sections(&mut self, format: u32, rows: &[Row], hashes: &[[u8; 32]]) {
        let mut whole = 0;
        let mut bytes = 0u64;
        for (row, hash) in rows.iter().zip(hashes) {
            let name = Section::of(row).name;
            if !matches!(Kind::from_tag(row.tag, format), Ok(Some(_))) {
                self.add(
                    format!("section {} {}", row.tag, row.index),
                    Outcome::Failed,
                    format!("{} bytes of a kind that format {format} does not have: nobody can say what they hold", row.length),
                );
            }
            if row.hash == *hash {
                whole += 1;
                bytes += row.length;
            } else {
                self.add(
                    format!("section {name} {}", row.index),
                    Outcome::Failed,
                    "damaged: its hash is not the one that was signed",
                );
            }
        }
        if whole == rows.len() {
            self.add(
                "sections",
                Outcome::Passed,
                format!("{whole} sections, {bytes} bytes, every hash as signed"),
            );
        }
    }
}
