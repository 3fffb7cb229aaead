//! Opening a release and reading its sections.

use super::kind::Kind;
use super::layout::{self, HEADER_LEN, Header, ROW_LEN, Row};
use super::{Manifest, ReleaseError, signature};
use crate::watch::Watch;
use serde::Deserialize;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Positioned reads that many threads may do at once.
pub(super) trait ReadAt: Send + Sync {
    /// Fills `buf` from the bytes at `offset` on.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
}

/// A source with one cursor, which readers take in turns.
struct Shared<R>(Mutex<R>);

impl<R: Read + Seek + Send> ReadAt for Shared<R> {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut source =
            self.0.lock().map_err(|_| io::Error::other("another reader of this release failed"))?;
        source.seek(SeekFrom::Start(offset))?;
        source.read_exact(buf)
    }
}

#[cfg(unix)]
impl ReadAt for std::fs::File {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buf, offset)
    }
}

/// An open release: its signature fits its manifest, its manifest fits its table. Sections are read when
/// they are asked for and hashed before they are handed out, so a file that changes on the
/// disk is noticed.
///
/// Whether the key is the one the reader expects is a separate question: see [`Release::verify_all`]. A clone reads the same file.
#[derive(Clone)]
pub struct Release {
    pub(super) source: Arc<dyn ReadAt>,
    pub(super) path: Option<PathBuf>,
    /// The text of the `.minisig` beside it, where it was handed over with the bytes.
    pub(super) beside: Option<Vec<u8>>,
    pub(super) length: u64,
    pub(super) rows: Vec<Row>,
    manifest_bytes: Vec<u8>,
    manifest: Manifest,
    pub(super) watch: Watch,
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Release").field("name", &self.manifest.about.name).field("path", &self.path).finish()
    }
}

/// As much of a manifest as is read before its signature has been checked.
#[derive(Deserialize)]
struct KeyOnly {
    about: NameOnly,
    signer: PublicKeyOnly,
}
#[derive(Deserialize)]
struct NameOnly {
    name: String,
}
#[derive(Deserialize)]
struct PublicKeyOnly {
    public_key: String,
}

impl Release {
    /// Opens a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Release, ReleaseError> {
        let path = path.as_ref();
        let file = crate::files::open(path)?;
        let length = file.metadata()?.len();
        #[cfg(unix)]
        let source: Arc<dyn ReadAt> = Arc::new(file);
        #[cfg(not(unix))]
        let source: Arc<dyn ReadAt> = Arc::new(Shared(Mutex::new(file)));
        Release::from_source(source, length, Some(path.into()))
    }

    /// Opens a release that is in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Release, ReleaseError> {
        Release::from_reader(io::Cursor::new(bytes))
    }

    /// The same with the text of the `.minisig` that lies beside it, for [`Release::verify_all`].
    pub fn from_bytes_with_signature(bytes: Vec<u8>, minisig: Vec<u8>) -> Result<Release, ReleaseError> {
        Ok(Release { beside: Some(minisig), ..Release::from_bytes(bytes)? })
    }

    /// Opens a release from anything that can be read at any place.
    pub(crate) fn from_reader<R: Read + Seek + Send + 'static>(
        mut reader: R,
    ) -> Result<Release, ReleaseError> {
        let length = reader.seek(SeekFrom::End(0))?;
        Release::from_source(Arc::new(Shared(Mutex::new(reader))), length, None)
    }

    fn from_source(
        source: Arc<dyn ReadAt>,
        length: u64,
        path: Option<PathBuf>,
    ) -> Result<Release, ReleaseError> {
        // Every length is checked against its cap and against the file before it is allocated.
        let short = |declared| ReleaseError::Length { found: length, declared };
        let mut header = [0; HEADER_LEN as usize];
        let head = header.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        source.read_exact_at(&mut header[..head], 0)?;
        if head < 8 || header[..8] != layout::MAGIC {
            return Err(ReleaseError::Magic);
        }
        if length < HEADER_LEN {
            return Err(short(HEADER_LEN));
        }
        let header = Header::parse(&header)?;
        let least = header.bodies() + header.manifest + header.signature;
        if length < least {
            return Err(short(least));
        }
        let read = |offset: u64, len: u64| -> Result<Vec<u8>, ReleaseError> {
            let mut buf = vec![0; len as usize];
            source.read_exact_at(&mut buf, offset)?;
            Ok(buf)
        };
        let table = read(HEADER_LEN, u64::from(header.sections) * ROW_LEN)?;
        let (rows, manifest_at) = layout::parse_table(header, &table)?;
        let declared = manifest_at
            .checked_add(header.manifest)
            .and_then(|end| end.checked_add(header.signature))
            .ok_or(ReleaseError::Table("the lengths overflow"))?;
        if declared != length {
            return Err(short(declared));
        }
        let manifest_bytes = read(manifest_at, header.manifest)?;
        let signature = read(manifest_at + header.manifest, header.signature)?;

        super::canonical::check(&manifest_bytes).map_err(|at| ReleaseError::NotCanonical { at })?;
        let json = |e: serde_json::Error| ReleaseError::Manifest(e.to_string());
        let text = std::str::from_utf8(&manifest_bytes)
            .map_err(|e| ReleaseError::NotCanonical { at: e.valid_up_to() })?;
        let only: KeyOnly = serde_json::from_str(text).map_err(json)?;
        let key = signature::parse_key(&only.signer.public_key)?;
        let comment = Manifest::trusted_comment(&only.about.name, header.version, &manifest_bytes);
        let signature = signature::parse(&signature, &comment)?;
        signature::verify(&key, &manifest_bytes, &signature)?;

        if !super::texts::is_plain_json(&manifest_bytes) {
            return Err(ReleaseError::Manifest(super::texts::NOT_PLAIN.into()));
        }
        let manifest: Manifest = serde_json::from_str(text).map_err(json)?;
        manifest.agree(header.version, &rows)?;
        Ok(Release {
            source,
            path,
            beside: None,
            length,
            rows,
            manifest_bytes,
            manifest,
            watch: Watch::default(),
        })
    }

    /// The same release: what takes long of it is told to this.
    pub fn watched(self, watch: &Watch) -> Release {
        Release { watch: watch.clone(), ..self }
    }

    /// What the release says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The manifest as it is in the file: the bytes that were signed.
    pub fn manifest_bytes(&self) -> &[u8] {
        &self.manifest_bytes
    }

    /// Where the file is, if it is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// How many bytes the file has.
    pub fn file_length(&self) -> u64 {
        self.length
    }

    /// How many sections of a kind there are; their indices run from 0.
    pub fn count(&self, kind: Kind) -> u32 {
        self.rows.iter().filter(|r| r.tag == kind.tag()).count() as u32
    }

    /// The row of a section.
    fn row(&self, kind: Kind, index: u32) -> Result<&Row, ReleaseError> {
        let key = Row { tag: kind.tag(), index, offset: 0, length: 0, hash: [0; 32] }.order();
        let at = self.rows.binary_search_by_key(&key, Row::order);
        at.ok().and_then(|at| self.rows.get(at)).ok_or(ReleaseError::Missing { kind, index })
    }

    /// How many bytes a section has.
    pub(crate) fn section_length(&self, kind: Kind, index: u32) -> Result<u64, ReleaseError> {
        Ok(self.row(kind, index)?.length)
    }

    /// The bytes of a section, hashed and compared with what was signed.
    pub fn section(&self, kind: Kind, index: u32) -> Result<Vec<u8>, ReleaseError> {
        let row = self.row(kind, index)?;
        let mut bytes = vec![0; row.length as usize];
        self.source.read_exact_at(&mut bytes, row.offset)?;
        if *blake3::hash(&bytes).as_bytes() != row.hash {
            return Err(ReleaseError::Hash { kind: kind.to_string(), index });
        }
        Ok(bytes)
    }

    /// The dimensions, with what people call them and their codes.
    pub fn cube(&self) -> Result<crate::cube::Cube, ReleaseError> {
        let mut cube = super::wire::decode_domain(&self.section(Kind::Domain, 0)?)?;
        super::legends::attach(&mut cube, &self.manifest)?;
        Ok(cube)
    }
}
