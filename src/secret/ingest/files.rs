//! The files of a dataset: one, all of a folder, or all that a pattern names.

use super::error::IngestError;
use super::keyed::{self, Key, Listed};
use super::leak_check;
use super::piped::Piped;
use crate::spec::{Data, Format, Spec, is_wild};
use std::fmt;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Text in memory, shared with whoever reads it, and wiped when the last of them is done.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Text(Arc<Zeroizing<Vec<u8>>>);

impl Text {
    /// The text, with room for more; what was outgrown is wiped.
    pub(super) fn room(&mut self, more: usize) -> &mut Zeroizing<Vec<u8>> {
        let text = Arc::make_mut(&mut self.0);
        if text.capacity() - text.len() < more {
            let wanted = (2 * text.capacity()).max(text.len() + more).max(1 << 16);
            let mut larger = Zeroizing::new(Vec::with_capacity(wanted));
            larger.extend_from_slice(text);
            *text = larger;
        }
        text
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Text { <private> }")
    }
}

/// Where rows are.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'o> {
    /// A file, a folder or a pattern.
    Path(&'o Path),
    /// Behind a pipe.
    Piped(&'o Piped),
}

impl<'o> From<&'o Path> for Origin<'o> {
    fn from(path: &'o Path) -> Origin<'o> {
        Origin::Path(path)
    }
}

impl<'o> From<&'o PathBuf> for Origin<'o> {
    fn from(path: &'o PathBuf) -> Origin<'o> {
        Origin::Path(path)
    }
}

/// A file of rows. What its folders are called may be data.
#[derive(Clone)]
pub(crate) struct DataFile {
    /// Where it is; of what is in no file, what it is called.
    pub path: PathBuf,
    /// How many bytes it has.
    pub size: u64,
    /// What it is.
    pub format: Format,
    /// The columns that its folders say, and what they hold.
    pub keys: Vec<Key>,
    /// What it holds, where it is no file.
    pub(super) held: Option<Held>,
}

/// Rows that are in no file.
#[derive(Debug, Clone)]
pub(super) enum Held {
    Memory(Text),
    Piped(Piped),
}

impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataFile { <private> }")
    }
}

impl DataFile {
    fn new((path, keys): Listed, format: Format) -> Result<DataFile, IngestError> {
        let mut file = DataFile { path, size: 0, format, keys, held: None };
        file.size = regular(&file.path).map_err(|error| match error {
            IngestError::Open { error, .. } => IngestError::Open { path: file.named(), error },
            IngestError::NotAFile { .. } => IngestError::NotAFile { path: file.named() },
            error => error,
        })?;
        Ok(file)
    }

    /// What it is called, without what its folders say.
    pub(crate) fn named(&self) -> PathBuf {
        if self.keys.is_empty() {
            self.path.clone()
        } else {
            self.path.file_name().unwrap_or_default().into()
        }
    }

    /// Begins to read it at some byte, as it is stored.
    pub(super) fn at(&self, at: u64) -> io::Result<Box<dyn io::Read + Send>> {
        Ok(match &self.held {
            Some(Held::Memory(text)) => {
                let mut text = io::Cursor::new(text.clone());
                text.set_position(at);
                Box::new(text)
            }
            Some(Held::Piped(piped)) => Box::new(piped.at(at)),
            None => {
                let mut file = std::fs::File::open(&self.path)?;
                io::Seek::seek(&mut file, io::SeekFrom::Start(at))?;
                Box::new(file)
            }
        })
    }

    /// Begins to read what is in it.
    pub(crate) fn unpacked(&self) -> io::Result<Box<dyn io::Read + Send>> {
        match &self.held {
            None => crate::unpack::open(&self.path),
            Some(_) => self.at(0),
        }
    }

    /// Whether it has the same lines as a text that would be published.
    pub(crate) fn has_lines(&self, public: &[u8]) -> io::Result<bool> {
        // Other line ends add at most one byte to each line, and lines have at least one.
        let most = 2 * public.len() as u64 + 3;
        let near = self.is_packed() || (public.len() as u64 / 2..=most).contains(&self.size);
        if !near {
            return Ok(false);
        }
        let mut own = Zeroizing::new(Vec::new());
        self.unpacked()?.take(most + 1).read_to_end(&mut own)?;
        Ok(leak_check::same_lines(public, &own))
    }

    /// Whether its size says nothing of what is in it.
    pub(super) fn is_packed(&self) -> bool {
        self.held.is_none() && crate::unpack::is_packed(&self.path)
    }

    /// Begins to read its lines, where somebody can look at them.
    pub(super) fn lines(&self) -> Option<Box<dyn io::Read + Send>> {
        match self.held {
            Some(Held::Memory(_)) => None,
            Some(Held::Piped(_)) | None => self.unpacked().ok(),
        }
    }

    /// Begins to read what is in it.
    pub(super) fn open(&self) -> Result<Box<dyn io::Read + Send>, IngestError> {
        self.unpacked().map_err(|error| IngestError::Open { path: self.named(), error: error.kind() })
    }
}

/// The files that `path` names, in the order of their names.
///
/// A folder is all files in it, and in folders such as `year=2024`, but those whose names begin with `.` or `_`, which is how those who write folders mark what is no data. A
/// path with `*`, `?` or `[…]` that is no file is a pattern. The spec's own format applies to its own file; otherwise the name's end
/// says what a file is. Files of both formats side by side are refused, for the same rows may well be in both; and so is whatever might be data and
/// would be left out.
pub(crate) fn files(spec: &Spec, from: Origin<'_>) -> Result<Vec<DataFile>, IngestError> {
    files_of(spec.data.as_ref(), from)
}

/// [`files`], of a spec that says this of its data, or of none.
pub(crate) fn files_of(own: Option<&Data>, from: Origin<'_>) -> Result<Vec<DataFile>, IngestError> {
    let path = match from {
        Origin::Path(path) => path,
        Origin::Piped(piped) => {
            let (path, held) = (PathBuf::from("standard input"), Some(Held::Piped(piped.clone())));
            let file = DataFile { path, size: piped.size()?, format: piped.format(), keys: Vec::new(), held };
            return Ok(vec![file]);
        }
    };
    let unreadable = |error: io::Error| IngestError::Open { path: path.to_owned(), error: error.kind() };
    let listed = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => keyed::folder(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => match pattern(path)? {
            Some(listed) => listed,
            None => return Err(unreadable(error)),
        },
        Ok(_) | Err(_) => {
            let by_name = if own.is_some_and(|data| data.path == path) { None } else { named(path) };
            let format = by_name.or(own.and_then(|data| data.format)).unwrap_or(Format::Csv);
            return Ok(vec![DataFile::new((path.to_owned(), Vec::new()), format)?]);
        }
    };
    let strange = || IngestError::Folder("holds files whose names end neither in .csv nor in .parquet");
    let file = |listed: Listed| {
        let format = named(&listed.0).ok_or_else(strange)?;
        DataFile::new(listed, format)
    };
    let files = listed.into_iter().map(file).collect::<Result<Vec<_>, _>>()?;
    match files.first() {
        None => Err(IngestError::Folder("names no file")),
        Some(first) if files.iter().any(|file| file.format != first.format) => {
            Err(IngestError::Folder("names both .csv and .parquet files: the same rows may be in both"))
        }
        Some(_) if twice(&files) => {
            Err(IngestError::Folder("names a file packed and unpacked: the same rows may be in both"))
        }
        Some(_) => Ok(files),
    }
}

/// Whether some file is there as a packed one as well: `rows.csv` and `rows.csv.gz`.
fn twice(files: &[DataFile]) -> bool {
    let plain =
        |file: &DataFile| if file.is_packed() { file.path.with_extension("") } else { file.path.clone() };
    let mut names: Vec<PathBuf> = files.iter().map(plain).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// What the rows at `path` are written in. Where they cannot be found, which whoever reads them says, what the spec says of its own.
pub(crate) fn format(spec: &Spec, from: Origin<'_>) -> Format {
    if let Origin::Piped(piped) = from {
        return piped.format();
    }
    let found = files(spec, from).ok().and_then(|files| files.first().map(|file| file.format));
    found.or(spec.data.as_ref().and_then(|data| data.format)).unwrap_or(Format::Csv)
}

/// What the end of a name says.
pub(super) fn named(path: &Path) -> Option<Format> {
    match crate::unpack::ending(path)?.as_str() {
        "parquet" if !crate::unpack::is_packed(path) => Some(Format::Parquet),
        "csv" => Some(Format::Csv),
        _ => None,
    }
}

/// How many bytes a file has; a pipe would be waited for, and a device has no end.
pub(super) fn regular(path: &Path) -> Result<u64, IngestError> {
    crate::spec::regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => IngestError::NotAFile { path: path.to_owned() },
        error => IngestError::Open { path: path.to_owned(), error },
    })
}

/// What a pattern names; `None` where there is no pattern.
fn pattern(path: &Path) -> Result<Option<Vec<Listed>>, IngestError> {
    let Some(text) = path.to_str().filter(|text| is_wild(text)) else { return Ok(None) };
    let paths = glob::glob(text).map_err(|_| IngestError::Folder("is no pattern that can be read"))?;
    // What a folder is called may be data: the pattern is named.
    let unreadable = |e: glob::GlobError| IngestError::Open { path: path.into(), error: e.error().kind() };
    let mut listed = paths.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    listed.sort();
    // Of folders that the pattern names itself nothing is said that other files would not share.
    let plain = |part: &Component<'_>| part.as_os_str().to_str().is_some_and(|part| !is_wild(part));
    let from = path.components().filter(|part| *part != Component::CurDir).take_while(plain).count();
    keyed::of_pattern(listed, from).map(Some)
}
