//! Sealing a release: sections stream into a temporary file beside the target, which takes its
//! name when everything is signed and on the disk (see `place`).

use super::keys::SigningKey;
use super::kind::{CRITICAL, Kind};
use super::layout::{FORMAT, Header, MAX_MANIFEST, MAX_SECTION, MAX_SECTIONS, Row, parse_table};
use super::manifest::Attachment;
use super::manifest::{LISTED_MEASUREMENTS, Section, Signer, SignerKind, Sources, file_name, hex, is_name};
use super::place::Place;
use super::seal_error::SealError;
use super::{Manifest, ManifestInput, Release, ReleaseError, canonical};
use crate::watch::{Passing, Watch};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A sealed release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// `NAME.margins`.
    pub path: PathBuf,
    /// `NAME.margins.minisig`.
    pub minisig: PathBuf,
    /// The BLAKE3 hash of the whole file, as `b3sum` prints it.
    pub blake3: String,
    /// The length of the file.
    pub bytes: u64,
}

/// A release that is being written.
///
/// The number of sections is told at the start, because the table of sections comes before them.
/// Sections are written in the order of the format: kinds as in [`Kind::ALL`], indices from 0. If the
/// writer is dropped before [`Writer::seal`], nothing remains.
#[derive(Debug)]
pub struct Writer {
    file: BufWriter<NamedTempFile>,
    place: Place,
    name: String,
    sections: u32,
    rows: Vec<Row>,
    offset: u64,
    open: bool,
    broken: bool,
    /// The file goes if the process does.
    _passing: Passing,
}

impl Writer {
    /// Starts `DIR/NAME.margins` with this many sections. Unless `replace`, neither that file nor its
    /// `.minisig` may exist. Whatever may be wrong with the folder or the two names is found here, before
    /// anything is spent.
    pub fn create(
        dir: impl AsRef<Path>,
        name: &str,
        sections: u32,
        replace: bool,
    ) -> Result<Writer, SealError> {
        Writer::watched(dir, name, sections, replace, &Watch::default())
    }

    /// The same, for work that may be ended.
    pub fn watched(
        dir: impl AsRef<Path>,
        name: &str,
        sections: u32,
        replace: bool,
        watch: &Watch,
    ) -> Result<Writer, SealError> {
        if !is_name(name) {
            return Err(SealError::Name(name.into()));
        }
        if sections > MAX_SECTIONS {
            return Err(SealError::Sections(format!("{sections} sections; {MAX_SECTIONS} are possible")));
        }
        let place = Place::new(dir.as_ref(), name, replace, watch.clone());
        let (file, _passing) = place.begin()?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let offset = Header { version: FORMAT, sections, manifest: 0, signature: 0 }.bodies();
        file.seek(SeekFrom::Start(offset))?;
        Ok(Writer {
            file,
            place,
            name: name.into(),
            sections,
            rows: Vec::new(),
            offset,
            open: false,
            broken: false,
            _passing,
        })
    }

    /// Starts the next section. Its bytes are hashed as they are written; call
    /// [`SectionWriter::finish`] at the end.
    pub(crate) fn section(&mut self, kind: Kind, index: u32) -> Result<SectionWriter<'_>, SealError> {
        let bad = |why: String| Err(SealError::Sections(why));
        if self.open {
            return bad("a section was not finished".into());
        }
        if self.rows.len() >= self.sections as usize {
            return bad(format!("more than the {} announced", self.sections));
        }
        let row = Row { tag: kind.tag(), index, offset: self.offset, length: 0, hash: [0; 32] };
        let next = match self.rows.last() {
            Some(last) if last.tag == row.tag => kind.repeats() && index == last.index + 1,
            Some(last) => row.tag & !CRITICAL > last.tag & !CRITICAL && index == 0,
            None => index == 0,
        };
        if !next {
            return bad(format!("section {kind} {index} is out of order"));
        }
        self.open = true;
        Ok(SectionWriter { writer: self, row, hasher: blake3::Hasher::new() })
    }

    /// Writes a whole section.
    pub fn write_section(&mut self, kind: Kind, index: u32, bytes: &[u8]) -> Result<(), SealError> {
        let mut section = self.section(kind, index)?;
        section.write_all(bytes)?;
        section.finish();
        Ok(())
    }

    /// Completes the manifest, signs it, signs the whole file, and gives both files their names.
    ///
    /// The finished file is opened as any reader would, before it takes its name.
    pub fn seal(mut self, input: ManifestInput, key: &SigningKey) -> Result<Sealed, SealError> {
        self.may_seal(&input, key)?;
        let manifest = self.manifest(input, key)?;
        let bytes = canonical::to_bytes(&manifest)?;
        if bytes.len() as u64 > MAX_MANIFEST {
            let found = bytes.len() as u64;
            return Err(
                ReleaseError::TooLarge { what: "the manifest's length", found, cap: MAX_MANIFEST }.into()
            );
        }
        let comment = Manifest::trusted_comment(&manifest.about.name, FORMAT, &bytes);
        let signature = key.sign(&bytes[..], &comment)?;
        self.file.write_all(&bytes)?;
        self.file.write_all(signature.as_bytes())?;

        let header = Header {
            version: FORMAT,
            sections: self.sections,
            manifest: bytes.len() as u64,
            signature: signature.len() as u64,
        };
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header.to_bytes())?;
        let table: Vec<u8> = self.rows.iter().flat_map(|row| row.to_bytes()).collect();
        parse_table(header, &table)?;
        self.file.write_all(&table)?;
        self.file.flush()?;
        let file = self.file.into_inner().map_err(|e| e.into_error())?;
        file.as_file().sync_all()?;
        Release::open(file.path())?;

        // The header could only be written now, so the whole file is read once more.
        let mut whole = Hashing { inner: file.reopen()?, hasher: blake3::Hasher::new(), bytes: 0 };
        let signature = key.sign(&mut whole, &comment)?;
        self.place.put(file, &signature)?;
        let blake3 = whole.hasher.finalize().to_hex().to_string();
        let Place { path, minisig, .. } = self.place;
        Ok(Sealed { path, minisig, blake3, bytes: whole.bytes })
    }

    /// Whether everything announced is there, under the right name and key.
    fn may_seal(&self, input: &ManifestInput, key: &SigningKey) -> Result<(), SealError> {
        // The last gate between noise that anybody can subtract and a file that looks private.
        if input.not_private && key.kind() != SignerKind::NotPrivate {
            return Err(SealError::NotPrivate);
        }
        if !input.not_private && key.kind() == SignerKind::NotPrivate {
            return Err(SealError::TestKey);
        }
        if self.open || self.rows.len() != self.sections as usize {
            let found = self.rows.len();
            return Err(SealError::Sections(format!("{found} finished, {} announced", self.sections)));
        }
        let name = file_name(&input.about.name, input.recipient.as_ref().map(|r| r.name.as_str()));
        if name != self.name {
            return Err(SealError::Name(name));
        }
        Ok(())
    }

    fn manifest(&self, input: ManifestInput, key: &SigningKey) -> Result<Manifest, SealError> {
        let hash_of =
            |kind: Kind| self.rows.iter().filter(move |r| r.tag == kind.tag()).map(|r| hex(&r.hash));
        let one = |kind| hash_of(kind).next().ok_or(ReleaseError::Missing { kind, index: 0 });
        if hash_of(Kind::Attachment).count() != input.attachments.len() {
            return Err(SealError::Sections("the attachments' names do not match their sections".into()));
        }
        let mut plan = input.plan;
        plan.measurements.truncate(LISTED_MEASUREMENTS);
        Ok(Manifest {
            format: FORMAT,
            created: input.created,
            compiler: input.compiler,
            not_private: input.not_private,
            about: input.about,
            dataset: input.dataset,
            privacy: input.privacy,
            account: input.account,
            plan,
            projection: input.projection,
            recipient: input.recipient,
            declared: input.declared,
            legends: input.legends,
            sources: Sources {
                spec: one(Kind::Spec)?,
                domain: one(Kind::Domain)?,
                attachments: input
                    .attachments
                    .into_iter()
                    .zip(hash_of(Kind::Attachment))
                    .map(|(name, blake3)| Attachment { name, blake3 })
                    .collect(),
            },
            sections: self.rows.iter().map(Section::of).collect(),
            signer: Signer { kind: key.kind(), public_key: key.public_key() },
        })
    }
}

/// Hashes what passes through.
struct Hashing {
    inner: File,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Read for Hashing {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.hasher.update(&buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }
}

/// The section that is being written. Without [`SectionWriter::finish`] the release cannot be sealed.
#[derive(Debug)]
pub(crate) struct SectionWriter<'a> {
    writer: &'a mut Writer,
    row: Row,
    hasher: blake3::Hasher,
}

impl Write for SectionWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.row.length + bytes.len() as u64 > MAX_SECTION {
            return Err(io::Error::other(format!("a section may not have more than {MAX_SECTION} bytes")));
        }
        // Whatever of a failed write reached the file, the section is lost.
        let n = self.writer.file.write(bytes).inspect_err(|_| self.writer.broken = true)?;
        self.hasher.update(&bytes[..n]);
        self.row.length += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.file.flush()
    }
}

impl SectionWriter<'_> {
    /// Ends the section.
    pub(crate) fn finish(mut self) {
        self.row.hash = *self.hasher.finalize().as_bytes();
        self.writer.offset += self.row.length;
        self.writer.rows.push(self.row);
        self.writer.open = self.writer.broken;
    }
}
