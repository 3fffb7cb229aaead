//! Bytes of a file, for as many threads as ask.

use super::super::files::DataFile;
use ::bytes::Bytes;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use std::io::{BufReader, Read};

/// A file that is opened for every read. Threads that share an open file share its position, too; and a folder of ten thousand files
/// cannot be kept open.
pub(super) struct OnDisk(pub DataFile);

/// Headers of pages are short.
const HEADER: usize = 512;

impl Length for OnDisk {
    fn len(&self) -> u64 {
        self.0.size
    }
}

impl ChunkReader for OnDisk {
    type T = BufReader<Box<dyn Read + Send>>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(HEADER, self.0.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let cut_short = || ParquetError::EOF(String::new());
        // Before memory is taken for it.
        start.checked_add(length as u64).filter(|&end| end <= self.0.size).ok_or_else(cut_short)?;
        let mut bytes = Vec::with_capacity(length);
        let read = self.0.at(start)?.take(length as u64).read_to_end(&mut bytes)?;
        if read == length { Ok(bytes.into()) } else { Err(cut_short()) }
    }
}
