//! Bytes of a file, for as many threads as ask.

use ::bytes::Bytes;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A file that is opened for every read. Threads that share an open file share its position, too; and a folder of ten thousand files
/// cannot be kept open.
pub(super) struct OnDisk {
    path: PathBuf,
    size: u64,
}

/// Headers of pages are short.
const HEADER: usize = 512;

impl OnDisk {
    pub(super) fn new(path: &Path, size: u64) -> OnDisk {
        OnDisk { path: path.to_owned(), size }
    }

    fn at(&self, start: u64) -> Result<File> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file)
    }
}

impl Length for OnDisk {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for OnDisk {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<BufReader<File>> {
        Ok(BufReader::with_capacity(HEADER, self.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let cut_short = || ParquetError::EOF(String::new());
        // Before memory is taken for it.
        start.checked_add(length as u64).filter(|&end| end <= self.size).ok_or_else(cut_short)?;
        let mut bytes = Vec::with_capacity(length);
        let read = self.at(start)?.take(length as u64).read_to_end(&mut bytes)?;
        if read == length { Ok(bytes.into()) } else { Err(cut_short()) }
    }
}
